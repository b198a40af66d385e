//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// sizes are magnitudes of operands: ordinary, tiny and huge.
var sizes = []float32{1, 1e-12, 1e9}

func TestElementwise(t *testing.T) {
	b := newBench(t, Options{})
	for _, b.size = range sizes {
		for _, m := range []int{1, 7} {
			name := fmt.Sprintf(" of %d rows near %g", m, b.size)
			x, y, row, norm := b.floats(m, 4, 32), b.floats(m, 4, 32), b.floats(32), b.floats(32)
			table := b.floats(m, 32)
			gx := b.on(x)
			check := func(op string, got, want error) {
				t.Helper()
				must(t, got)
				must(t, want)
				b.equal(op+name, gx, x)
			}
			check("AddAssign", b.gpu.AddAssign(gx, b.on(y)), b.host.AddAssign(x, y))
			check("AddAssign of a row", b.gpu.AddAssign(gx, b.on(row)), b.host.AddAssign(x, row))
			check("AddAssign of the host's", b.gpu.AddAssign(gx, y), b.host.AddAssign(x, y))
			check("Scale", b.gpu.Scale(gx, 0.3), b.host.Scale(x, 0.3))
			check("RMSNorm", b.gpu.RMSNorm(gx, b.on(norm), 1e-5), b.host.RMSNorm(x, norm, 1e-5))
			check("SiLUMul", b.gpu.SiLUMul(gx, b.on(y)), b.host.SiLUMul(x, y))
			check("RoPE", b.gpu.RoPE(gx, b.on(table)), b.host.RoPE(x, table))
			check("Softmax", b.gpu.Softmax(gx), b.host.Softmax(x))
			for _, dim := range []int{2500, longRow + 333} {
				rows := b.floats(2, dim)
				grows := b.on(rows)
				must(t, b.gpu.Softmax(grows))
				must(t, b.host.Softmax(rows))
				b.equal(fmt.Sprintf("Softmax of rows of %d", dim)+name, grows, rows)
			}
		}
	}
}

var weightTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.Q4_0, tensor.Q4_1, tensor.Q8_0, tensor.Q4_K, tensor.Q5_K, tensor.Q6_K}

// TestProducts compares products with prepared weights of every type with the reference's, which rounds activations too.
func TestProducts(t *testing.T) {
	few := []tensor.DType{tensor.F16, tensor.Q4_0, tensor.Q4_1, tensor.Q6_K}
	for _, parts := range []struct {
		name     string
		maxAlloc int64
		types    []tensor.DType
	}{{"whole", 0, weightTypes}, {"in parts", 1 << 16, few}} {
		t.Run(parts.name, func(t *testing.T) {
			b := newBench(t, Options{maxAlloc: parts.maxAlloc})
			types := parts.types
			for _, d := range types {
				for _, c := range []struct{ m, n, k int }{{1, 70, 256}, {2, 33, 768}, {9, 80, 512}, {70, 130, 256}, {1, 30, 1024 + 256}, {3, 20, 96}} {
					if c.k%d.BlockLen() != 0 || (parts.maxAlloc > 0 && c.m > 9) {
						continue
					}
					b.products(d, c.m, c.n, c.k)
				}
			}
		})
	}
}

