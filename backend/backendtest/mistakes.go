package backendtest

import (
	"errors"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// mistake is a call with operands that do not fit: it must return an error, neither panic nor write.
//
// For example, {"Compact", "slots out of order", …} keeps slots 1 and 0 of the first head, in that order:
//
//	b.Compact(o.slots(5), [][]int32{{1, 0}, {0, 1}})
//	an error   as it must be
//	nil        the check fails with errAccepted
type mistake struct {
	operation, what string
	do              func(b backend.Backend, o odd) error
}

// odd are the operands of mistakes.
type odd struct {
	x     *tensor.Tensor // f32 [2 64]
	short *tensor.Tensor // f32 [2 32]
	half  *tensor.Tensor // f16 [2 64]
	w     *tensor.Tensor // q4_0 [32 64]
	q     *tensor.Tensor // f32 [1 4 32]
	cache *tensor.Tensor // f16 [5 2 32]
	wide  *tensor.Tensor // bf16 [5 2 32]
	k     *tensor.Tensor // f32 [1 2 32]
	slab  *tensor.Tensor // f16 [3 2 128 32]
	row   *tensor.Tensor // f32 [1 64]
	gates *tensor.Tensor // f32 [1 4]
	state *tensor.Tensor // f32 [4 2 32 16]

	experts *tensor.Tensor // q8_0 [4 32 64]
	chosen  *tensor.Tensor // i32 [2 1]
}

// stretches returns one stretch.
func (o odd) stretches(rows int, state *tensor.Tensor) []backend.Stretch {
	return []backend.Stretch{{State: state, Rows: rows}}
}

// slots returns a cache of two heads with a number of slots in use. The heads' pages are the first two of the slab.
func (o odd) slots(used int) *backend.Slots {
	s := &backend.Slots{DType: tensor.F16, HeadDim: 32, Version: 1}
	for head := range 2 {
		s.Heads = append(s.Heads, backend.HeadSlots{Pages: []backend.Page{{Slab: o.slab, Index: head}}, Len: used})
	}
	return s
}

// column calls f with an f32 [2 1] that shares x's memory.
func (o odd) column(f func(t *tensor.Tensor) error) error {
	few, err := o.x.Reshape(128, 1)
	if err != nil {
		return nil // which the check takes for a failure
	}
	if few, err = few.Slice(0, 2); err != nil {
		return nil
	}
	return f(few)
}

// runs returns a run of one token of such a cache, changed by change.
func (o odd) runs(used int, change func(s *backend.Slots)) []backend.Run {
	s := o.slots(used)
	if change != nil {
		change(s)
	}
	return []backend.Run{{Tokens: 1, Slots: s}}
}

// spoiled are caches that no operation may take.
var spoiled = []struct {
	what  string
	spoil func(s *backend.Slots, o odd)
}{
	{"no heads", func(s *backend.Slots, _ odd) { s.Heads = nil }},
	{"another number of heads", func(s *backend.Slots, _ odd) { s.Heads = append(s.Heads, s.Heads[0]) }},
	{"slots without pages", func(s *backend.Slots, _ odd) { s.Heads[1].Len = backend.PageSlots + 1 }},
	{"fewer slots than tokens", func(s *backend.Slots, _ odd) { s.Heads[1].Len = 0 }},
	{"a negative number of slots", func(s *backend.Slots, _ odd) { s.Heads[1].Len = -1 }},
	{"a page without a slab", func(s *backend.Slots, _ odd) { s.Heads[1].Pages[0].Slab = nil }},
	{"a page behind its slab", func(s *backend.Slots, _ odd) { s.Heads[0].Pages[0].Index = 3 }},
	{"a negative page", func(s *backend.Slots, _ odd) { s.Heads[0].Pages[0].Index = -1 }},
	{"a slab of another type", func(s *backend.Slots, _ odd) { s.DType = tensor.Q8_0 }},
	{"a bf16 cache", func(s *backend.Slots, _ odd) { s.DType = tensor.BF16 }},
	{"an unknown type", func(s *backend.Slots, _ odd) { s.DType = 200 }},
	{"a slab of another shape", func(s *backend.Slots, o odd) { s.Heads[0].Pages[0].Slab = o.cache }},
	{"heads of another length", func(s *backend.Slots, _ odd) { s.HeadDim = 64 }},
	{"heads of no length", func(s *backend.Slots, _ odd) { s.HeadDim = 0 }},
}

// spoiledMistakes give such caches to each operation that takes one.
func spoiledMistakes() (list []mistake) {
	for _, c := range spoiled {
		spoil := func(o odd) []backend.Run { return o.runs(1, func(s *backend.Slots) { c.spoil(s, o) }) }
		list = append(list,
			mistake{"RoPEStore", c.what, func(b backend.Backend, o odd) error { return b.RoPEStore(nil, o.k, o.k, nil, spoil(o)) }},
			mistake{"Attend", c.what, func(b backend.Backend, o odd) error { return b.Attend(o.q, o.q, spoil(o)) }},
			mistake{"AccumulateAttention", c.what, func(b backend.Backend, o odd) error {
				sums, err := tensor.New(b, tensor.F32, tensor.ShapeOf(2, 1000))
				if err != nil {
					return nil // which the check takes for a failure
				}
				defer sums.Free()
				return b.AccumulateAttention(o.q, sums, spoil(o)[0])
			}},
		)
	}
	return list
}

var mistakes = []mistake{
	{"MatMul", "shapes that do not fit", func(b backend.Backend, o odd) error { return b.MatMul(o.x, o.short, o.x) }},
	{"MatMulTransposed", "to another shape", func(b backend.Backend, o odd) error { return b.MatMulTransposed(o.x, o.w, o.x) }},
	{"MatMulTransposed", "other lengths", func(b backend.Backend, o odd) error { return b.MatMulTransposed(o.short, o.w, o.short) }},
	{"MatMulTransposed", "f16 activations", func(b backend.Backend, o odd) error { return b.MatMulTransposed(o.half, o.w, o.short) }},
	{"AddAssign", "two shapes", func(b backend.Backend, o odd) error { return b.AddAssign(o.x, o.short) }},
	{"AddAssign", "f16", func(b backend.Backend, o odd) error { return b.AddAssign(o.half, o.half) }},
	{"Scale", "f16", func(b backend.Backend, o odd) error { return b.Scale(o.half, 2) }},
	{"SiLUMul", "two shapes", func(b backend.Backend, o odd) error { return b.SiLUMul(o.x, o.short) }},
	{"SiLUMul", "f16 alone", func(b backend.Backend, o odd) error { return b.SiLUMul(o.half, nil) }},
	{"SigmoidMul", "two shapes", func(b backend.Backend, o odd) error { return b.SigmoidMul(o.x, o.short) }},
	{"MulAssign", "two shapes", func(b backend.Backend, o odd) error { return b.MulAssign(o.x, o.short) }},
	{"MulAssign", "f16", func(b backend.Backend, o odd) error { return b.MulAssign(o.half, o.half) }},
	{"Softplus", "a bias of another length", func(b backend.Backend, o odd) error { return b.Softplus(o.x, o.q) }},
	{"Softplus", "f16", func(b backend.Backend, o odd) error { return b.Softplus(o.half, nil) }},
	{"Softcap", "f16", func(b backend.Backend, o odd) error { return b.Softcap(o.half, 30) }},
	{"Softcap", "to nothing", func(b backend.Backend, o odd) error { return b.Softcap(o.x, 0) }},
	{"GELUMul", "two shapes", func(b backend.Backend, o odd) error { return b.GELUMul(o.x, o.short) }},
	{"GELUErf", "two shapes", func(b backend.Backend, o odd) error { return b.GELUErf(o.x, o.short) }},
	{"GELUErf", "f16", func(b backend.Backend, o odd) error { return b.GELUErf(o.half, nil) }},
	{"LayerNorm", "weights of another length", func(b backend.Backend, o odd) error { return b.LayerNorm(o.x, o.q, nil, epsilon) }},
	{"LayerNorm", "biases of another length", func(b backend.Backend, o odd) error { return b.LayerNorm(o.q, o.k, o.x, epsilon) }},
	{"AttendTexts", "to another shape", func(b backend.Backend, o odd) error { return b.AttendTexts(o.q, o.k, o.k, o.k, []int{1}, 0) }},
	{"AttendTexts", "values of another shape", func(b backend.Backend, o odd) error { return b.AttendTexts(o.q, o.k, o.q, o.q, []int{1}, 0) }},
	{"AttendTexts", "too many rows", func(b backend.Backend, o odd) error { return b.AttendTexts(o.q, o.k, o.k, o.q, []int{2}, 0) }},
	{"AttendTexts", "too few rows", func(b backend.Backend, o odd) error { return b.AttendTexts(o.q, o.k, o.k, o.q, nil, 0) }},
	{"AttendTexts", "a text without rows", func(b backend.Backend, o odd) error { return b.AttendTexts(o.q, o.k, o.k, o.q, []int{0, 1}, 0) }},
	{"AttendTexts", "a negative reach", func(b backend.Backend, o odd) error { return b.AttendTexts(o.q, o.k, o.k, o.q, []int{1}, -1) }},
	{"Convolve", "weights of other channels", func(b backend.Backend, o odd) error { return b.Convolve(o.x, o.short, nil, o.x, o.stretches(2, o.x)) }},
	{"Convolve", "a state of another shape", func(b backend.Backend, o odd) error { return b.Convolve(o.x, o.x, nil, o.x, o.stretches(2, o.x)) }},
	{"Convolve", "a bias of another length", func(b backend.Backend, o odd) error { return b.Convolve(o.x, o.x, o.x, o.x, o.stretches(2, o.row)) }},
	{"Convolve", "too few rows", func(b backend.Backend, o odd) error { return b.Convolve(o.x, o.x, nil, o.x, o.stretches(1, o.row)) }},
	{"Convolve", "too many rows", func(b backend.Backend, o odd) error { return b.Convolve(o.x, o.x, nil, o.x, o.stretches(3, o.row)) }},
	{"Convolve", "a stretch without rows", func(b backend.Backend, o odd) error {
		return b.Convolve(o.x, o.x, nil, o.x, append(o.stretches(0, o.row), o.stretches(2, o.row)...))
	}},
	{"Convolve", "a stretch without a state", func(b backend.Backend, o odd) error { return b.Convolve(o.x, o.x, nil, o.x, o.stretches(2, nil)) }},
	{"Convolve", "a width of 1", func(b backend.Backend, o odd) error { return b.Convolve(o.x, o.row, nil, o.x, o.stretches(2, o.row)) }},
	{"Recur", "a state of another shape", func(b backend.Backend, o odd) error {
		return b.Recur(o.k, o.k, o.q, o.gates, o.gates, o.q, true, o.stretches(1, o.x))
	}},
	{"Recur", "keys and queries of two shapes", func(b backend.Backend, o odd) error {
		return b.Recur(o.q, o.k, o.q, o.gates, o.gates, o.q, true, o.stretches(1, o.state))
	}},
	{"Recur", "to another shape", func(b backend.Backend, o odd) error {
		return b.Recur(o.k, o.k, o.q, o.gates, o.gates, o.k, true, o.stretches(1, o.state))
	}},
	{"Recur", "gates of other heads", func(b backend.Backend, o odd) error {
		return b.Recur(o.k, o.k, o.q, o.x, o.x, o.q, true, o.stretches(1, o.state))
	}},
	{"Recur", "more key heads than heads", func(b backend.Backend, o odd) error {
		return b.Recur(o.q, o.q, o.k, o.gates, o.gates, o.k, true, o.stretches(1, o.state))
	}},
	{"Recur", "no stretches", func(b backend.Backend, o odd) error { return b.Recur(o.k, o.k, o.q, o.gates, o.gates, o.q, true, nil) }},
	{"RMSNorm", "weights of another length", func(b backend.Backend, o odd) error { return b.RMSNorm(o.x, o.q, epsilon) }},
	{"Softmax", "f16", func(b backend.Backend, o odd) error { return b.Softmax(o.half) }},
	{"RoPE", "two dimensions", func(b backend.Backend, o odd) error { return b.RoPE(o.x, o.x) }},
	{"RoPE", "a table of other tokens", func(b backend.Backend, o odd) error { return b.RoPE(o.q, o.short) }},
	{"RoPEStore", "no slots", func(b backend.Backend, o odd) error { return b.RoPEStore(nil, o.k, o.k, nil, make([]backend.Run, 1)) }},
	{"RoPEStore", "no runs", func(b backend.Backend, o odd) error { return b.RoPEStore(nil, o.k, o.k, nil, nil) }},
	{"RoPEStore", "a run of no tokens", func(b backend.Backend, o odd) error {
		return b.RoPEStore(nil, o.k, o.k, nil, append([]backend.Run{{Slots: o.slots(1)}}, o.runs(1, nil)...))
	}},
	{"RoPEStore", "too many tokens", func(b backend.Backend, o odd) error {
		return b.RoPEStore(nil, o.k, o.k, nil, append(o.runs(1, nil), o.runs(1, nil)...))
	}},
	{"RoPEStore", "keys of other heads than the cache's", func(b backend.Backend, o odd) error {
		return b.RoPEStore(nil, o.q, o.q, nil, o.runs(1, nil))
	}},
	{"RoPEStore", "values of another shape", func(b backend.Backend, o odd) error { return b.RoPEStore(nil, o.k, o.q, nil, o.runs(1, nil)) }},
	{"RoPEStore", "f16 keys", func(b backend.Backend, o odd) error { return b.RoPEStore(nil, o.cache, o.cache, nil, o.runs(5, nil)) }},
	{"RoPEStore", "a table of other tokens", func(b backend.Backend, o odd) error {
		return b.RoPEStore(o.q, o.k, o.k, o.short, o.runs(1, nil))
	}},
	{"RoPEStore", "a table without queries", func(b backend.Backend, o odd) error {
		return b.RoPEStore(nil, o.k, o.k, o.short, o.runs(1, nil))
	}},
	{"Attend", "to another shape", func(b backend.Backend, o odd) error { return b.Attend(o.q, o.k, o.runs(1, nil)) }},
	{"Attend", "two dimensions", func(b backend.Backend, o odd) error { return b.Attend(o.short, o.short, o.runs(2, nil)) }},
	{"Attend", "too few tokens", func(b backend.Backend, o odd) error { return b.Attend(o.q, o.q, nil) }},
	{"AccumulateAttention", "too few sums", func(b backend.Backend, o odd) error {
		return b.AccumulateAttention(o.q, o.short, o.runs(33, nil)[0])
	}},
	{"AccumulateAttention", "sums of other heads", func(b backend.Backend, o odd) error { return b.AccumulateAttention(o.q, o.w, o.runs(3, nil)[0]) }},
	{"Compact", "slots out of order", func(b backend.Backend, o odd) error { return b.Compact(o.slots(5), [][]int32{{1, 0}, {0, 1}}) }},
	{"Compact", "a slot twice", func(b backend.Backend, o odd) error { return b.Compact(o.slots(5), [][]int32{{0, 1}, {1, 1}}) }},
	{"Compact", "beyond the slots", func(b backend.Backend, o odd) error { return b.Compact(o.slots(5), [][]int32{{0}, {5}}) }},
	{"Compact", "a negative slot", func(b backend.Backend, o odd) error { return b.Compact(o.slots(5), [][]int32{{-1}, {0}}) }},
	{"Compact", "a list too few", func(b backend.Backend, o odd) error { return b.Compact(o.slots(5), [][]int32{{0}}) }},
	{"Compact", "slots without pages", func(b backend.Backend, o odd) error { return b.Compact(o.slots(500), [][]int32{{400}, {}}) }},
	{"Compact", "no slots", func(b backend.Backend, o odd) error { return b.Compact(nil, nil) }},
	{"CopyPage", "behind the slab", func(b backend.Backend, o odd) error {
		return b.CopyPage(backend.Page{Slab: o.slab}, backend.Page{Slab: o.slab, Index: 3})
	}},
	{"CopyPage", "of what is no slab", func(b backend.Backend, o odd) error {
		return b.CopyPage(backend.Page{Slab: o.cache}, backend.Page{Slab: o.slab})
	}},
	{"CopyPage", "without a slab", func(b backend.Backend, o odd) error { return b.CopyPage(backend.Page{}, backend.Page{Slab: o.slab}) }},
	{"ReadSlots", "of a head that is not there", func(b backend.Backend, o odd) error { return b.ReadSlots(o.slots(5), 2, 0, o.short, nil) }},
	{"ReadSlots", "behind the pages", func(b backend.Backend, o odd) error { return b.ReadSlots(o.slots(5), 0, 127, o.short, nil) }},
	{"ReadSlots", "from a negative slot on", func(b backend.Backend, o odd) error { return b.ReadSlots(o.slots(5), 0, -1, o.short, nil) }},
	{"ReadSlots", "to rows of another length", func(b backend.Backend, o odd) error { return b.ReadSlots(o.slots(5), 0, 0, o.x, nil) }},
	{"ReadSlots", "to another type", func(b backend.Backend, o odd) error { return b.ReadSlots(o.slots(5), 0, 0, nil, o.wide) }},
	{"WriteSlots", "behind the pages", func(b backend.Backend, o odd) error { return b.WriteSlots(o.slots(5), 1, 127, nil, o.short) }},
	{"WriteSlots", "keys and values of two shapes", func(b backend.Backend, o odd) error {
		return b.WriteSlots(o.slots(5), 1, 0, o.short, o.x)
	}},
	{"Gather", "a negative row", func(b backend.Backend, o odd) error { return b.Gather(o.w, []int32{-1, 0}, o.x) }},
	{"Gather", "beyond the rows", func(b backend.Backend, o odd) error { return b.Gather(o.w, []int32{0, 32}, o.x) }},
	{"CopySlice", "beyond the end", func(b backend.Backend, o odd) error { return b.CopySlice(o.x, o.x, 0, 1, 128) }},
	{"CopySlice", "two types", func(b backend.Backend, o odd) error { return b.CopySlice(o.x, o.half, 0, 0, 1) }},
	{"CopySlice", "half a block", func(b backend.Backend, o odd) error { return b.CopySlice(o.w, o.w, 16, 0, 16) }},
	{"ReadBuffer", "of another size", func(b backend.Backend, o odd) error { return b.ReadBuffer(o.x, make([]byte, 3)) }},
	{"Cast", "to another shape", func(b backend.Backend, o odd) error { return b.Cast(o.x, o.short) }},
	{"Largest", "more than there are", func(b backend.Backend, o odd) error {
		row, err := o.x.Slice(0, 1)
		if err != nil {
			return nil // which the check takes for a failure
		}
		return backend.Selecting(b).Largest(row, make([]int32, 65), make([]float32, 65))
	}},
	{"Largest", "not as many of each row", func(b backend.Backend, o odd) error {
		return backend.Selecting(b).Largest(o.x, make([]int32, 3), make([]float32, 3))
	}},
	{"Largest", "too few values", func(b backend.Backend, o odd) error {
		return backend.Selecting(b).Largest(o.x, make([]int32, 4), make([]float32, 2))
	}},
	{"Mask", "words of one row for two", func(b backend.Backend, o odd) error {
		return backend.Selecting(b).Mask(o.x, make([]uint64, 1))
	}},
	{"Mask", "of another type", func(b backend.Backend, o odd) error {
		return backend.Selecting(b).Mask(o.half, make([]uint64, 2))
	}},
	{"Route", "to choices of f32", func(b backend.Backend, o odd) error { return b.Route(o.x, backend.Routing{}, o.short, o.short) }},
	{"Route", "to weights of another shape", func(b backend.Backend, o odd) error { return b.Route(o.x, backend.Routing{}, o.chosen, o.short) }},
	{"Route", "by scores that there are not", func(b backend.Backend, o odd) error {
		return o.column(func(weights *tensor.Tensor) error { return b.Route(o.x, backend.Routing{Scores: 3}, o.chosen, weights) })
	}},
	{"Route", "with a bias of another length", func(b backend.Backend, o odd) error {
		return o.column(func(weights *tensor.Tensor) error { return b.Route(o.x, backend.Routing{Bias: o.q}, o.chosen, weights) })
	}},
	{"MatMulExperts", "without experts", func(b backend.Backend, o odd) error { return b.MatMulExperts(o.x, o.w, o.chosen, o.short) }},
	{"MatMulExperts", "to another shape", func(b backend.Backend, o odd) error { return b.MatMulExperts(o.x, o.experts, o.chosen, o.x) }},
	{"MatMulExperts", "choices of f32", func(b backend.Backend, o odd) error { return b.MatMulExperts(o.x, o.experts, o.x, o.short) }},
	{"MatMulExperts", "rows of another length", func(b backend.Backend, o odd) error { return b.MatMulExperts(o.short, o.experts, o.chosen, o.short) }},
	{"AddExpertBias", "of another length", func(b backend.Backend, o odd) error { return b.AddExpertBias(o.x, o.short, o.chosen) }},
	{"SumExperts", "of other rows", func(b backend.Backend, o odd) error { return b.SumExperts(o.x, o.short, o.x) }},
	{"SwiGLUClamped", "two shapes", func(b backend.Backend, o odd) error { return b.SwiGLUClamped(o.x, o.short, 7) }},
	{"SwiGLUClamped", "to nothing", func(b backend.Backend, o odd) error { return b.SwiGLUClamped(o.x, o.x, 0) }},
	{"FeedExperts", "weights of two shapes", func(b backend.Backend, o odd) error {
		return o.column(func(weights *tensor.Tensor) error {
			n := &backend.ExpertNetwork{Gate: o.experts, Up: o.experts, Down: o.experts}
			return backend.FusedExperts(b).FeedExperts(o.x, n, o.chosen, weights, o.short, o.short, o.short, o.x)
		})
	}},
	{"NormMatMul", "too few outputs", func(b backend.Backend, o odd) error {
		return backend.Fused(b).NormMatMul(o.x, o.x, epsilon, o.x, []*tensor.Tensor{o.w}, nil)
	}},
	{"NormSwiGLU", "weights of two shapes", func(b backend.Backend, o odd) error {
		return backend.Fused(b).NormSwiGLU(o.short, o.short, epsilon, o.short, o.w, o.w, o.short, o.short)
	}},
	{"Project", "too few outputs", func(b backend.Backend, o odd) error {
		return backend.Projecting(b).Project(o.x, backend.LayerNorm{}, nil, []backend.Linear{{Weight: o.w}}, nil, false)
	}},
	{"Project", "a bias of another length", func(b backend.Backend, o odd) error {
		return backend.Projecting(b).Project(o.x, backend.LayerNorm{}, nil, []backend.Linear{{Weight: o.w, Bias: o.row}}, []*tensor.Tensor{o.short}, false)
	}},
	{"Project", "a norm of another length", func(b backend.Backend, o odd) error {
		return backend.Projecting(b).Project(o.x, backend.LayerNorm{Weight: o.gates}, o.x, []backend.Linear{{Weight: o.w}}, []*tensor.Tensor{o.short}, false)
	}},
	{"Project", "GELU of nothing", func(b backend.Backend, o odd) error {
		return backend.Projecting(b).Project(o.x, backend.LayerNorm{}, nil, nil, nil, true)
	}},
	{"ProjectAdd", "to another shape", func(b backend.Backend, o odd) error {
		return backend.Projecting(b).ProjectAdd(o.x, backend.Linear{Weight: o.w}, o.short, o.x)
	}},
	{"MatMulAdd", "to another shape", func(b backend.Backend, o odd) error { return backend.Fused(b).MatMulAdd(o.x, o.w, o.x, o.x) }},
}

// errAccepted is the error of a mistake that goes unnoticed.
var errAccepted = errors.New("was accepted, and must be an error")

func mistakeChecks() (checks []Check) {
	for _, m := range slices.Concat(mistakes, spoiledMistakes()) {
		checks = append(checks, Check{Operation: "Mistakes", Type: m.operation, Shape: m.what, Input: random.name,
			build: func(g generator) *trial { return m.trial(g) }})
	}
	return checks
}

func (m mistake) trial(g generator) *trial {
	operands := []operand{
		{name: "x", dtype: tensor.F32, dims: []int{2, 64}},
		{name: "short", dtype: tensor.F32, dims: []int{2, 32}},
		{name: "half", dtype: tensor.F16, dims: []int{2, 64}},
		{name: "w", dtype: tensor.Q4_0, dims: []int{32, 64}},
		{name: "q", dtype: tensor.F32, dims: []int{1, 4, 32}},
		{name: "cache", dtype: tensor.F16, dims: []int{5, 2, 32}},
		{name: "wide", dtype: tensor.BF16, dims: []int{5, 2, 32}},
		{name: "k", dtype: tensor.F32, dims: []int{1, 2, 32}},
		{name: "slab", dtype: tensor.F16, dims: []int{3, 2, backend.PageSlots, 32}},
		{name: "row", dtype: tensor.F32, dims: []int{1, 64}},
		{name: "gates", dtype: tensor.F32, dims: []int{1, 4}},
		{name: "state", dtype: tensor.F32, dims: []int{4, 2, 32, 16}},
		{name: "experts", dtype: tensor.Q8_0, dims: []int{4, 32, 64}},
	}
	for i := range operands {
		operands[i].data = g.weights(operands[i].dtype, random, elements(operands[i].dims))
	}
	operands = append(operands, i32("chosen", reading, []int32{1, 3}, 2, 1))
	return &trial{operands: operands, do: func(b backend.Backend, t []*tensor.Tensor) error {
		if m.do(b, odd{t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13]}) == nil {
			return errAccepted
		}
		return nil
	}}
}
