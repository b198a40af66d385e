package checkpoint

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
	"github.com/antigravity-go/antigravity/tensor"
)

// Adapter is the content of a LoRA adapter's files (arXiv 2106.09685): for some matrices of a model, two small ones each. Their product is
// added to the matrix.
type Adapter struct {
	Pairs []AdapterPair // in the order of the model's tensors, at least one
}

// AdapterPair is what an adapter adds to one matrix of a model: Scale·B·A.
type AdapterPair struct {
	Of    Tensor         // the model's matrix [out, in]
	A     AdapterTensor  // [Rank, in]
	B     AdapterTensor  // [out, Rank]; its rows are in the file's order, as those of Of are. Where Of is some rows of a larger matrix, B may be all of that's
	Rows  storage.Within // which rows of B are Of's; the zero value: all
	Rank  int
	Scale float64 // finite, as a float32 too
}

// AdapterTensor is a tensor of an adapter as its file has it.
type AdapterTensor struct {
	Name     string
	DType    tensor.DType // 0 if there is no such type
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

// tensorNames is how an adapter's format calls the model's tensors: t itself, and the larger one that t may be some rows of.
type tensorNames func(t *Tensor) (own string, within *storage.Within)

// joinHalves makes pairs of the halves that were found for matrices of the model, by their names in the adapter's format. The function
// scale returns what a product of a rank is multiplied by, for the matrix of a name, or why the rank is wrong.
func joinHalves(found map[string]*halves, tensors []Tensor, names tensorNames, scale func(name string, rank int) (float64, error)) ([]AdapterPair, error) {
	var pairs []AdapterPair
	used := map[string]bool{}
	for i := range tensors {
		t := &tensors[i]
		if t.Bias {
			continue
		}
		p := AdapterPair{Of: *t}
		name, within := names(t)
		rows := t.Shape[0]
		if whole := found[within.Name]; within.Name != "" && whole.rows() == within.Rows {
			name, rows, p.Rows = within.Name, within.Rows, *within
		}
		h := found[name]
		if h == nil {
			continue
		}
		used[name] = true
		if err := h.fill(&p, name, rows); err != nil {
			return nil, err
		}
		var err error
		if p.Scale, err = scale(name, p.Rank); err != nil {
			return nil, err
		}
		if math.IsNaN(p.Scale) || math.Abs(p.Scale) > math.MaxFloat32 {
			return nil, fmt.Errorf("what the adapter adds to %s is multiplied by %g, which is no number that can be computed with", name, p.Scale)
		}
		pairs = append(pairs, p)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if t := found[name].either(); !used[name] {
			if slices.ContainsFunc(tensors, func(of Tensor) bool { return of.Role == model.Expert && slices.Contains(of.Names(), name) }) {
				return nil, unsupported.Errorf("the tensor %s is for %s; adapters of experts are not implemented, only those of linear layers", t.Name, name)
			}
			return nil, fmt.Errorf("the tensor %s %v is for a matrix %s, which the model does not have", t.Name, t.Shape, name)
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("the adapter has no tensors")
	}
	return pairs, nil
}

// rows returns how many rows B has; -1 if it is no matrix.
func (h *halves) rows() int {
	if h == nil || h.b == nil || len(h.b.Shape) != 2 {
		return -1
	}
	return h.b.Shape[0]
}

// either returns the one that is there.
func (h *halves) either() *AdapterTensor {
	if h.a != nil {
		return h.a
	}
	return h.b
}

// fill checks that both matrices are there, and their shapes: those of the adapter of a matrix with out rows.
func (h *halves) fill(p *AdapterPair, name string, out int) error {
	switch {
	case h.a == nil:
		return fmt.Errorf("the tensor %s is there, but not the A that belongs to it", h.b.Name)
	case h.b == nil:
		return fmt.Errorf("the tensor %s is there, but not the B that belongs to it", h.a.Name)
	case p.Of.Role != model.Linear:
		return unsupported.Errorf("the tensor %s is for %s; adapters of embeddings, the output head and norms are not implemented, only those of linear layers", h.a.Name, name)
	}
	in := p.Of.Shape[1]
	a, b, of := h.a.Shape, h.b.Shape, []int{out, in}
	if len(a) != 2 || a[1] != in || a[0] < 1 {
		return fmt.Errorf("the tensor %s is %v, where the model's %s %v asks for [rank %d]", h.a.Name, a, name, of, in)
	}
	if len(b) != 2 || b[0] != out || b[1] != a[0] {
		return fmt.Errorf("the tensor %s is %v, where the model's %s %v and %s %v ask for %v", h.b.Name, b, name, of, h.a.Name, a, []int{out, a[0]})
	}
	if a[0] > in+out {
		return fmt.Errorf("the tensor %s %v has a rank of %d, more than the model's %s %v has any use for", h.a.Name, a, a[0], name, of)
	}
	p.A, p.B, p.Rank = *h.a, *h.b, a[0]
	return nil
}
