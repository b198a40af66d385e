package engine

import (
	"sync"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// distanceTable is what all layers share of the scores that depend on distances (model.Relative).
type distanceTable struct {
	embedding *tensor.Tensor // [buckets, hidden]; nil: the model has no such table
	norm      norm           // of it
	bias      *tensor.Tensor // [buckets, heads]; nil: the model has no such numbers
	of        []int32        // the buckets of distances: see backend.Relative
}

// build makes the table without its tensors.
func (t *distanceTable) build(w *Weights) {
	r := &w.Config.Relative
	if r.Buckets == 0 {
		return
	}
	w.place(model.RelativeEmbedding, 0, &t.embedding)
	w.place(model.RelativeBias, 0, &t.bias)
	t.norm.build(w, place{part: model.RelativeNorm})
	for d := -w.Config.ContextLength; d <= w.Config.ContextLength; d++ {
		t.of = append(t.of, int32(r.Bucket(d)))
	}
}

// read returns the table's rows, normed, on the host. They are the first stage's, and layers of all stages read them.
func (t *distanceTable) read(b backend.Backend) (*tensor.Tensor, error) {
	x, err := tensor.New(b, tensor.F32, t.embedding.Shape())
	if err != nil {
		return nil, err
	}
	defer x.Free()
	if err := b.Run(backend.Copy(t.embedding, x)); err != nil {
		return nil, err
	}
	if err := t.norm.apply(b, x); err != nil {
		return nil, err
	}
	rows := make([]float32, x.Shape().NumElements())
	if err := backend.ReadFloats(b, x, rows); err != nil {
		return nil, err
	}
	return tensor.FromFloats(rows, x.Shape().Dims()...)
}

// distances are what one layer adds to scores: of the table's rows it makes keys and queries as it does of tokens.
type distances struct {
	weights *Weights
	layer   *attention
	mu      sync.Mutex
	made    *backend.Relative // nil until a pass asks for it
}

// newDistances returns a layer's, or nil if scores depend on no distance.
func newDistances(w *Weights, layer *attention) *distances {
	if w.Config.Relative.Buckets == 0 {
		return nil
	}
	return &distances{weights: w, layer: layer}
}

// forget gives the memory back, if there is any.
func (d *distances) forget() {
	if d == nil || d.made == nil {
		return
	}
	d.layer.q.stage.sizes.set.Add(-d.bytes())
	d.made = nil
}

// bytes returns how much memory is in use.
func (d *distances) bytes() int64 {
	const floatBytes = 4
	return floatBytes * int64(len(d.made.Bias)+len(d.made.Keys)+len(d.made.Queries))
}

// relative returns what the layer adds. It is made once, since it depends on weights alone.
func (d *distances) relative(b backend.Backend) (*backend.Relative, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made != nil {
		return d.made, nil
	}
	t, r := &d.weights.embeddings.distances, &d.weights.Config.Relative
	made := &backend.Relative{Buckets: r.Buckets, Bucket: t.of}
	heads := d.weights.Config.Heads
	var err error
	if t.bias != nil {
		by := make([]float32, r.Buckets*heads)
		if err := backend.ReadFloats(d.weights.list[0].device, t.bias, by); err != nil {
			return nil, err
		}
		made.Bias = turned(by, r.Buckets, heads)
	}
	if t.embedding != nil && r.ToKeys {
		if made.Keys, err = d.project(b, &d.layer.k, 1); err != nil {
			return nil, err
		}
	}
	if t.embedding != nil && r.ToQueries {
		if made.Queries, err = d.project(b, &d.layer.q, d.layer.queryScale); err != nil {
			return nil, err
		}
	}
	d.made = made
	d.layer.q.stage.sizes.set.Add(d.bytes())
	return made, nil
}

// project returns the products of the table's rows with a projection, times scale, by heads: [heads, buckets, headDim].
func (d *distances) project(b backend.Backend, by *projection, scale float32) ([]float32, error) {
	t, c := &d.weights.embeddings.distances, d.weights.Config
	table, err := t.read(d.weights.list[0].device)
	if err != nil {
		return nil, err
	}
	defer table.Free()
	x, err := tensor.New(b, tensor.F32, table.Shape())
	if err != nil {
		return nil, err
	}
	defer x.Free()
	out, err := tensor.New(b, tensor.F32, tensor.ShapeOf(c.Relative.Buckets, by.weight.Shape().Dim(0)))
	if err != nil {
		return nil, err
	}
	defer out.Free()
	ops := []backend.Op{backend.Copy(table, x), &backend.MatMulTransposed{X: x, W: by.weight, Out: out}, &backend.Scale{X: out, By: by.scale}}
	if by.bias != nil {
		ops = append(ops, &backend.AddAssign{A: out, B: by.bias})
	}
	if err := b.Run(append(ops, &backend.Scale{X: out, By: scale})...); err != nil {
		return nil, err
	}
	rows := make([]float32, out.Shape().NumElements())
	if err := backend.ReadFloats(b, out, rows); err != nil {
		return nil, err
	}
	list := make([]float32, 0, len(rows))
	dim := len(rows) / c.Relative.Buckets / c.Heads
	for head := range c.Heads {
		for bucket := range c.Relative.Buckets {
			list = append(list, rows[(bucket*c.Heads+head)*dim:][:dim]...)
		}
	}
	return list, nil
}

// turned returns the transpose of a matrix of some rows and columns.
func turned(x []float32, rows, columns int) []float32 {
	list := make([]float32, 0, len(x))
	for c := range columns {
		for r := range rows {
			list = append(list, x[r*columns+c])
		}
	}
	return list
}
