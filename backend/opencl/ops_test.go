//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"math"
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
			check("AddAssign", b.gpu.Run(&backend.AddAssign{A: gx, B: b.on(y)}), b.host.Run(&backend.AddAssign{A: x, B: y}))
			check("AddAssign of a row", b.gpu.Run(&backend.AddAssign{A: gx, B: b.on(row)}), b.host.Run(&backend.AddAssign{A: x, B: row}))
			check("AddAssign of the host's", b.gpu.Run(&backend.AddAssign{A: gx, B: y}), b.host.Run(&backend.AddAssign{A: x, B: y}))
			check("Scale", b.gpu.Run(&backend.Scale{X: gx, By: 0.3}), b.host.Run(&backend.Scale{X: x, By: 0.3}))
			check("Softcap", b.gpu.Run(&backend.Softcap{X: gx, Limit: 2}), b.host.Run(&backend.Softcap{X: x, Limit: 2}))
			check("RMSNorm", b.gpu.Run(&backend.RMSNorm{X: gx, W: b.on(norm), Eps: 1e-5}), b.host.Run(&backend.RMSNorm{X: x, W: norm, Eps: 1e-5}))
			check("SiLUMul", b.gpu.Run(&backend.SiLUMul{A: gx, B: b.on(y)}), b.host.Run(&backend.SiLUMul{A: x, B: y}))
			check("GELUMul", b.gpu.Run(&backend.GELUMul{A: gx, B: b.on(y)}), b.host.Run(&backend.GELUMul{A: x, B: y}))
			check("RoPE", b.gpu.Run(&backend.RoPE{X: gx, Table: b.on(table)}), b.host.Run(&backend.RoPE{X: x, Table: table}))
			check("Softmax", b.gpu.Run(&backend.Softmax{X: gx}), b.host.Run(&backend.Softmax{X: x}))
			for _, dim := range []int{2500, longRow + 333} {
				rows := b.floats(2, dim)
				grows := b.on(rows)
				must(t, b.gpu.Run(&backend.Softmax{X: grows}))
				must(t, b.host.Run(&backend.Softmax{X: rows}))
				b.equal(fmt.Sprintf("Softmax of rows of %d", dim)+name, grows, rows)
			}
		}
	}
}

var weightTypes = tensor.WeightTypes()

// fewerTypes are without those that are read as another one is: a driver takes long to compile each.
var fewerTypes = slices.DeleteFunc(slices.Clone(weightTypes), func(d tensor.DType) bool {
	return d == tensor.Q5_0 || d == tensor.IQ4_NL || d == tensor.Q3_K
})

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