// products checks every operation with weights.
func (b *bench) products(d tensor.DType, m, n, k int) {
	b.Helper()
	name := fmt.Sprintf(" with %v, m %d, n %d, k %d", d, m, n, k)
	w, up := b.typed(d, n, k), b.typed(d, n, k)
	gw, gup := b.prepared(w), b.prepared(up)
	x := b.floats(m, k)
	gx := b.on(x)
	want, out := b.floats(m, n), b.on(b.floats(m, n))
	must(b, b.gpu.MatMulTransposed(gx, gw, out))
	must(b, b.host.MatMulTransposed(x, w, want))
	b.equal("MatMulTransposed"+name, out, want)

	if d.BlockLen() <= 32 && k > 32 {
		part, gpart := b.floats(m, n/2), b.on(b.floats(m, n/2))
		cut := b.floats(m, k-32)
		must(b, b.gpu.MatMulSlice(b.on(cut), gw, n/2, k-32, gpart))
		must(b, b.host.MatMulSlice(cut, w, n/2, k-32, part))
		b.equal("MatMulSlice"+name, gpart, part)
	}

	view, err := gw.Slice(1, n)
	must(b, err)
	wview, err := w.Slice(1, n)
	must(b, err)
	part, gpart := b.floats(m, n-1), b.on(b.floats(m, n-1))
	must(b, b.gpu.MatMulTransposed(gx, view, gpart))
	must(b, b.host.MatMulTransposed(x, wview, part))
	b.equal("MatMulTransposed of a view"+name, gpart, part)

	product := b.floats(m, n)
	must(b, b.gpu.MatMulAdd(gx, gw, b.on(product), out))
	must(b, b.host.MatMulAdd(x, w, product, want))
	b.equal("MatMulAdd"+name, out, want)

	norm, normed := b.floats(k), b.floats(m, k)
	gnorm, gnormed := b.on(norm), b.on(normed)
	must(b, b.gpu.NormSwiGLU(gx, gnorm, 1e-5, gnormed, gw, gup, b.on(product), out))
	must(b, b.host.NormSwiGLU(x, norm, 1e-5, normed, w, up, product, want))
	b.equal("NormSwiGLU"+name, out, want)

	for terms := 1; terms <= 4; terms++ {
		var ws, gws, outs, gouts []*tensor.Tensor
		for i := range terms {
			rows := max(1, n/(i+1))
			v, err := w.Slice(0, rows)
			must(b, err)
			gv, err := gw.Slice(0, rows)
			must(b, err)
			ws, gws = append(ws, v), append(gws, gv)
			outs, gouts = append(outs, b.floats(m, rows)), append(gouts, b.on(b.floats(m, rows)))
		}
		must(b, b.gpu.NormMatMul(gx, gnorm, 1e-5, gnormed, gws, gouts))
		must(b, b.host.NormMatMul(x, norm, 1e-5, normed, ws, outs))
		for i := range terms {
			b.equal(fmt.Sprintf("NormMatMul %d of %d%s", i, terms, name), gouts[i], outs[i])
		}
	}

	for _, indices := range [][]int32{{int32(n - 1)}, {0, int32(n - 1), 1, 1}} {
		want, out := b.floats(len(indices), k), b.on(b.floats(len(indices), k))
		must(b, b.gpu.Gather(gw, indices, out))
		must(b, b.host.Gather(w, indices, want))
		b.equal("Gather"+name, out, want)
	}
}

// TestUnpreparedWeights multiplies with weights that nobody prepared: files' layouts on the device, and the host's.
func TestUnpreparedWeights(t *testing.T) {
	b := newBench(t, Options{})
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.Q4_0, tensor.Q8_0, tensor.Q6_K} {
		stored, x, want := b.typed(d, 40, 256), b.floats(3, 256), b.floats(3, 40)
		must(t, b.host.MatMulTransposed(x, stored, want))
		for _, w := range []*tensor.Tensor{stored, b.on(stored)} {
			out := b.on(b.floats(3, 40))
			must(t, b.gpu.MatMulTransposed(b.on(x), w, out))
			b.equal("MatMulTransposed with unprepared "+w.String(), out, want)
			row := b.on(b.floats(2, 256))
			must(t, b.gpu.Gather(w, []int32{39, 2}, row))
			rows := b.floats(2, 256)
			must(t, b.host.Gather(stored, []int32{39, 2}, rows))
			b.equal("Gather from unprepared "+w.String(), row, rows)
		}
	}
}

var cacheTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0}

func TestCast(t *testing.T) {
	b := newBench(t, Options{})
	for _, b.size = range []float32{1, 1e-6, 1e3} {
		for _, d := range cacheTypes {
			x := b.floats(6, 64)
			want, err := tensor.New(nil, d, x.Shape())
			must(t, err)
			must(t, b.host.Cast(x, want))
			whole, err := tensor.New(b.gpu, d, tensor.ShapeOf(10, 64))
			must(t, err)
			got, err := whole.Slice(3, 9) // as caches are written
			must(t, err)
			must(t, b.gpu.Cast(b.on(x), got))
			bytes := make([]byte, got.Size())
			must(t, b.gpu.ReadBuffer(got, bytes))
			if !slices.Equal(bytes, want.Data()) {
				t.Errorf("Cast to %v near %g: other bytes", d, b.size)
			}
			back := b.on(b.floats(6, 64))
			must(t, b.gpu.Cast(got, back))
			b.equal(fmt.Sprintf("Cast from %v near %g", d, b.size), back, b.widened(want))
		}
	}
	// What no kernel converts, the reference does.
	x := b.typed(tensor.BF16, 4, 32)
	for _, d := range []tensor.DType{tensor.BF16, tensor.F16, tensor.Q4_1} {
		want, err := tensor.New(nil, d, x.Shape())
		must(t, err)
		must(t, b.host.Cast(x, want))
		got, err := tensor.New(b.gpu, d, x.Shape())
		must(t, err)
		must(t, b.gpu.Cast(b.on(x), got))
		bytes := make([]byte, got.Size())
		must(t, b.gpu.ReadBuffer(got, bytes))
		if string(bytes) != string(want.Data()) {
			t.Errorf("Cast of bf16 to %v differs", d)
		}
	}
}

