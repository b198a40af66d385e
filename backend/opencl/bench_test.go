//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// sustained runs an operation again and again without waiting in between, and reports what it moves and computes.
func sustained(b *testing.B, gpu *Backend, bytes, operations float64, run func() error) {
	b.Helper()
	gpu.tune(never)
	for range 3 { // compiles and tunes
		must(b, run())
	}
	gpu.tune(nil)
	must(b, gpu.Synchronize())
	b.ResetTimer()
	for range b.N {
		must(b, run())
	}
	must(b, gpu.Synchronize())
	seconds := b.Elapsed().Seconds() / float64(b.N)
	if bytes > 0 {
		b.ReportMetric(bytes/seconds/1e9, "GB/s")
	}
	if operations > 0 {
		b.ReportMetric(operations/seconds/1e9, "GFLOP/s")
	}
}

// BenchmarkCopy is the bandwidth that products are compared with: bytes read and bytes written.
func BenchmarkCopy(b *testing.B) {
	gpu := openTest(b, Options{})
	n := int(min(1<<30, gpu.maxAlloc/2, gpu.device.GlobalBytes/8)) / 4
	x, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(n))
	must(b, err)
	y, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(n))
	must(b, err)
	sustained(b, gpu, 8*float64(n), 0, func() error { return gpu.Run(&backend.CopySlice{Src: x, Dst: y, N: n}) })
}

// zeros makes weights of a shape on the device.
func zeros(b *testing.B, gpu *Backend, d tensor.DType, n, k int) *tensor.Tensor {
	b.Helper()
	w, err := tensor.New(nil, d, tensor.ShapeOf(n, k))
	must(b, err)
	defer w.Free()
	prepared, err := gpu.Prepare(b.Context(), w)
	must(b, err)
	b.Cleanup(func() { prepared.Free() })
	return prepared
}

// BenchmarkMatVec multiplies one row with weights of the shapes of a model of 1B parameters, and larger ones. The weights take turns, so
// that they do not stay in a cache that is not far larger than the largest GPU's.
func BenchmarkMatVec(b *testing.B) {
	gpu := openTest(b, Options{})
	for _, d := range []tensor.DType{tensor.Q4_0, tensor.Q8_0, tensor.F16, tensor.Q6_K, tensor.Q4_K} {
		for _, shape := range [][2]int{{2048, 2048}, {2048, 8192}, {8192, 2048}, {16384, 16384}, {128256, 2048}} {
			n, k := shape[0], shape[1]
			b.Run(fmt.Sprintf("%v/%dx%d", d, n, k), func(b *testing.B) {
				size, _ := d.Bytes(n * k)
				var ws []*tensor.Tensor
				for range max(1, min(64, int(min(512<<20, gpu.device.GlobalBytes/8))/size)) {
					ws = append(ws, zeros(b, gpu, d, n, k))
				}
				x, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(1, k))
				must(b, err)
				out, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(1, n))
				must(b, err)
				i := 0
				sustained(b, gpu, float64(size), 0, func() error {
					i++
					return gpu.Run(&backend.MatMulTransposed{X: x, W: ws[i%len(ws)], Out: out})
				})
			})
		}
	}
}

// BenchmarkGEMM multiplies 512 rows.
func BenchmarkGEMM(b *testing.B) {
	gpu := openTest(b, Options{})
	for _, d := range []tensor.DType{tensor.Q4_0, tensor.F32} {
		for _, shape := range [][2]int{{512, 2048}, {2048, 2048}, {2048, 8192}, {8192, 2048}} {
			n, k := shape[0], shape[1]
			b.Run(fmt.Sprintf("%v/512x%dx%d", d, n, k), func(b *testing.B) {
				w := zeros(b, gpu, d, n, k)
				x, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(512, k))
				must(b, err)
				out, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(512, n))
				must(b, err)
				sustained(b, gpu, 0, 2*512*float64(n)*float64(k), func() error { return gpu.Run(&backend.MatMulTransposed{X: x, W: w, Out: out}) })
			})
		}
	}
}