// TestWays compares the products of several rows in each of the ways, tiles without the device's instructions for matrices: TestMatrices has
// those.
func TestWays(t *testing.T) {
	b := newBench(t, Options{})
	b.gpu.products.matrix = nil
	for i := range ways {
		t.Run(fmt.Sprintf("%+v", ways[i]), func(t *testing.T) {
			b.TB, b.gpu.tuning.forced = t, &ways[i]
			types := fewerTypes
			if i > 2 { // the kernel is the same, divided otherwise
				types = []tensor.DType{tensor.Q4_0, tensor.Q4_K}
			}
			for _, d := range types {
				for _, c := range []struct{ m, n, k int }{{2, 33, 768}, {17, 70, 1024 + 256}, {5, 20, 96}} {
					if c.k%d.BlockLen() == 0 {
						b.products(d, c.m, c.n, c.k)
					}
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
	must(b, b.gpu.Run(&backend.MatMulTransposed{X: gx, W: gw, Out: out}))
	must(b, b.host.Run(&backend.MatMulTransposed{X: x, W: w, Out: want}))
	b.equal("MatMulTransposed"+name, out, want)

	view, err := gw.Slice(1, n)
	must(b, err)
	wview, err := w.Slice(1, n)
	must(b, err)
	part, gpart := b.floats(m, n-1), b.on(b.floats(m, n-1))
	must(b, b.gpu.Run(&backend.MatMulTransposed{X: gx, W: view, Out: gpart}))
	must(b, b.host.Run(&backend.MatMulTransposed{X: x, W: wview, Out: part}))
	b.equal("MatMulTransposed of a view"+name, gpart, part)

	product := b.floats(m, n)
	must(b, b.gpu.Run(&backend.MatMulAdd{X: gx, W: gw, Product: b.on(product), Out: out}))
	must(b, b.host.Run(&backend.MatMulAdd{X: x, W: w, Product: product, Out: want}))
	b.equal("MatMulAdd"+name, out, want)

	norm, normed := b.floats(k), b.floats(m, k)
	gnorm, gnormed := b.on(norm), b.on(normed)
	must(b, b.gpu.Run(&backend.NormSwiGLU{X: gx, Norm: gnorm, Eps: 1e-5, Normed: gnormed, Gate: gw, Up: gup, Product: b.on(product), Out: out}))
	must(b, b.host.Run(&backend.NormSwiGLU{X: x, Norm: norm, Eps: 1e-5, Normed: normed, Gate: w, Up: up, Product: product, Out: want}))
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
		must(b, b.gpu.Run(&backend.NormMatMul{X: gx, Norm: gnorm, Eps: 1e-5, Normed: gnormed, Ws: gws, Outs: gouts}))
		must(b, b.host.Run(&backend.NormMatMul{X: x, Norm: norm, Eps: 1e-5, Normed: normed, Ws: ws, Outs: outs}))
		for i := range terms {
			b.equal(fmt.Sprintf("NormMatMul %d of %d%s", i, terms, name), gouts[i], outs[i])
		}
	}

	for _, indices := range [][]int32{{int32(n - 1)}, {0, int32(n - 1), 1, 1}} {
		want, out := b.floats(len(indices), k), b.on(b.floats(len(indices), k))
		must(b, b.gpu.Run(&backend.Gather{Table: gw, Indices: indices, Out: out}))
		must(b, b.host.Run(&backend.Gather{Table: w, Indices: indices, Out: want}))
		b.equal("Gather"+name, out, want)
	}
}

// TestUnpreparedWeights multiplies with weights that nobody prepared: files' layouts on the device, and the host's.
func TestUnpreparedWeights(t *testing.T) {
	b := newBench(t, Options{})
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.Q4_0, tensor.Q8_0, tensor.Q6_K} {
		stored, x, want := b.typed(d, 40, 256), b.floats(3, 256), b.floats(3, 40)
		must(t, b.host.Run(&backend.MatMulTransposed{X: x, W: stored, Out: want}))
		for _, w := range []*tensor.Tensor{stored, b.on(stored)} {
			out := b.on(b.floats(3, 40))
			must(t, b.gpu.Run(&backend.MatMulTransposed{X: b.on(x), W: w, Out: out}))
			b.equal("MatMulTransposed with unprepared "+w.String(), out, want)
			row := b.on(b.floats(2, 256))
			must(t, b.gpu.Run(&backend.Gather{Table: w, Indices: []int32{39, 2}, Out: row}))
			rows := b.floats(2, 256)
			must(t, b.host.Run(&backend.Gather{Table: stored, Indices: []int32{39, 2}, Out: rows}))
			b.equal("Gather from unprepared "+w.String(), row, rows)
		}
	}
}

func TestCast(t *testing.T) {
	b := newBench(t, Options{})
	for _, b.size = range []float32{1, 1e-6, 1e3} {
		for _, d := range cacheTypes {
			x := b.floats(6, 64)
			want, err := tensor.New(nil, d, x.Shape())
			must(t, err)
			must(t, b.host.Run(&backend.Cast{Src: x, Dst: want}))
			whole, err := tensor.New(b.gpu, d, tensor.ShapeOf(10, 64))
			must(t, err)
			got, err := whole.Slice(3, 9) // as caches are written
			must(t, err)
			must(t, b.gpu.Run(&backend.Cast{Src: b.on(x), Dst: got}))
			bytes := make([]byte, got.Size())
			must(t, b.gpu.ReadBuffer(got, bytes))
			if !slices.Equal(bytes, want.Data()) {
				t.Errorf("Cast to %v near %g: other bytes", d, b.size)
			}
			back := b.on(b.floats(6, 64))
			must(t, b.gpu.Run(&backend.Cast{Src: got, Dst: back}))
			b.equal(fmt.Sprintf("Cast from %v near %g", d, b.size), back, b.widened(want))
		}
	}
	// What no kernel converts, the reference does.
	x := b.typed(tensor.BF16, 4, 32)
	for _, d := range []tensor.DType{tensor.BF16, tensor.F16, tensor.Q4_1} {
		want, err := tensor.New(nil, d, x.Shape())
		must(t, err)
		must(t, b.host.Run(&backend.Cast{Src: x, Dst: want}))
		got, err := tensor.New(b.gpu, d, x.Shape())
		must(t, err)
		must(t, b.gpu.Run(&backend.Cast{Src: b.on(x), Dst: got}))
		bytes := make([]byte, got.Size())
		must(t, b.gpu.ReadBuffer(got, bytes))
		if string(bytes) != string(want.Data()) {
			t.Errorf("Cast of bf16 to %v differs", d)
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
		must(t, b.gpu.Run(&backend.CopySlice{Src: gx, Dst: gx, From: c.from, To: c.to, N: c.n}))
		must(t, b.host.Run(&backend.CopySlice{Src: x, Dst: x, From: c.from, To: c.to, N: c.n}))
		b.equal("CopySlice "+c.name, gx, x)
		y := b.floats(100)
		must(t, b.gpu.Run(&backend.CopySlice{Src: y, Dst: gx, From: c.from, To: c.to, N: c.n})) // from the host
		must(t, b.host.Run(&backend.CopySlice{Src: y, Dst: x, From: c.from, To: c.to, N: c.n}))
		b.equal("CopySlice from the host "+c.name, gx, x)
		must(t, b.gpu.Run(&backend.CopySlice{Src: gx, Dst: y, From: c.to, To: c.from, N: c.n})) // and back
		b.equal("CopySlice to the host "+c.name, b.on(y), y)
	}
	large := b.floats(3 << 20) // more than is staged, and more than is moved at once
	glarge := b.on(large)
	must(t, b.gpu.Run(&backend.CopySlice{Src: glarge, Dst: glarge, From: 5, N: 3<<20 - 5}))
	must(t, b.host.Run(&backend.CopySlice{Src: large, Dst: large, From: 5, N: 3<<20 - 5}))
	must(t, b.gpu.Run(&backend.CopySlice{Src: glarge, Dst: glarge, To: 7, N: 3<<20 - 7}))
	must(t, b.host.Run(&backend.CopySlice{Src: large, Dst: large, To: 7, N: 3<<20 - 7}))
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
		must(t, b.gpu.Run(&backend.CopySlice{Src: x, Dst: step, N: 64}))
		must(t, b.gpu.Run(&backend.AddAssign{A: sum, B: step}))
	}
	if got := b.read(sum)[13]; got != 4950 {
		t.Errorf("the sum of what was written is %g, want 4950", got)
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
				must(t, b.gpu.Run(&backend.Largest{X: gx, Indices: indices, Values: found}))
				must(t, b.host.Run(&backend.Largest{X: x, Indices: wantIndices, Values: want}))
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
	for _, n := range []int{50, 3 * selectSlice, 40000} { // several rows, some of them, and the host's
		x := b.floats(7, n)
		rows, err := x.Slice(1, 6)
		must(t, err)
		grows, err := b.on(x).Slice(1, 6)
		must(t, err)
		for _, k := range []int{1, 7, 48} {
			want, wantValues := make([]int32, 5*k), make([]float32, 5*k)
			must(t, b.host.Run(&backend.Largest{X: rows, Indices: want, Values: wantValues}))
			for _, x := range []*tensor.Tensor{rows, grows} {
				got, values := make([]int32, 5*k), make([]float32, 5*k)
				must(t, b.gpu.Run(&backend.Largest{X: x, Indices: got, Values: values}))
				if !slices.Equal(got, want) || !slices.Equal(values, wantValues) {
					t.Errorf("the %d largest of the rows of %v stand at %v, want %v", k, x, got, want)
				}
			}
		}
		if b.gpu.Run(&backend.Largest{X: grows, Indices: make([]int32, 7), Values: make([]float32, 7)}) == nil {
			t.Error("seven of five rows were accepted")
		}
	}
}

// TestSameEveryTime repeats what meets in local memory on many groups: without a race the results are the same, bit for bit.
func TestSameEveryTime(t *testing.T) {
	b := newBench(t, Options{})
	const n, k = 2048, 256
	few, many, norm := b.on(b.floats(1, k)), b.on(b.floats(100, k)), b.on(b.floats(k))
	normed, normedMany := b.on(b.floats(1, k)), b.on(b.floats(100, k))
	out, product, outMany := b.on(b.floats(1, n)), b.on(b.floats(1, n)), b.on(b.floats(100, n))
	q := b.on(b.floats(100, 8, 64))
	slots := b.pages(pageShape{tensor.F16, 64}, 2, 12).slots(0, 700, 700, 500, 700).gpu
	one, err := q.Slice(0, 1)
	must(t, err)
	attention, oneOut, sums, rows := b.on(b.floats(100, 8, 64)), b.on(b.floats(1, 8, 64)), b.on(b.floats(4, 700)), b.on(b.floats(1000, 96))
	type operation struct {
		name string
		out  *tensor.Tensor
		run  func() error
	}
	list := []operation{
		{"attention of one", oneOut, func() error {
			return b.gpu.Run(&backend.Attend{Q: one, Out: oneOut, Runs: []backend.Run{{Tokens: 1, Slots: slots}}})
		}},
		{"attention of many", attention, func() error {
			return b.gpu.Run(&backend.Attend{Q: q, Out: attention, Runs: []backend.Run{{Tokens: 100, Slots: slots}}})
		}},
		{"AccumulateAttention", sums, func() error {
			return errors.Join(b.gpu.Run(&backend.Scale{X: sums, By: 0}), b.gpu.Run(&backend.AccumulateAttention{Q: q, Sums: sums, Run: backend.Run{Tokens: 100, Slots: slots}}))
		}},
		{"RMSNorm", normedMany, func() error {
			return errors.Join(b.gpu.Run(&backend.CopySlice{Src: many, Dst: normedMany, N: 100 * k}), b.gpu.Run(&backend.RMSNorm{X: normedMany, W: norm, Eps: 1e-5}))
		}},
		{"Softmax", rows, func() error {
			return errors.Join(b.gpu.Run(&backend.Scale{X: rows, By: 0}), b.gpu.Run(&backend.Softmax{X: rows}))
		}},
	}
	for _, d := range []tensor.DType{tensor.Q4_0, tensor.F16} {
		w := b.prepared(b.typed(d, n, k))
		list = append(list,
			operation{fmt.Sprint("product with ", d), out, func() error { return b.gpu.Run(&backend.MatMulTransposed{X: few, W: w, Out: out}) }},
			operation{fmt.Sprint("products with ", d), outMany, func() error { return b.gpu.Run(&backend.MatMulTransposed{X: many, W: w, Out: outMany}) }},
			operation{fmt.Sprint("NormMatMul with ", d), out, func() error {
				return b.gpu.Run(&backend.NormMatMul{X: few, Norm: norm, Eps: 1e-5, Normed: normed, Ws: []*tensor.Tensor{w, w}, Outs: []*tensor.Tensor{product, out}})
			}},
			operation{fmt.Sprint("NormSwiGLU with ", d), out, func() error {
				return b.gpu.Run(&backend.NormSwiGLU{X: few, Norm: norm, Eps: 1e-5, Normed: normed, Gate: w, Up: w, Product: product, Out: out})
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
	_ backend.Backend  = (*Backend)(nil)
	_ backend.Preparer = (*Backend)(nil)
)

// TestRoundedForTheNextProduct multiplies with activations that NormSwiGLU has rounded, and with others that changed after that.
func TestRoundedForTheNextProduct(t *testing.T) {
	b := newBench(t, Options{})
	const n, k = 64, 256
	for _, d := range []tensor.DType{tensor.Q4_0, tensor.Q8_0} {
		b.gpu.tuning.best[productShape{kernel: "norm_swiglu", format: formats[d].name, n: n, k: k}] = teams{Group: 64, Rows: 4}
		gate, up, down := b.typed(d, n, k), b.typed(d, n, k), b.typed(d, 48, n)
		ggate, gup, gdown := b.prepared(gate), b.prepared(up), b.prepared(down)
		for _, m := range []int{1, 3} {
			for _, between := range []string{"", "Scale", "Map"} {
				x, norm, inner, out := b.floats(m, k), b.floats(k), b.floats(m, n), b.floats(m, 48)
				gx, gnorm, ginner, gout := b.on(x), b.on(norm), b.on(inner), b.on(out)
				scratch, gscratch := b.floats(m, k), b.on(b.floats(m, k))
				product, gproduct := b.floats(m, n), b.on(b.floats(m, n))
				must(b, b.gpu.Run(&backend.NormSwiGLU{X: gx, Norm: gnorm, Eps: 1e-5, Normed: gscratch, Gate: ggate, Up: gup, Product: gproduct, Out: ginner}))
				must(b, b.host.Run(&backend.NormSwiGLU{X: x, Norm: norm, Eps: 1e-5, Normed: scratch, Gate: gate, Up: up, Product: product, Out: inner}))
				if !b.gpu.isFresh(b.gpu.operand(ginner), &weights{format: formats[d], k: n}, m) {
					t.Errorf("NormSwiGLU with %v, m %d, has rounded nothing", d, m)
				}
				switch between {
				case "Scale":
					must(b, b.gpu.Run(&backend.Scale{X: ginner, By: 3}))
					must(b, b.host.Run(&backend.Scale{X: inner, By: 3}))
				case "Map":
					must(b, ginner.Buffer().Map())
					floats, err := tensor.Mut[float32](ginner)
					must(b, err)
					floats[5] = 17
					must(b, ginner.Buffer().Unmap())
					floats, err = tensor.Mut[float32](inner)
					must(b, err)
					floats[5] = 17
				}
				must(b, b.gpu.Run(&backend.MatMulAdd{X: ginner, W: gdown, Product: b.on(out), Out: gout}))
				must(b, b.host.Run(&backend.MatMulAdd{X: inner, W: down, Product: b.floats(m, 48), Out: out}))
				b.equal(fmt.Sprintf("MatMulAdd after NormSwiGLU and %q with %v, m %d", between, d, m), gout, out)
				b.equal(fmt.Sprintf("NormSwiGLU that rounds with %v, m %d", d, m), ginner, inner)
			}
		}
	}
}

// TestProductsAllocateNothing compares products with Scale: what the driver's call of one kernel allocates is all.
func TestProductsAllocateNothing(t *testing.T) {
	b := newBench(t, Options{})
	w, x, norm, normed, out := b.prepared(b.typed(tensor.Q4_0, 64, 64)), b.on(b.floats(1, 64)), b.on(b.floats(64)), b.on(b.floats(1, 64)), b.on(b.floats(1, 64))
	ws, outs := []*tensor.Tensor{w}, []*tensor.Tensor{out}
	allocations := func(run func() error) float64 { return testing.AllocsPerRun(100, func() { must(t, run()) }) }
	one := allocations(func() error { return b.gpu.Run(&backend.Scale{X: x, By: 1}) })
	for name, run := range map[string]func() error{
		"MatMulTransposed": func() error { return b.gpu.Run(&backend.MatMulTransposed{X: x, W: w, Out: out}) },
		"MatMulAdd":        func() error { return b.gpu.Run(&backend.MatMulAdd{X: x, W: w, Product: normed, Out: out}) },
		"NormMatMul": func() error {
			return b.gpu.Run(&backend.NormMatMul{X: x, Norm: norm, Eps: 1e-5, Normed: normed, Ws: ws, Outs: outs})
		},
	} {
		if n := allocations(run); n > one {
			t.Errorf("%s: %v allocations, and a kernel's call has %v", name, n, one)
		}
	}
}