// TestRoPECast compares keys, values and queries with the reference's bit for bit, where other slots stay as they were.
func TestRoPECast(t *testing.T) {
	b := newBench(t, Options{})
	for _, b.size = range []float32{1, 1e-6, 1e3} {
		for _, d := range cacheTypes {
			for _, c := range []struct{ tokens, heads, kvHeads, headDim int }{{1, 1, 1, 32}, {1, 32, 8, 64}, {7, 4, 4, 96}, {50, 6, 2, 128}} {
				name := fmt.Sprintf(" of %+v to %v near %g", c, d, b.size)
				q, k, v := b.floats(c.tokens, c.heads, c.headDim), b.floats(c.tokens, c.kvHeads, c.headDim), b.floats(c.tokens, c.kvHeads, c.headDim)
				table, cache := b.floats(c.tokens, c.headDim), b.typed(d, 2, c.tokens+3, c.kvHeads, c.headDim)
				gq, gcache := b.on(q), b.on(cache)
				slots := func(of *tensor.Tensor, side int) *tensor.Tensor {
					one, err := of.Slice(side, side+1)
					must(t, err)
					all, err := one.Reshape(c.tokens+3, c.kvHeads, c.headDim)
					must(t, err)
					part, err := all.Slice(1, 1+c.tokens)
					must(t, err)
					return part
				}
				// A table that is the host's leaves the kernel out.
				for _, gtable := range []*tensor.Tensor{b.on(table), table} {
					must(t, b.gpu.CopySlice(q, gq, 0, 0, q.Shape().NumElements()))
					must(t, b.gpu.RoPECast(gq, b.on(k), b.on(v), gtable, slots(gcache, 0), slots(gcache, 1)))
					rotated := b.widened(q)
					must(t, b.host.RoPECast(rotated, b.widened(k), v, table, slots(cache, 0), slots(cache, 1)))
					b.equal("queries"+name, gq, rotated)
					got := make([]byte, gcache.Size())
					must(t, b.gpu.ReadBuffer(gcache, got))
					if string(got) != string(cache.Data()) {
						t.Errorf("cache%s differs", name)
					}
				}
			}
		}
	}
}

func TestCopySlice(t *testing.T) {
	b := newBench(t, Options{})
	for _, c := range []struct {
		name        string
		from, to, n int
	}{
		{"apart", 0, 60, 40}, {"forward over itself", 10, 13, 50}, {"to the front over itself", 30, 1, 69}, {"onto itself", 5, 5, 20}, {"nothing", 3, 9, 0},
	} {
		x := b.floats(100)
		gx := b.on(x)
		must(t, b.gpu.CopySlice(gx, gx, c.from, c.to, c.n))
		must(t, b.host.CopySlice(x, x, c.from, c.to, c.n))
		b.equal("CopySlice "+c.name, gx, x)
		y := b.floats(100)
		must(t, b.gpu.CopySlice(y, gx, c.from, c.to, c.n)) // from the host
		must(t, b.host.CopySlice(y, x, c.from, c.to, c.n))
		b.equal("CopySlice from the host "+c.name, gx, x)
		must(t, b.gpu.CopySlice(gx, y, c.to, c.from, c.n)) // and back
		b.equal("CopySlice to the host "+c.name, b.on(y), y)
	}
	large := b.floats(3 << 20) // more than is staged, and more than is moved at once
	glarge := b.on(large)
	must(t, b.gpu.CopySlice(glarge, glarge, 5, 0, 3<<20-5))
	must(t, b.host.CopySlice(large, large, 5, 0, 3<<20-5))
	must(t, b.gpu.CopySlice(glarge, glarge, 0, 7, 3<<20-7))
	must(t, b.host.CopySlice(large, large, 0, 7, 3<<20-7))
	b.equal("CopySlice of much", glarge, large)
}