// BenchmarkMatrices multiplies rows with a 1B model's weights by the device's instructions for matrices, in each of the tiles.
func BenchmarkMatrices(b *testing.B) {
	gpu := openTest(b, Options{})
	if gpu.products.matrix == nil {
		b.Skip("the device has no instructions for matrices that the kernels know")
	}
	gpu.tuning.forced = &tiled
	for _, m := range []int{16, 32, 64, 128, 512, 2048} {
		for _, shape := range [][2]int{{512, 2048}, {2048, 2048}, {8192, 2048}, {2048, 8192}} {
			n, k := shape[0], shape[1]
			var ws []*tensor.Tensor
			for range 16 {
				ws = append(ws, zeros(b, gpu, tensor.Q4_0, n, k))
			}
			x, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(m, k))
			must(b, err)
			out, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(m, n))
			must(b, err)
			for i := range matrixTiles {
				tile := &matrixTiles[i]
				if tile.rows(gpu.products.matrix) > 2*m {
					continue
				}
				b.Run(fmt.Sprintf("%dx%dx%d/%+v", m, n, k, *tile), func(b *testing.B) {
					gpu.products.forcedTile = tile
					i := 0
					sustained(b, gpu, 0, 2*float64(m)*float64(n)*float64(k), func() error {
						i++
						return gpu.Run(&backend.MatMulTransposed{X: x, W: ws[i%len(ws)], Out: out})
					})
				})
			}
		}
	}
}

// BenchmarkSeveral multiplies as many rows as several conversations have, with weights that take turns.
func BenchmarkSeveral(b *testing.B) {
	gpu := openTest(b, Options{})
	const hidden, inner, kv = 2048, 8192, 512
	device := func(dims ...int) *tensor.Tensor {
		x, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(dims...))
		must(b, err)
		return x
	}
	norm := device(hidden)
	type layer struct{ q, k, v, o, gate, up, down *tensor.Tensor }
	var layers []layer
	for range 16 {
		w := func(n, k int) *tensor.Tensor { return zeros(b, gpu, tensor.Q4_0, n, k) }
		layers = append(layers, layer{w(hidden, hidden), w(kv, hidden), w(kv, hidden), w(hidden, hidden), w(inner, hidden), w(inner, hidden), w(hidden, inner)})
	}
	for _, m := range []int{1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128} {
		x, normed, product := device(m, hidden), device(m, hidden), device(m, hidden)
		q, k, v := device(m, hidden), device(m, kv), device(m, kv)
		gate, up := device(m, inner), device(m, inner)
		b.Run(fmt.Sprint(m), func(b *testing.B) {
			sustained(b, gpu, 0, 0, func() error {
				for _, l := range layers {
					err := errors.Join(
						gpu.Run(&backend.NormMatMul{X: x, Norm: norm, Eps: 1e-5, Normed: normed, Ws: []*tensor.Tensor{l.q, l.k, l.v}, Outs: []*tensor.Tensor{q, k, v}}),
						gpu.Run(&backend.MatMulAdd{X: q, W: l.o, Product: product, Out: x}),
						gpu.Run(&backend.NormSwiGLU{X: x, Norm: norm, Eps: 1e-5, Normed: normed, Gate: l.gate, Up: l.up, Product: up, Out: gate}),
						gpu.Run(&backend.MatMulAdd{X: gate, W: l.down, Product: product, Out: x}))
					if err != nil {
						return err
					}
				}
				return nil
			})
			b.ReportMetric(float64(m)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			for shape, best := range gpu.tuning.best {
				if shape.m == rowsFor(m) {
					b.Logf("%+v: %+v", shape, best)
				}
			}
		})
	}
}

