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
			mistake{"RoPEStore", c.what, func(b backend.Backend, o odd) error { return b.Run(&backend.RoPEStore{K: o.k, V: o.k, Runs: spoil(o)}) }},
			mistake{"Attend", c.what, func(b backend.Backend, o odd) error { return b.Run(&backend.Attend{Q: o.q, Out: o.q, Runs: spoil(o)}) }},
			mistake{"AccumulateAttention", c.what, func(b backend.Backend, o odd) error {
				sums, err := tensor.New(b, tensor.F32, tensor.ShapeOf(2, 1000))
				if err != nil {
					return nil // which the check takes for a failure
				}
				defer sums.Free()
				return b.Run(&backend.AccumulateAttention{Q: o.q, Sums: sums, Run: spoil(o)[0]})
			}},
		)
	}
	return list
}

var mistakes = []mistake{
	{"MatMul", "shapes that do not fit", func(b backend.Backend, o odd) error { return b.Run(&backend.MatMul{A: o.x, B: o.short, Out: o.x}) }},
	{"MatMulTransposed", "to another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.MatMulTransposed{X: o.x, W: o.w, Out: o.x})
	}},
	{"MatMulRounded", "to another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.MatMulRounded{X: o.x, Ws: []*tensor.Tensor{o.w}, Outs: []*tensor.Tensor{o.x}})
	}},
	{"MatMulRounded", "too few outputs", func(b backend.Backend, o odd) error {
		return b.Run(&backend.MatMulRounded{X: o.x, Ws: []*tensor.Tensor{o.w}})
	}},
	{"MatMulTransposed", "other lengths", func(b backend.Backend, o odd) error {
		return b.Run(&backend.MatMulTransposed{X: o.short, W: o.w, Out: o.short})
	}},
	{"MatMulTransposed", "f16 activations", func(b backend.Backend, o odd) error {
		return b.Run(&backend.MatMulTransposed{X: o.half, W: o.w, Out: o.short})
	}},
	{"AddAssign", "two shapes", func(b backend.Backend, o odd) error { return b.Run(&backend.AddAssign{A: o.x, B: o.short}) }},
	{"AddAssign", "f16", func(b backend.Backend, o odd) error { return b.Run(&backend.AddAssign{A: o.half, B: o.half}) }},
	{"Scale", "f16", func(b backend.Backend, o odd) error { return b.Run(&backend.Scale{X: o.half, By: 2}) }},
	{"SiLUMul", "two shapes", func(b backend.Backend, o odd) error { return b.Run(&backend.SiLUMul{A: o.x, B: o.short}) }},
	{"SiLUMul", "f16 alone", func(b backend.Backend, o odd) error { return b.Run(&backend.SiLUMul{A: o.half}) }},
	{"SigmoidMul", "two shapes", func(b backend.Backend, o odd) error { return b.Run(&backend.SigmoidMul{A: o.x, B: o.short}) }},
	{"MulAssign", "two shapes", func(b backend.Backend, o odd) error { return b.Run(&backend.MulAssign{A: o.x, B: o.short}) }},
	{"MulAssign", "f16", func(b backend.Backend, o odd) error { return b.Run(&backend.MulAssign{A: o.half, B: o.half}) }},
	{"Softplus", "a bias of another length", func(b backend.Backend, o odd) error { return b.Run(&backend.Softplus{A: o.x, Bias: o.q}) }},
	{"Softplus", "f16", func(b backend.Backend, o odd) error { return b.Run(&backend.Softplus{A: o.half}) }},
	{"Clamp", "two shapes", func(b backend.Backend, o odd) error { return b.Run(&backend.Clamp{X: o.x, Out: o.short, Max: 1}) }},
	{"Clamp", "to nothing", func(b backend.Backend, o odd) error { return b.Run(&backend.Clamp{X: o.x, Out: o.x, Min: 1}) }},
	{"Softcap", "f16", func(b backend.Backend, o odd) error { return b.Run(&backend.Softcap{X: o.half, Limit: 30}) }},
	{"Softcap", "to nothing", func(b backend.Backend, o odd) error { return b.Run(&backend.Softcap{X: o.x, Limit: 0}) }},
	{"GELUMul", "two shapes", func(b backend.Backend, o odd) error { return b.Run(&backend.GELUMul{A: o.x, B: o.short}) }},
	{"GELUErf", "two shapes", func(b backend.Backend, o odd) error { return b.Run(&backend.GELUErf{A: o.x, B: o.short}) }},
	{"GELUErf", "f16", func(b backend.Backend, o odd) error { return b.Run(&backend.GELUErf{A: o.half}) }},
	{"ReLUSquared", "f16", func(b backend.Backend, o odd) error { return b.Run(&backend.ReLUSquared{A: o.half}) }},
	{"AddScaled", "two shapes", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AddScaled{X: o.x, Y: o.short, Weights: o.x})
	}},
	{"AddScaled", "no such number", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AddScaled{X: o.x, Y: o.x, Weights: o.x, At: 64})
	}},
	{"MatchMagnitude", "two shapes", func(b backend.Backend, o odd) error {
		return b.Run(&backend.MatchMagnitude{X: o.x, Like: o.short, Least: 1})
	}},
	{"CutOff", "f16", func(b backend.Backend, o odd) error { return b.Run(&backend.CutOff{A: o.half}) }},
	{"XIELU", "f16", func(b backend.Backend, o odd) error { return b.Run(&backend.XIELU{A: o.half}) }},
	{"LayerNorm", "weights of another length", func(b backend.Backend, o odd) error { return b.Run(&backend.LayerNorm{X: o.x, W: o.q, Eps: epsilon}) }},
	{"LayerNorm", "biases of another length", func(b backend.Backend, o odd) error {
		return b.Run(&backend.LayerNorm{X: o.q, W: o.k, B: o.x, Eps: epsilon})
	}},
	{"AttendTexts", "to another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AttendTexts{Q: o.q, K: o.k, V: o.k, Out: o.k, Texts: []int{1}, Reach: 0})
	}},
	{"AttendTexts", "values of another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AttendTexts{Q: o.q, K: o.k, V: o.q, Out: o.q, Texts: []int{1}, Reach: 0})
	}},
	{"AttendTexts", "too many rows", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AttendTexts{Q: o.q, K: o.k, V: o.k, Out: o.q, Texts: []int{2}, Reach: 0})
	}},
	{"AttendTexts", "too few rows", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AttendTexts{Q: o.q, K: o.k, V: o.k, Out: o.q, Reach: 0})
	}},
	{"AttendTexts", "a text without rows", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AttendTexts{Q: o.q, K: o.k, V: o.k, Out: o.q, Texts: []int{0, 1}, Reach: 0})
	}},
	{"AttendTexts", "more rows seen than there are", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AttendTexts{Q: o.q, K: o.k, V: o.k, Out: o.q, Texts: []int{1}, Seen: []int{2}})
	}},
	{"AttendTexts", "rows seen of no text", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AttendTexts{Q: o.q, K: o.k, V: o.k, Out: o.q, Texts: []int{1}, Seen: []int{1, 1}})
	}},
	{"AttendTexts", "a negative reach", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AttendTexts{Q: o.q, K: o.k, V: o.k, Out: o.q, Texts: []int{1}, Reach: -1})
	}},
	{"Convolve", "weights of other channels", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Convolve{X: o.x, W: o.short, Out: o.x, Of: o.stretches(2, o.x)})
	}},
	{"Convolve", "a state of another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Convolve{X: o.x, W: o.x, Out: o.x, Of: o.stretches(2, o.x)})
	}},
	{"Convolve", "a bias of another length", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Convolve{X: o.x, W: o.x, B: o.x, Out: o.x, Of: o.stretches(2, o.row)})
	}},
	{"Convolve", "too few rows", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Convolve{X: o.x, W: o.x, Out: o.x, Of: o.stretches(1, o.row)})
	}},
	{"Convolve", "too many rows", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Convolve{X: o.x, W: o.x, Out: o.x, Of: o.stretches(3, o.row)})
	}},
	{"Convolve", "a stretch without rows", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Convolve{X: o.x, W: o.x, Out: o.x, Of: append(o.stretches(0, o.row), o.stretches(2, o.row)...)})
	}},
	{"Convolve", "a stretch without a state", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Convolve{X: o.x, W: o.x, Out: o.x, Of: o.stretches(2, nil)})
	}},
	{"Convolve", "a width of 1", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Convolve{X: o.x, W: o.row, Out: o.x, Of: o.stretches(2, o.row)})
	}},
	{"Recur", "a state of another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Recur{Q: o.k, K: o.k, V: o.q, G: o.gates, Beta: o.gates, Out: o.q, Delta: true, Of: o.stretches(1, o.x)})
	}},
	{"Recur", "keys and queries of two shapes", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Recur{Q: o.q, K: o.k, V: o.q, G: o.gates, Beta: o.gates, Out: o.q, Delta: true, Of: o.stretches(1, o.state)})
	}},
	{"Recur", "to another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Recur{Q: o.k, K: o.k, V: o.q, G: o.gates, Beta: o.gates, Out: o.k, Delta: true, Of: o.stretches(1, o.state)})
	}},
	{"Recur", "gates of other heads", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Recur{Q: o.k, K: o.k, V: o.q, G: o.x, Beta: o.x, Out: o.q, Delta: true, Of: o.stretches(1, o.state)})
	}},
	{"Recur", "more key heads than heads", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Recur{Q: o.q, K: o.q, V: o.k, G: o.gates, Beta: o.gates, Out: o.k, Delta: true, Of: o.stretches(1, o.state)})
	}},
	{"Recur", "no stretches", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Recur{Q: o.k, K: o.k, V: o.q, G: o.gates, Beta: o.gates, Out: o.q, Delta: true})
	}},
	{"RMSNorm", "weights of another length", func(b backend.Backend, o odd) error { return b.Run(&backend.RMSNorm{X: o.x, W: o.q, Eps: epsilon}) }},
	{"Softmax", "f16", func(b backend.Backend, o odd) error { return b.Run(&backend.Softmax{X: o.half}) }},
	{"RoPE", "two dimensions", func(b backend.Backend, o odd) error { return b.Run(&backend.RoPE{X: o.x, Table: o.x}) }},
	{"RoPE", "a table of other tokens", func(b backend.Backend, o odd) error { return b.Run(&backend.RoPE{X: o.q, Table: o.short}) }},
	{"RoPEStore", "no slots", func(b backend.Backend, o odd) error {
		return b.Run(&backend.RoPEStore{K: o.k, V: o.k, Runs: make([]backend.Run, 1)})
	}},
	{"RoPEStore", "no runs", func(b backend.Backend, o odd) error { return b.Run(&backend.RoPEStore{K: o.k, V: o.k}) }},
	{"RoPEStore", "a run of no tokens", func(b backend.Backend, o odd) error {
		return b.Run(&backend.RoPEStore{K: o.k, V: o.k, Runs: append([]backend.Run{{Slots: o.slots(1)}}, o.runs(1, nil)...)})
	}},
	{"RoPEStore", "too many tokens", func(b backend.Backend, o odd) error {
		return b.Run(&backend.RoPEStore{K: o.k, V: o.k, Runs: append(o.runs(1, nil), o.runs(1, nil)...)})
	}},
	{"RoPEStore", "keys of other heads than the cache's", func(b backend.Backend, o odd) error {
		return b.Run(&backend.RoPEStore{K: o.q, V: o.q, Runs: o.runs(1, nil)})
	}},
	{"RoPEStore", "values of another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.RoPEStore{K: o.k, V: o.q, Runs: o.runs(1, nil)})
	}},
	{"RoPEStore", "f16 keys", func(b backend.Backend, o odd) error {
		return b.Run(&backend.RoPEStore{K: o.cache, V: o.cache, Runs: o.runs(5, nil)})
	}},
	{"RoPEStore", "a table of other tokens", func(b backend.Backend, o odd) error {
		return b.Run(&backend.RoPEStore{Q: o.q, K: o.k, V: o.k, Table: o.short, Runs: o.runs(1, nil)})
	}},
	{"RoPEStore", "a table without queries", func(b backend.Backend, o odd) error {
		return b.Run(&backend.RoPEStore{K: o.k, V: o.k, Table: o.short, Runs: o.runs(1, nil)})
	}},
	{"Attend", "to another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Attend{Q: o.q, Out: o.k, Runs: o.runs(1, nil)})
	}},
	{"Attend", "two dimensions", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Attend{Q: o.short, Out: o.short, Runs: o.runs(2, nil)})
	}},
	{"Attend", "too few tokens", func(b backend.Backend, o odd) error { return b.Run(&backend.Attend{Q: o.q, Out: o.q}) }},
	{"AccumulateAttention", "too few sums", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AccumulateAttention{Q: o.q, Sums: o.short, Run: o.runs(33, nil)[0]})
	}},
	{"AccumulateAttention", "sums of other heads", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AccumulateAttention{Q: o.q, Sums: o.w, Run: o.runs(3, nil)[0]})
	}},
	{"Compact", "slots out of order", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Compact{Slots: o.slots(5), Keep: [][]int32{{1, 0}, {0, 1}}})
	}},
	{"Compact", "a slot twice", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Compact{Slots: o.slots(5), Keep: [][]int32{{0, 1}, {1, 1}}})
	}},
	{"Compact", "beyond the slots", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Compact{Slots: o.slots(5), Keep: [][]int32{{0}, {5}}})
	}},
	{"Compact", "a negative slot", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Compact{Slots: o.slots(5), Keep: [][]int32{{-1}, {0}}})
	}},
	{"Compact", "a list too few", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Compact{Slots: o.slots(5), Keep: [][]int32{{0}}})
	}},
	{"Compact", "slots without pages", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Compact{Slots: o.slots(500), Keep: [][]int32{{400}, {}}})
	}},
	{"Compact", "no slots", func(b backend.Backend, o odd) error { return b.Run(&backend.Compact{}) }},
	{"CopyPage", "behind the slab", func(b backend.Backend, o odd) error {
		return b.Run(&backend.CopyPage{From: backend.Page{Slab: o.slab}, To: backend.Page{Slab: o.slab, Index: 3}})
	}},
	{"CopyPage", "of what is no slab", func(b backend.Backend, o odd) error {
		return b.Run(&backend.CopyPage{From: backend.Page{Slab: o.cache}, To: backend.Page{Slab: o.slab}})
	}},
	{"CopyPage", "without a slab", func(b backend.Backend, o odd) error {
		return b.Run(&backend.CopyPage{From: backend.Page{}, To: backend.Page{Slab: o.slab}})
	}},
	{"ReadSlots", "of a head that is not there", func(b backend.Backend, o odd) error {
		return b.Run(&backend.ReadSlots{Slots: o.slots(5), Head: 2, First: 0, Keys: o.short})
	}},
	{"ReadSlots", "behind the pages", func(b backend.Backend, o odd) error {
		return b.Run(&backend.ReadSlots{Slots: o.slots(5), Head: 0, First: 127, Keys: o.short})
	}},
	{"ReadSlots", "from a negative slot on", func(b backend.Backend, o odd) error {
		return b.Run(&backend.ReadSlots{Slots: o.slots(5), Head: 0, First: -1, Keys: o.short})
	}},
	{"ReadSlots", "to rows of another length", func(b backend.Backend, o odd) error {
		return b.Run(&backend.ReadSlots{Slots: o.slots(5), Head: 0, First: 0, Keys: o.x})
	}},
	{"ReadSlots", "to another type", func(b backend.Backend, o odd) error {
		return b.Run(&backend.ReadSlots{Slots: o.slots(5), Head: 0, First: 0, Values: o.wide})
	}},
	{"WriteSlots", "behind the pages", func(b backend.Backend, o odd) error {
		return b.Run(&backend.WriteSlots{Slots: o.slots(5), Head: 1, First: 127, Values: o.short})
	}},
	{"WriteSlots", "keys and values of two shapes", func(b backend.Backend, o odd) error {
		return b.Run(&backend.WriteSlots{Slots: o.slots(5), Head: 1, First: 0, Keys: o.short, Values: o.x})
	}},
	{"Gather", "a negative row", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Gather{Table: o.w, Indices: []int32{-1, 0}, Out: o.x})
	}},
	{"Gather", "beyond the rows", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Gather{Table: o.w, Indices: []int32{0, 32}, Out: o.x})
	}},
	{"CopySlice", "beyond the end", func(b backend.Backend, o odd) error {
		return b.Run(&backend.CopySlice{Src: o.x, Dst: o.x, To: 1, N: 128})
	}},
	{"CopySlice", "two types", func(b backend.Backend, o odd) error { return b.Run(&backend.CopySlice{Src: o.x, Dst: o.half, N: 1}) }},
	{"CopySlice", "half a block", func(b backend.Backend, o odd) error {
		return b.Run(&backend.CopySlice{Src: o.w, Dst: o.w, From: 16, N: 16})
	}},
	{"ReadBuffer", "of another size", func(b backend.Backend, o odd) error { return b.ReadBuffer(o.x, make([]byte, 3)) }},
	{"Cast", "to another shape", func(b backend.Backend, o odd) error { return b.Run(&backend.Cast{Src: o.x, Dst: o.short}) }},
	{"Largest", "more than there are", func(b backend.Backend, o odd) error {
		row, err := o.x.Slice(0, 1)
		if err != nil {
			return nil // which the check takes for a failure
		}
		return b.Run(&backend.Largest{X: row, Indices: make([]int32, 65), Values: make([]float32, 65)})
	}},
	{"Largest", "not as many of each row", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Largest{X: o.x, Indices: make([]int32, 3), Values: make([]float32, 3)})
	}},
	{"Largest", "too few values", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Largest{X: o.x, Indices: make([]int32, 4), Values: make([]float32, 2)})
	}},
	{"Mask", "words of one row for two", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Mask{X: o.x, Allowed: make([]uint64, 1)})
	}},
	{"Mask", "of another type", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Mask{X: o.half, Allowed: make([]uint64, 2)})
	}},
	{"Route", "to choices of f32", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Route{Logits: o.x, Routing: backend.Routing{}, Chosen: o.short, Weights: o.short})
	}},
	{"Route", "to weights of another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Route{Logits: o.x, Routing: backend.Routing{}, Chosen: o.chosen, Weights: o.short})
	}},
	{"Route", "by scores that there are not", func(b backend.Backend, o odd) error {
		return o.column(func(weights *tensor.Tensor) error {
			return b.Run(&backend.Route{Logits: o.x, Routing: backend.Routing{Scores: 3}, Chosen: o.chosen, Weights: weights})
		})
	}},
	{"Route", "with a bias of another length", func(b backend.Backend, o odd) error {
		return o.column(func(weights *tensor.Tensor) error {
			return b.Run(&backend.Route{Logits: o.x, Routing: backend.Routing{Bias: o.q}, Chosen: o.chosen, Weights: weights})
		})
	}},
	{"MatMulExperts", "without experts", func(b backend.Backend, o odd) error {
		return b.Run(&backend.MatMulExperts{X: o.x, W: o.w, Chosen: o.chosen, Out: o.short})
	}},
	{"MatMulExperts", "to another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.MatMulExperts{X: o.x, W: o.experts, Chosen: o.chosen, Out: o.x})
	}},
	{"MatMulExperts", "choices of f32", func(b backend.Backend, o odd) error {
		return b.Run(&backend.MatMulExperts{X: o.x, W: o.experts, Chosen: o.x, Out: o.short})
	}},
	{"MatMulExperts", "rows of another length", func(b backend.Backend, o odd) error {
		return b.Run(&backend.MatMulExperts{X: o.short, W: o.experts, Chosen: o.chosen, Out: o.short})
	}},
	{"AddExpertBias", "of another length", func(b backend.Backend, o odd) error {
		return b.Run(&backend.AddExpertBias{Out: o.x, Bias: o.short, Chosen: o.chosen})
	}},
	{"SumExperts", "of other rows", func(b backend.Backend, o odd) error {
		return b.Run(&backend.SumExperts{Y: o.x, Weights: o.short, Out: o.x})
	}},
	{"SwiGLUClamped", "two shapes", func(b backend.Backend, o odd) error {
		return b.Run(&backend.SwiGLUClamped{A: o.x, B: o.short, Limit: 7})
	}},
	{"SwiGLUClamped", "to nothing", func(b backend.Backend, o odd) error { return b.Run(&backend.SwiGLUClamped{A: o.x, B: o.x, Limit: 0}) }},
	{"FeedExperts", "weights of two shapes", func(b backend.Backend, o odd) error {
		return o.column(func(weights *tensor.Tensor) error {
			n := backend.ExpertNetwork{Gate: o.experts, Up: o.experts, Down: o.experts}
			return b.Run(&backend.FeedExperts{X: o.x, Network: n, Chosen: o.chosen, Weights: weights, Gate: o.short, Up: o.short, Down: o.short, Out: o.x})
		})
	}},
	{"NormMatMul", "too few outputs", func(b backend.Backend, o odd) error {
		return b.Run(&backend.NormMatMul{X: o.x, Norm: o.x, Eps: epsilon, Normed: o.x, Ws: []*tensor.Tensor{o.w}})
	}},
	{"NormSwiGLU", "weights of two shapes", func(b backend.Backend, o odd) error {
		return b.Run(&backend.NormSwiGLU{X: o.short, Norm: o.short, Eps: epsilon, Normed: o.short, Gate: o.w, Up: o.w, Product: o.short, Out: o.short})
	}},
	{"Project", "too few outputs", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Project{X: o.x, Maps: []backend.Linear{{Weight: o.w}}})
	}},
	{"Project", "a bias of another length", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Project{X: o.x, Maps: []backend.Linear{{Weight: o.w, Bias: o.row}}, Outs: []*tensor.Tensor{o.short}})
	}},
	{"Project", "a norm of another length", func(b backend.Backend, o odd) error {
		return b.Run(&backend.Project{X: o.x, Norm: o.gates, Normed: o.x, Maps: []backend.Linear{{Weight: o.w}}, Outs: []*tensor.Tensor{o.short}})
	}},
	{"Project", "GELU of nothing", func(b backend.Backend, o odd) error { return b.Run(&backend.Project{X: o.x, GELU: true}) }},
	{"MatMulAdd", "a bias of another length", func(b backend.Backend, o odd) error {
		return b.Run(&backend.MatMulAdd{X: o.x, W: o.w, Bias: o.row, Product: o.short, Out: o.short})
	}},
	{"RMSNorm", "to another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.RMSNorm{X: o.x, W: o.row, Eps: epsilon, Out: o.short})
	}},
	{"LayerNorm", "without weights", func(b backend.Backend, o odd) error { return b.Run(&backend.LayerNorm{X: o.x, Eps: epsilon}) }},
	{"MatMulAdd", "to another shape", func(b backend.Backend, o odd) error {
		return b.Run(&backend.MatMulAdd{X: o.x, W: o.w, Product: o.x, Out: o.x})
	}},
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