func TestStagingKeepsOrder(t *testing.T) {
	b := newBench(t, Options{})
	x, err := tensor.New(nil, tensor.F32, tensor.ShapeOf(64))
	must(t, err)
	sum, step := b.on(b.widened(x)), b.on(b.widened(x))
	values, err := tensor.Mut[float32](x)
	must(t, err)
	for i := range 100 { // the source changes while writes are under way
		for j := range values {
			values[j] = float32(i)
		}
		must(t, b.gpu.CopySlice(x, step, 0, 0, 64))
		must(t, b.gpu.AddAssign(sum, step))
	}
	if got := b.read(sum)[13]; got != 4950 {
		t.Errorf("the sum of what was written is %g, want 4950", got)
	}
}

// chunks are numbers of tokens, and of slots in use after them: around whole tiles, and chunks that begin in the middle.
var chunks = []struct{ tokens, n int }{
	{1, 1}, {1, 2}, {1, 127}, {1, 128}, {1, 129}, {1, 700}, {2, 2}, {2, 129}, {2, 300}, {17, 17}, {17, 140}, {40, 40}, {40, 128}, {40, 399}, {150, 290},
}

// TestAttention holds attention and its weights to the bits of the reference.
func TestAttention(t *testing.T) {
	b := newBench(t, Options{})
	for _, s := range []attentionShape{
		{tensor.F16, 64, 4}, {tensor.F16, 128, 3}, {tensor.F16, 80, 1}, {tensor.F16, 256, 16}, {tensor.F32, 32, 1}, {tensor.F32, 4, 3},
		{tensor.Q8_0, 32, 3}, {tensor.Q8_0, 128, 4}, {tensor.Q4_0, 64, 4}, {tensor.Q4_0, 96, 1},
	} {
		t.Run(fmt.Sprintf("%v, heads of %d, %d to a KV head", s.cache, s.headDim, s.share), func(t *testing.T) {
			b.TB = t
			for _, c := range chunks {
				b.attention(s, c.tokens, c.n)
			}
		})
	}
	t.Run("more than there is scratch memory for at once", func(t *testing.T) {
		b.TB = t
		b.attention(attentionShape{tensor.F16, 256, 16}, 300, 700)
	})
	t.Run("contexts of many tiles", func(t *testing.T) {
		b.TB = t
		for _, n := range []int{1300, 2048, 300 * 128, 300*128 + 1} {
			b.attention(attentionShape{tensor.Q4_0, 64, 4}, 1, n)
		}
	})
	t.Run("few tokens on a large device", func(t *testing.T) {
		b.TB, b.gpu.device.Units = t, 1000
		for _, c := range chunks {
			b.attention(attentionShape{tensor.F16, 64, 4}, c.tokens, c.n)
		}
	})
}

// TestAttentionSeesNothingAhead has slots that spoil whatever takes them into account, be it with a weight of 0: after those in
// use, and the last of these, which only the last token sees.
func TestAttentionSeesNothingAhead(t *testing.T) {
	b := newBench(t, Options{})
	const n, row = 150, 2 * 64
	for _, tokens := range []int{1, 40} {
		q, out := b.floats(tokens, 8, 64), b.floats(tokens, 8, 64)
		k, v := b.floats(n+3, 2, 64), b.floats(n+3, 2, 64)
		for _, x := range []*tensor.Tensor{k, v} {
			values, err := tensor.Mut[float32](x)
			must(t, err)
			for i := (n - 1) * row; i < len(values); i++ {
				values[i] = float32(math.Inf(1 - i%2*2))
			}
		}
		gout := b.on(out)
		must(t, b.gpu.Attention(b.on(q), b.on(k), b.on(v), gout, n))
		must(t, b.host.Attention(q, k, v, out, n))
		b.equal(fmt.Sprint("Attention of ", tokens), gout, out)
		if got := b.read(gout); tokens > 1 && got[0] != got[0] {
			t.Error("the first token has seen the last slot")
		}
		runtime.KeepAlive(k)
		runtime.KeepAlive(v)
	}
}

