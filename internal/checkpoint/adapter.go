package checkpoint

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/tensor"
)

// Adapter is what the files of a LoRA adapter hold (arXiv 2106.09685): for each of some matrices of a model, two small ones whose
// product is added to it.
type Adapter struct {
	Pairs []AdapterPair // in the order of the model's tensors, at least one
}

// AdapterPair is what an adapter adds to one matrix of a model: Scale·B·A.
type AdapterPair struct {
	Of    Tensor        // the model's matrix [out, in]
	A     AdapterTensor // [Rank, in]
	B     AdapterTensor // [out, Rank]; its rows are in the file's order, as those of Of are
	Rank  int
	Scale float64 // finite, as a float32 too
}

// AdapterTensor is a tensor of an adapter as its file has it.
type AdapterTensor struct {
	Name     string
	DType    tensor.DType // 0 where there is no such type
	TypeName string       // the file's
	Shape    []int        // outermost dimension first
	Offset   int64        // of Data in the file
	Data     []byte       // a view of the file
}

// halves are the two matrices of a pair, as far as they have been found.
type halves struct{ a, b *AdapterTensor }

// half returns the place of A or B.
func (h *halves) half(isA bool) **AdapterTensor {
	if isA {
		return &h.a
	}
	return &h.b
}

// joinHalves makes pairs of what was found for matrices of the model, by their names in the adapter's format. The function scale
// returns what a product of a rank is multiplied by, or why the rank is wrong.
func joinHalves(found map[string]*halves, tensors []Tensor, name func(t *Tensor) string, scale func(t *Tensor, rank int) (float64, error)) ([]AdapterPair, error) {
	var pairs []AdapterPair
	for i := range tensors {
		t := &tensors[i]
		h := found[name(t)]
		if h == nil {
			continue
		}
		p, err := h.pair(t, name(t))
		if err != nil {
			return nil, err
		}
		if p.Scale, err = scale(t, p.Rank); err != nil {
			return nil, err
		}
		if float := float32(p.Scale); math.IsNaN(p.Scale) || math.IsInf(float64(float), 0) {
			return nil, fmt.Errorf("what the adapter adds to %s is multiplied by %g, which is no number that can be computed with", name(t), p.Scale)
		}
		pairs = append(pairs, p)
		delete(found, name(t))
	}
	for other, h := range found { // each is wrong: any of them will do for the message
		t := h.a
		if t == nil {
			t = h.b
		}
		return nil, fmt.Errorf("the tensor %s %v is for a matrix %s, which the model does not have", t.Name, t.Shape, other)
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("the adapter has no tensors")
	}
	return pairs, nil
}

// pair checks that both matrices are there, and their shapes.
func (h *halves) pair(t *Tensor, name string) (AdapterPair, error) {
	switch {
	case h.a == nil:
		return AdapterPair{}, fmt.Errorf("the tensor %s is there, but not the A that belongs to it", h.b.Name)
	case h.b == nil:
		return AdapterPair{}, fmt.Errorf("the tensor %s is there, but not the B that belongs to it", h.a.Name)
	case t.Role != Linear:
		return AdapterPair{}, unsupported("the tensor %s is for %s; adapters of embeddings, the output head and norms are not implemented, only those of linear layers", h.a.Name, name)
	}
	out, in := t.Shape[0], t.Shape[1]
	a, b := h.a.Shape, h.b.Shape
	if len(a) != 2 || a[1] != in || a[0] < 1 {
		return AdapterPair{}, fmt.Errorf("the tensor %s is %v, where the model's %s %v asks for [rank %d]", h.a.Name, a, name, t.Shape, in)
	}
	rank := a[0]
	if len(b) != 2 || b[0] != out || b[1] != rank {
		return AdapterPair{}, fmt.Errorf("the tensor %s is %v, where the model's %s %v and %s %v ask for %v", h.b.Name, b, name, t.Shape, h.a.Name, a, []int{out, rank})
	}
	if rank > in+out {
		return AdapterPair{}, fmt.Errorf("the tensor %s %v has a rank of %d, more than the model's %s %v has any use for", h.a.Name, a, rank, name, t.Shape)
	}
	return AdapterPair{Of: *t, A: *h.a, B: *h.b, Rank: rank}, nil
}
