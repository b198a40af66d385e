//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"testing"

	"github.com/antigravity-go/antigravity/tensor"
)

// sustained runs an operation again and again without waiting in between, and reports what it moves and computes.
func sustained(b *testing.B, gpu *Backend, bytes, operations float64, run func() error) {
	b.Helper()
	for range 3 { // compiles and tunes
		must(b, run())
	}
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
	sustained(b, gpu, 8*float64(n), 0, func() error { return gpu.CopySlice(x, y, 0, 0, n) })
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

// BenchmarkMatVec multiplies one row with weights of the shapes of a model of 1B parameters, and larger ones. The weights take
// turns, so that none stays in a cache that is not far larger than the largest GPU's.
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
					return gpu.MatMulTransposed(x, ws[i%len(ws)], out)
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
				sustained(b, gpu, 0, 2*512*float64(n)*float64(k), func() error { return gpu.MatMulTransposed(x, w, out) })
			})
		}
	}
}

// BenchmarkAttention attends with a 1B model's heads: one token, and the last 512 tokens of a prompt.
func BenchmarkAttention(b *testing.B) {
	gpu := openTest(b, Options{})
	for _, c := range []struct{ tokens, n int }{{1, 64}, {1, 512}, {1, 4096}, {512, 512}, {512, 4096}} {
		b.Run(fmt.Sprintf("%d of %d", c.tokens, c.n), func(b *testing.B) {
			q, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(c.tokens, 32, 64))
			must(b, err)
			out, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(c.tokens, 32, 64))
			must(b, err)
			k, err := tensor.New(gpu, tensor.F16, tensor.ShapeOf(c.n, 8, 64))
			must(b, err)
			v, err := tensor.New(gpu, tensor.F16, tensor.ShapeOf(c.n, 8, 64))
			must(b, err)
			seen := float64(c.n) - float64(c.tokens-1)/2
			sustained(b, gpu, 2*float64(k.Size()), 4*float64(c.tokens)*seen*32*64, func() error { return gpu.Attention(q, k, v, out, c.n) })
		})
	}
}

// BenchmarkWeigh weighs the keys for some of the last tokens of a prompt.
func BenchmarkWeigh(b *testing.B) {
	gpu := openTest(b, Options{})
	for _, tokens := range []int{1, 32, 256} {
		b.Run(fmt.Sprint(tokens, " of 4096"), func(b *testing.B) {
			q, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(tokens, 32, 64))
			must(b, err)
			k, err := tensor.New(gpu, tensor.F16, tensor.ShapeOf(4096, 8, 64))
			must(b, err)
			sums, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(8, 4096))
			must(b, err)
			sustained(b, gpu, 0, 2*float64(tokens)*4096*32*64, func() error { return gpu.AccumulateAttention(q, k, sums, 4096) })
		})
	}
}

// BenchmarkSoftmax is of a vocabulary.
func BenchmarkSoftmax(b *testing.B) {
	gpu := openTest(b, Options{})
	x, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(1, 128256))
	must(b, err)
	sustained(b, gpu, 0, 0, func() error { return gpu.Softmax(x) })
}

// BenchmarkLaunch is what a small kernel costs.
func BenchmarkLaunch(b *testing.B) {
	gpu := openTest(b, Options{})
	x, err := tensor.New(gpu, tensor.F32, tensor.ShapeOf(64))
	must(b, err)
	b.ReportAllocs()
	sustained(b, gpu, 0, 0, func() error { return gpu.Scale(x, 1) })
}

// BenchmarkLargest selects of a Llama 3 vocabulary, and beside that reads it whole, as choosing on the host must.
func BenchmarkLargest(b *testing.B) {
	bench := newBench(b, Options{})
	bench.gpu.selects = true
	const vocab = 128256
	x := bench.on(bench.floats(1, vocab))
	for _, k := range []int{1, 40, 256} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			indices, values := make([]int32, k), make([]float32, k)
			b.ReportAllocs()
			sustained(b, bench.gpu, 0, 0, func() error { return bench.gpu.Largest(x, indices, values) })
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
	table, cache := device(tensor.F32, 1, 64), device(tensor.F16, slots, 8, 64)
	heads, err := q.Reshape(1, 32, 64)
	must(b, err)
	kvHeads, err := k.Reshape(1, 8, 64)
	must(b, err)
	slot, err := cache.Slice(7, 8)
	must(b, err)
	valueHeads, err := v.Reshape(1, 8, 64)
	must(b, err)
	valueSlot, err := cache.Slice(8, 9)
	must(b, err)
	wq, wk, wv, wo, wg, wu, wd := w(hidden, hidden), w(kv, hidden), w(kv, hidden), w(hidden, hidden), w(inner, hidden), w(inner, hidden), w(hidden, inner)
	for _, op := range []struct {
		name string
		run  func() error
	}{
		{"NormMatMul of q, k, v", func() error {
			return gpu.NormMatMul(x, norm, 1e-5, normed, []*tensor.Tensor{wq, wk, wv}, []*tensor.Tensor{q, k, v})
		}},
		{"RoPE", func() error { return gpu.RoPE(heads, table) }},
		{"Cast", func() error { return gpu.Cast(kvHeads, slot) }},
		{"RoPE twice and Cast twice", func() error { return gpu.composed.RoPECast(heads, kvHeads, valueHeads, table, slot, valueSlot) }},
		{"RoPECast", func() error { return gpu.RoPECast(heads, kvHeads, valueHeads, table, slot, valueSlot) }},
		{"AttentionGen", func() error { return gpu.AttentionGen(heads, cache, cache, heads, slots) }},
		{"MatMulAdd of o", func() error { return gpu.MatMulAdd(q, wo, product, x) }},
		{"NormSwiGLU", func() error { return gpu.NormSwiGLU(x, norm, 1e-5, normed, wg, wu, up, gate) }},
		{"MatMulAdd of down", func() error { return gpu.MatMulAdd(gate, wd, product, x) }},
		{"RMSNorm", func() error { return gpu.RMSNorm(x, norm, 1e-5) }},
	} {
		b.Run(op.name, func(b *testing.B) { sustained(b, gpu, 0, 0, op.run) })
	}
}