// attention compares attention and its weights.
func (b *bench) attention(s attentionShape, tokens, n int) {
	b.Helper()
	const kvHeads = 2
	name := fmt.Sprintf(" of %d tokens to %d slots near %g", tokens, n, b.size)
	q, out := b.floats(tokens, kvHeads*s.share, s.headDim), b.floats(tokens, kvHeads*s.share, s.headDim)
	k, v := b.typed(s.cache, n+3, kvHeads, s.headDim), b.typed(s.cache, n+3, kvHeads, s.headDim)
	gq, gk, gout := b.on(q), b.on(k), b.on(out)
	must(b, b.gpu.Attention(gq, gk, b.on(v), gout, n))
	must(b, b.host.Attention(q, k, v, out, n))
	b.equal("Attention"+name, gout, out)
	sums := b.floats(kvHeads, n+5)
	gsums := b.on(sums)
	must(b, b.gpu.AccumulateAttention(gq, gk, gsums, n))
	must(b, b.host.AccumulateAttention(q, k, sums, n))
	b.equal("AccumulateAttention"+name, gsums, sums)
	for _, x := range []*tensor.Tensor{q, k, v} { // whose memory nothing else keeps while the host reads it
		runtime.KeepAlive(x)
	}
}

// TestAttentionOfExtremes has scores near 0, near ±1e6, and beyond what there are numbers for.
func TestAttentionOfExtremes(t *testing.T) {
	b := newBench(t, Options{})
	for _, d := range cacheTypes {
		for _, b.size = range []float32{1e-30, 1e-20, 1e-5, 300, 1e9, 1e19} {
			b.attention(attentionShape{d, 64, 4}, 1, 200)
			b.attention(attentionShape{d, 64, 4}, 20, 200)
		}
	}
}

func TestCompact(t *testing.T) {
	b := newBench(t, Options{})
	for _, d := range cacheTypes {
		for _, c := range []struct {
			name string
			keep func(head, i int) int32
			kept int
		}{
			{"all", func(_, i int) int32 { return int32(i) }, 400},
			{"every other", func(head, i int) int32 { return int32(2*i + head%2) }, 200},
			{"the last", func(head, i int) int32 { return int32(400 - 100 + i) }, 100},
			{"none", nil, 0},
		} {
			x := b.typed(d, 400, 3, 64)
			gx := b.on(x)
			var keep []int32
			for head := range 3 {
				for i := range c.kept {
					keep = append(keep, c.keep(head, i))
				}
			}
			must(t, b.gpu.Compact(gx, keep))
			must(t, b.host.Compact(x, keep))
			got := make([]byte, gx.Size())
			must(t, b.gpu.ReadBuffer(gx, got))
			n := c.kept * x.Size() / 400
			if string(got[:n]) != string(x.Data()[:n]) {
				t.Errorf("Compact of %v to %s: the kept slots differ", d, c.name)
			}
		}
	}
}

// TestLargest selects of rows that need one pass or several, with ties, zeros of both signs, infinities and NaNs, exactly.
func TestLargest(t *testing.T) {
	b := newBench(t, Options{})
	b.gpu.selects = true
	nan, inf, zero := float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1))
	for _, n := range []int{1, 5, 100, selectSlice, selectSlice + 1, 4096, 40000, 128256} {
		for _, kind := range []struct {
			name string
			odd  []float32 // in place of some
		}{
			{"random", nil},
			{"zeros", []float32{0, zero}},
			{"NaN and infinities", []float32{nan, inf, -inf, float32(math.Copysign(math.NaN(), -1)), 1e-40, -1e-40, zero}},
		} {
			x := b.floats(1, n)
			values, err := tensor.Mut[float32](x)
			must(t, err)
			for i := range values {
				if len(kind.odd) > 0 && b.IntN(3) == 0 {
					values[i] = kind.odd[b.IntN(len(kind.odd))]
				}
			}
			gx := b.on(x)
			for _, k := range []int{0, 1, 2, 3, 40, 64, 100, 256, selectSlice / 2, selectSlice/2 + 1} {
				if k > n {
					continue
				}
				indices, found := make([]int32, k), make([]float32, k)
				wantIndices, want := make([]int32, k), make([]float32, k)
				must(t, b.gpu.Largest(gx, indices, found))
				must(t, b.host.Largest(x, wantIndices, want))
				if !slices.Equal(indices, wantIndices) {
					t.Errorf("%s: the %d largest of %d stand at %v, want %v", kind.name, k, n, indices, wantIndices)
				}
				for i := range want {
					if found[i] != want[i] && (found[i] == found[i] || want[i] == want[i]) {
						t.Errorf("%s: of the %d largest of %d, value %d is %g, want %g", kind.name, k, n, i, found[i], want[i])
						break
					}
				}
			}
		}
	}
	x := b.floats(3, 50) // a row of several, and the host's
	row, err := x.Slice(1, 2)
	must(t, err)
	grow, err := b.on(x).Slice(1, 2)
	must(t, err)
	want, wantValues := make([]int32, 7), make([]float32, 7)
	must(t, b.host.Largest(row, want, wantValues))
	for _, x := range []*tensor.Tensor{row, grow} {
		got, values := make([]int32, 7), make([]float32, 7)
		must(t, b.gpu.Largest(x, got, values))
		if !slices.Equal(got, want) || !slices.Equal(values, wantValues) {
			t.Errorf("the largest of %v stand at %v, want %v", x, got, want)
		}
	}
	if b.gpu.Largest(b.on(x), want, wantValues) == nil {
		t.Error("three rows were accepted")
	}
}