// attended are runs of a number of conversations, with a 1B model's heads, and their queries and results.
func attended(b *testing.B, gpu *Backend, conversations, tokens, n int) (q, out *tensor.Tensor, runs []backend.Run) {
	b.Helper()
	device := func(d tensor.DType, dims ...int) *tensor.Tensor {
		x, err := tensor.New(gpu, d, tensor.ShapeOf(dims...))
		must(b, err)
		return x
	}
	pages := groups(n, backend.PageSlots)
	slab := device(tensor.F16, conversations*8*pages, 2, backend.PageSlots, 64)
	page := 0
	for range conversations {
		s := &backend.Slots{DType: tensor.F16, HeadDim: 64, Heads: make([]backend.HeadSlots, 8)}
		for i := range s.Heads {
			s.Heads[i].Len = n
			for range pages {
				s.Heads[i].Pages = append(s.Heads[i].Pages, backend.Page{Slab: slab, Index: page})
				page++
			}
		}
		runs = append(runs, backend.Run{Tokens: tokens, Slots: s})
	}
	return device(tensor.F32, conversations*tokens, 32, 64), device(tensor.F32, conversations*tokens, 32, 64), runs
}

// BenchmarkAttend attends with a 1B model's heads: one token of one conversation and of several, and the last 512 tokens of a
// prompt.
func BenchmarkAttend(b *testing.B) {
	gpu := openTest(b, Options{})
	for _, c := range []struct{ conversations, tokens, n int }{
		{1, 1, 64}, {1, 1, 512}, {1, 1, 4096}, {4, 1, 512}, {16, 1, 512}, {16, 1, 4096}, {1, 512, 512}, {1, 512, 4096},
	} {
		b.Run(fmt.Sprintf("%d times %d of %d", c.conversations, c.tokens, c.n), func(b *testing.B) {
			q, out, runs := attended(b, gpu, c.conversations, c.tokens, c.n)
			seen := float64(c.n) - float64(c.tokens-1)/2
			b.ReportAllocs()
			sustained(b, gpu, float64(c.conversations*c.n*2*2*8*64), 4*float64(c.conversations*c.tokens)*seen*32*64, func() error { return gpu.Run(&backend.Attend{Q: q, Out: out, Runs: runs}) })
		})
	}
}

// BenchmarkWeigh weighs the keys for some of the last tokens of a prompt.
func BenchmarkWeigh(b *testing.B) {
	gpu := openTest(b, Options{})
	for _, tokens := range []int{1, 32, 256} {
		b.Run(fmt.Sprint(tokens, " of 4096"), func(b *testing.B) {
			q, _, runs := attended(b, gpu, 1, tokens, 4096)
			sums, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(8, 4096))
			must(b, err)
			sustained(b, gpu, 0, 2*float64(tokens)*4096*32*64, func() error { return gpu.Run(&backend.AccumulateAttention{Q: q, Sums: sums, Run: runs[0]}) })
		})
	}
}

// BenchmarkSoftmax is of a vocabulary.
func BenchmarkSoftmax(b *testing.B) {
	gpu := openTest(b, Options{})
	x, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(1, 128256))
	must(b, err)
	sustained(b, gpu, 0, 0, func() error { return gpu.Run(&backend.Softmax{X: x}) })
}

// BenchmarkLaunch is what a small kernel costs.
func BenchmarkLaunch(b *testing.B) {
	gpu := openTest(b, Options{})
	x, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(64))
	must(b, err)
	b.ReportAllocs()
	sustained(b, gpu, 0, 0, func() error { return gpu.Run(&backend.Scale{X: x, By: 1}) })
}