// TestSameEveryTime repeats what meets in local memory on many groups: without a race the results are the same, bit for bit.
func TestSameEveryTime(t *testing.T) {
	b := newBench(t, Options{})
	const n, k = 2048, 256
	few, many, norm := b.on(b.floats(1, k)), b.on(b.floats(100, k)), b.on(b.floats(k))
	normed, normedMany := b.on(b.floats(1, k)), b.on(b.floats(100, k))
	out, product, outMany := b.on(b.floats(1, n)), b.on(b.floats(1, n)), b.on(b.floats(100, n))
	q, k1, v := b.on(b.floats(100, 8, 64)), b.on(b.typed(tensor.F16, 700, 4, 64)), b.on(b.typed(tensor.F16, 700, 4, 64))
	one, err := q.Slice(0, 1)
	must(t, err)
	attention, oneOut, sums, rows := b.on(b.floats(100, 8, 64)), b.on(b.floats(1, 8, 64)), b.on(b.floats(4, 700)), b.on(b.floats(1000, 96))
	type operation struct {
		name string
		out  *tensor.Tensor
		run  func() error
	}
	list := []operation{
		{"attention of one", oneOut, func() error { return b.gpu.AttentionGen(one, k1, v, oneOut, 700) }},
		{"attention of many", attention, func() error { return b.gpu.Attention(q, k1, v, attention, 700) }},
		{"AccumulateAttention", sums, func() error { return errors.Join(b.gpu.Scale(sums, 0), b.gpu.AccumulateAttention(q, k1, sums, 700)) }},
		{"RMSNorm", normedMany, func() error {
			return errors.Join(b.gpu.CopySlice(many, normedMany, 0, 0, 100*k), b.gpu.RMSNorm(normedMany, norm, 1e-5))
		}},
		{"Softmax", rows, func() error { return errors.Join(b.gpu.Scale(rows, 0), b.gpu.Softmax(rows)) }},
	}
	for _, d := range []tensor.DType{tensor.Q4_0, tensor.F16} {
		w := b.prepared(b.typed(d, n, k))
		list = append(list,
			operation{fmt.Sprint("product with ", d), out, func() error { return b.gpu.MatMulTransposed(few, w, out) }},
			operation{fmt.Sprint("products with ", d), outMany, func() error { return b.gpu.MatMulTransposed(many, w, outMany) }},
			operation{fmt.Sprint("NormMatMul with ", d), out, func() error {
				return b.gpu.NormMatMul(few, norm, 1e-5, normed, []*tensor.Tensor{w, w}, []*tensor.Tensor{product, out})
			}},
			operation{fmt.Sprint("NormSwiGLU with ", d), out, func() error {
				return b.gpu.NormSwiGLU(few, norm, 1e-5, normed, w, w, product, out)
			}})
	}
	for _, op := range list {
		must(t, op.run())
		want := slices.Clone(b.read(op.out))
		for range 30 {
			must(t, op.run())
			if got := b.read(op.out); !slices.Equal(got, want) {
				t.Errorf("%s differs from time to time", op.name)
				break
			}
		}
	}
}

// The optional interfaces are all there.
var (
	_ backend.Backend         = (*Backend)(nil)
	_ backend.Preparer        = (*Backend)(nil)
	_ backend.Fuser           = (*Backend)(nil)
	_ backend.PrefillAttender = (*Backend)(nil)
	_ backend.Selector        = (*Backend)(nil)
)