// BenchmarkLargest selects from a Llama 3 vocabulary, and for comparison reads it whole, as choosing on the host must.
func BenchmarkLargest(b *testing.B) {
	bench := newBench(b, Options{})
	bench.gpu.selects = true
	const vocab = 128256
	x, many := bench.on(bench.floats(1, vocab)), bench.on(bench.floats(16, vocab))
	for _, k := range []int{1, 40, 256} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			indices, values := make([]int32, k), make([]float32, k)
			b.ReportAllocs()
			sustained(b, bench.gpu, 0, 0, func() error { return bench.gpu.Run(&backend.Largest{X: x, Indices: indices, Values: values}) })
		})
		b.Run(fmt.Sprint(k, " of each of 16 rows"), func(b *testing.B) {
			indices, values := make([]int32, 16*k), make([]float32, 16*k)
			b.ReportAllocs()
			sustained(b, bench.gpu, 0, 0, func() error { return bench.gpu.Run(&backend.Largest{X: many, Indices: indices, Values: values}) })
		})
	}
	b.Run("read", func(b *testing.B) {
		row := make([]byte, 4*vocab)
		sustained(b, bench.gpu, 0, 0, func() error { return bench.gpu.ReadBuffer(x, row) })
	})
}

// BenchmarkDecode measures the operations of a 1B model's token one by one, each as it follows on itself.
func BenchmarkDecode(b *testing.B) {
	gpu := openTest(b, Options{})
	const hidden, inner, kv, slots = 2048, 8192, 512, 512
	device := func(d tensor.DType, dims ...int) *tensor.Tensor {
		t, err := tensor.New(gpu, d, tensor.ShapeOf(dims...))
		must(b, err)
		return t
	}
	w := func(n, k int) *tensor.Tensor { return zeros(b, gpu, tensor.Q4_0, n, k) }
	x, norm, normed, product := device(tensor.F32, 1, hidden), device(tensor.F32, hidden), device(tensor.F32, 1, hidden), device(tensor.F32, 1, hidden)
	q, k, v := device(tensor.F32, 1, hidden), device(tensor.F32, 1, kv), device(tensor.F32, 1, kv)
	gate, up := device(tensor.F32, 1, inner), device(tensor.F32, 1, inner)
	table := device(tensor.F32, 1, 64)
	_, _, runs := attended(b, gpu, 1, 1, slots)
	heads, err := q.Reshape(1, 32, 64)
	must(b, err)
	kvHeads, err := k.Reshape(1, 8, 64)
	must(b, err)
	valueHeads, err := v.Reshape(1, 8, 64)
	must(b, err)
	wq, wk, wv, wo, wg, wu, wd := w(hidden, hidden), w(kv, hidden), w(kv, hidden), w(hidden, hidden), w(inner, hidden), w(inner, hidden), w(hidden, inner)
	for _, op := range []struct {
		name string
		run  func() error
	}{
		{"NormMatMul of q, k, v", func() error {
			return gpu.Run(&backend.NormMatMul{X: x, Norm: norm, Eps: 1e-5, Normed: normed, Ws: []*tensor.Tensor{wq, wk, wv}, Outs: []*tensor.Tensor{q, k, v}})
		}},
		{"RoPEStore", func() error {
			return gpu.Run(&backend.RoPEStore{Q: heads, K: kvHeads, V: valueHeads, Table: table, Runs: runs})
		}},
		{"Attend", func() error { return gpu.Run(&backend.Attend{Q: heads, Out: heads, Runs: runs}) }},
		{"MatMulAdd of o", func() error { return gpu.Run(&backend.MatMulAdd{X: q, W: wo, Product: product, Out: x}) }},
		{"NormSwiGLU", func() error {
			return gpu.Run(&backend.NormSwiGLU{X: x, Norm: norm, Eps: 1e-5, Normed: normed, Gate: wg, Up: wu, Product: up, Out: gate})
		}},
		{"MatMulAdd of down", func() error { return gpu.Run(&backend.MatMulAdd{X: gate, W: wd, Product: product, Out: x}) }},
		{"RMSNorm", func() error { return gpu.Run(&backend.RMSNorm{X: x, W: norm, Eps: 1e-5}) }},
	} {
		b.Run(op.name, func(b *testing.B) { sustained(b, gpu, 0, 0, op.run) })
	}
}
