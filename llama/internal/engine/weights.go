package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// Weights are made in two steps. NewWeights builds the layers without tensors: each mixer, network and norm registers the places of its
// tensors. Set then puts each tensor in its place. For example, the attention of layer 3 registers place{Query, 3}, and Set of the tensor
// with the Part Query and the Layer 3 stores it there.
//
//	NewWeights   places[place{part: Query, layer: 3}] = {&a.q.weight, the layer's stage}, and with bias: true {&a.q.bias, …}
//	Deliveries   the tensors of each stage, for its device
//	Set          *places[place{part: Query, layer: 3}].at = the tensor on the device
//	NewMemory    for each conversation a cache or a state for each layer
//	Free         when no conversation is left

// Weights are a model's tensors on a device or on several, each in the layer that computes with it, and the memory of the caches that belong to the
// model. They do not change once all tensors are set, and are then safe for concurrent use.
type Weights struct {
	Config *model.Config
	stages

	embeddings embeddings
	beyondLayers
	norm     norm           // after the last layer
	head     *tensor.Tensor // [vocab, hidden]: the embeddings' table if the configuration ties them
	heads    heads
	layers   []layer
	rotaries []rotary

	shapes      []headShape // of attention, for which a pass has memory
	widths      []int       // of dense networks
	normsValues bool        // some layer does
	cacheOf     []int       // for each layer, the layer with the cache that it reads: itself, unless it shares; -1 if it has no mixer
	remembering int         // how many of the first layers there are up to the last one that remembers something

	projections map[place]*projection // the linear maps, by the place of their weight
	tensors     []model.Tensor        // all, in the order of computation
	adapters    atomic.Uint64         // made so far
}

// beyondLayers is what a pass computes around the layers besides embeddings and logits.
type beyondLayers struct {
	inputs   inputs
	streams  streams
	headBias *tensor.Tensor // [vocab], which is added to logits; nil: nothing is
	join     join           // of a head that predicts further tokens
	ahead    *Weights       // the model's head that predicts further tokens; nil: it has no such head, or several devices
}

// place is what a tensor is in a model.
type place struct {
	part  model.Part
	layer int
	bias  bool
}

// NewWeights makes the weights of a model without their tensors, for passes of up to rows rows. It allocates nothing on the devices. The error
// wraps errors.ErrUnsupported. A device may be nil: then the weights only show whether the engine has what the configuration asks for.
func NewWeights(c *model.Config, rows int, shares ...Share) (*Weights, error) {
	w := &Weights{
		Config: c, layers: make([]layer, c.Layers), projections: map[place]*projection{}, tensors: c.Tensors(),
	}
	if err := w.stages.build(shares, c, rows); err != nil {
		return nil, err
	}
	w.cacheOf, w.remembering = cachesOf(c)
	w.embeddings.build(w)
	w.embeddings.distances.build(w)
	w.inputs.build(w)
	w.join.build(w)
	w.streams.buildSplit(w)
	w.building = w.last()
	w.streams.buildMerge(w)
	if err := w.norm.buildAfter(w, place{part: model.OutputNorm}, place{part: model.FeedForwardSumNorm, layer: c.Layers - 1}); err != nil {
		return nil, err
	}
	w.place(model.OutputHead, 0, &w.head)
	w.register(place{model.OutputHead, 0, true}, &w.headBias)
	if err := w.heads.build(w); err != nil {
		return nil, err
	}
	type rotates struct {
		rope    *model.RoPE
		headDim int
	}
	rotaries := map[rotates]int{}
	for i := range w.layers {
		l := c.Layer(i)
		w.normsValues = w.normsValues || l.ValueNorm
		rotary, known := rotaries[rotates{l.RoPE, l.HeadDim}]
		switch {
		case l.RoPE == nil && (l.Mixer == model.TextAttention || l.Mixer == model.NoMixer || l.Mixer.Recurrent()):
			rotary = unrotated
		case !known:
			rotary = len(w.rotaries)
			rotaries[rotates{l.RoPE, l.HeadDim}] = rotary
			w.rotaries = append(w.rotaries, newRotary(l.RoPE, l.HeadDim))
		}
		w.building = w.of[i]
		if err := w.layers[i].build(w, i, &l, rotary); err != nil {
			return nil, err
		}
	}
	w.building = w.last()
	if err := checkScales(w); err != nil {
		return nil, err
	}
	if c.Ahead != nil && len(w.list) == 1 { // it needs the table of embeddings and the output head on one device
		var err error
		if w.ahead, err = NewWeights(c.Ahead, rows, Share{w.device, 1}); err != nil {
			return nil, fmt.Errorf("the head that predicts further tokens: %w", err)
		}
	}
	for i := range w.tensors {
		if t := &w.tensors[i]; w.spot(t).at == nil {
			return nil, fmt.Errorf("%v in a layer that has no place for it: %w", t, fault.ErrUnsupported)
		}
	}
	return w, nil
}

// place registers the place of a tensor.
func (w *Weights) place(p model.Part, layer int, at **tensor.Tensor) {
	w.register(place{part: p, layer: layer}, at)
}

// has reports whether the model has a tensor.
func (w *Weights) has(p place) bool {
	return slices.ContainsFunc(w.tensors, func(t model.Tensor) bool { return p == place{t.Part, t.Layer, t.Bias} })
}

// placeProjection registers the places of a projection's tensors, and numbers it.
func (w *Weights) placeProjection(p model.Part, layer int, at *projection) {
	at.number, at.scale, at.stage = len(w.projections), 1, w.building
	at.rounded = w.Config.Rounding.Rows && p.InLayers()
	if s := w.Config.Scales[model.Place{Part: p, Layer: layer}]; s != 0 {
		at.scale = s
	}
	w.projections[place{part: p, layer: layer}] = at
	w.place(p, layer, &at.weight)
	w.register(place{p, layer, true}, &at.bias)
}

// checkScales refuses scales of tensors that are no projections.
func checkScales(w *Weights) error {
	for i := range w.tensors {
		t := &w.tensors[i]
		scale, scaled := w.Config.Scales[model.Place{Part: t.Part, Layer: t.Layer}]
		if scaled && w.projections[place{part: t.Part, layer: t.Layer}] == nil {
			return fmt.Errorf("%v: the tensor has a scale, %g: %w for such a tensor", t, scale, fault.ErrUnsupported)
		}
	}
	return nil
}

// Tensors lists the tensors that the model has, in the order of computation. The caller must not change the list.
func (w *Weights) Tensors() []model.Tensor { return w.tensors }

// ScaleProducts multiplies the products with a tensor of the model by a number that was found while loading. No pass has begun yet.
func ScaleProducts(w *Weights, t *model.Tensor, by float32) {
	if j := w.projections[place{part: t.Part, layer: t.Layer}]; j != nil {
		j.scale *= by
	}
}

// Projection returns the projection that has a tensor of the model as its weight. The error, which wraps
// errors.ErrUnsupported, says that no adapter can change the products with this tensor.
func (w *Weights) Projection(of *model.Tensor) (to Target, err error) {
	j := w.projections[place{part: of.Part, layer: of.Layer}]
	relative := &w.Config.Relative
	if j == nil || w.Config.Multiplied.Has(of.Part) || (relative.ToKeys || relative.ToQueries) && (of.Part == model.Query || of.Part == model.Key) { // which distances are multiplied by, too
		return to, fmt.Errorf("an adapter of %v: %w beside the weights", of, fault.ErrUnsupported)
	}
	return Target{j.number, j.stage}, nil
}

// NewAdapter makes an adapter that adds nothing yet. Free it before the weights.
func (w *Weights) NewAdapter() *Adapter {
	return &Adapter{weights: w, order: w.adapters.Add(1), deltas: make([]delta, len(w.projections))}
}

// All yields the tensors of the model that are set, and what the device has of them, in the order of computation.
func (w *Weights) All() iter.Seq2[*model.Tensor, *tensor.Tensor] {
	return func(yield func(*model.Tensor, *tensor.Tensor) bool) {
		for i := range w.tensors {
			if t := *w.at(&w.tensors[i]); t != nil && !yield(&w.tensors[i], t) {
				return
			}
		}
	}
}

// LinearType returns the type of a layer's first matrix that activations are multiplied by: of the first layer's query projection in most models.
func (w *Weights) LinearType() tensor.DType {
	for i := range w.tensors {
		if t := &w.tensors[i]; t.Role == model.Linear && t.Part.InLayers() {
			return (*w.at(t)).DType()
		}
	}
	return 0
}

// Recurrent reports whether layers have states of fixed size, so that conversations go back to snapshots only.
func (w *Weights) Recurrent() bool {
	for i := range w.layers {
		if _, is := w.layers[i].mixer.(recurrent); is {
			return true
		}
	}
	return false
}

// Long reports whether conversations of up to capacity tokens have the angles of long ones. It goes by what a conversation may become, so
// that its keys never have to be rotated anew.
func (w *Weights) Long(capacity int) bool {
	return w.Config.RoPE.Long != nil && capacity > w.Config.RoPE.OriginalContext
}

// NewMemory makes an empty memory on the model's devices. It takes hardly any memory before the first token. The memory holds pages of the
// model's store: free it before the Weights.
func (w *Weights) NewMemory(o *MemoryOptions) (*Memory, error) {
	if o.Track != nil && o.Track.Anchors > 0 {
		switch {
		case w.Config.LateNorms:
			return nil, fmt.Errorf("tokens that get new positions, in a model that norms keys after RoPE: %w", fault.ErrUnsupported)
		case w.Config.Positions != 0:
			return nil, fmt.Errorf("tokens that get new positions, in a model that adds learned positions to embeddings: %w", fault.ErrUnsupported)
		}
	}
	m := &Memory{caches: make([]*kvcache.Cache, len(w.layers))}
	if err := m.States.build(w, o); err != nil {
		m.Free()
		return nil, err
	}
	for i := range w.layers {
		if w.cacheOf[i] != i || !w.Config.Layer(i).Mixer.Attends() || o.leavesOut(i) {
			continue
		}
		cache, err := w.newCache(i, o)
		if err == nil {
			m.caches[i] = cache
		} else {
			err = fmt.Errorf("a cache for %d tokens: %w", o.Capacity, err)
		}
		if err == nil && o.Track != nil && cache.Window() == 0 {
			if err = cache.Track(*o.Track, w.Config.Heads, w.rotation(i, o.Long)); err != nil {
				err = fmt.Errorf("a cache for the eviction policy %s: %w", o.Policy, err)
			}
		}
		if err != nil {
			m.Free()
			return nil, err
		}
	}
	m.findWhole()
	return m, nil
}

// cachesOf returns for each layer the layer that has the cache it reads, -1 if it remembers nothing, and the number of layers up to the last one that remembers something.
func cachesOf(c *model.Config) (cacheOf []int, remembering int) {
	cacheOf = make([]int, c.Layers)
	for i := range cacheOf {
		is := c.Layer(i)
		switch is.Mixer {
		case model.SharedAttention:
			cacheOf[i] = cacheOf[is.Source]
			continue
		case model.NoMixer:
			cacheOf[i] = -1
			continue
		}
		cacheOf[i], remembering = i, i+1
	}
	return cacheOf, remembering
}

// newCache makes an empty cache of a layer.
func (w *Weights) newCache(layer int, o *MemoryOptions) (*kvcache.Cache, error) {
	is := w.Config.Layer(layer)
	beyond := backend.Attention{Window: is.Window, Cap: float32(is.ScoreCap)}
	if a := attentionOf(w.layers[layer].mixer); a != nil {
		beyond.Sinks = a.sinks
	}
	return w.of[layer].store.NewLayer(kvcache.Layer{KVHeads: is.KVHeads, HeadDim: is.HeadDim, Kind: w.cacheKind(layer, &is), Latent: is.Mixer == model.LatentAttention, Attention: beyond}, o.KV, o.Capacity)
}

// attentionOf returns the attention that appends to a cache, or nil for another mixer.
func attentionOf(mixer sublayer) *attention {
	switch m := mixer.(type) {
	case *attention:
		return m
	case *latentAttention:
		return &m.attention
	case *attentionAndScan:
		return &m.attention
	case *bypass:
		return attentionOf(m.mixer)
	}
	return nil
}

// rotation is a layer's RoPE for one position; see kvcache.Rotation.
func (w *Weights) rotation(layer int, long bool) kvcache.Rotation {
	a := attentionOf(w.layers[layer].mixer)
	if a == nil {
		return nil
	}
	r := &w.rotaries[a.rotary]
	return func(row []float32, position int) { r.table(row, nil, position, long) }
}

// Free gives the memory of the tensors and of the caches' store back. No pass is under way, and no Memory or Adapter is left.
func (w *Weights) Free() error {
	var errs []error
	if w.ahead != nil {
		errs = append(errs, w.ahead.Free())
	}
	for _, s := range w.list {
		errs = append(errs, s.store.Free())
	}
	if w.Config.TiedEmbeddings {
		if w.head != nil && w.head != w.embeddings.tokens { // a copy on another device
			w.last().sizes.set.Add(-int64(w.head.Size()))
			errs = append(errs, w.head.Free())
		}
		w.head = nil
	}
	for i := range w.tensors { // the backend may outlive the model
		s := w.spot(&w.tensors[i])
		if *s.at == nil { // loading may have failed
			continue
		}
		s.stage.sizes.set.Add(-int64((*s.at).Size()))
		errs = append(errs, (*s.at).Free())
		*s.at = nil
	}
	for _, s := range w.list {
		s.sizes.mapped.Store(0)
	}
	for i := range w.layers {
		if a, ok := w.layers[i].mixer.(*textAttention); ok {
			a.distances.forget()
		}
	}
	return errors.Join(errs...)
}

// Hash adds to h what differs between models, without their heads that predict further tokens: the type, the shape and three rows of every matrix, as floats that the device gives for them. The
// rows are the first, the last, and one at a third of them.
func (w *Weights) Hash(h hash.Hash) error {
	err := hashRows(w.list[0].device, h, w.embeddings.tokens)
	if err == nil {
		err = hashRows(w.device, h, w.head)
	}
	for i := range w.tensors {
		if err != nil {
			return err
		}
		t := &w.tensors[i]
		s := w.spot(t)
		switch m := *s.at; {
		case t.Role == model.Linear:
			err = hashRows(s.stage.device, h, m)
		case t.Role == model.Expert && !t.Bias:
			var rows *tensor.Tensor
			if rows, err = m.Reshape(m.Shape().Rows(), m.Shape().Dim(-1)); err == nil {
				err = hashRows(s.stage.device, h, rows)
			}
		}
	}
	return err
}

// hashRows is Hash for one matrix.
func hashRows(d backend.Backend, h hash.Hash, m *tensor.Tensor) error {
	rows, cols := m.Shape().Dim(0), m.Shape().Dim(1)
	indices := []int32{0, int32(rows / 3), int32(rows - 1)}
	out, err := tensor.New(d, tensor.F32, tensor.ShapeOf(len(indices), cols))
	if err != nil {
		return err
	}
	defer out.Free()
	if err := d.Run(&backend.Gather{Table: m, Indices: indices, Out: out}); err != nil {
		return err
	}
	bytes := make([]byte, out.Size())
	if err := d.ReadBuffer(out, bytes); err != nil {
		return err
	}
	fmt.Fprintf(h, "%v %v\n", m.DType(), m.Shape())
	h.Write(bytes)
	return nil
}

// hashedBytes bounds the floats that Digest has of a matrix at once, on each goroutine.
const hashedBytes = 1 << 20

// Digest returns a SHA-256 of a model: of every element of every tensor, as floats that the device gives for them, with its name among the model's parts, its
// type and its shape. Each tensor has a sum of its own, which several goroutines compute, and the digest is the sum of these. The context is looked at
// between rows.
func Digest(ctx context.Context, w *Weights) (sum [sha256.Size]byte, err error) {
	sums := make([][sha256.Size]byte, len(w.tensors))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, min(runtime.GOMAXPROCS(0), 8)))
	for i := range w.tensors {
		group.Go(func() (err error) {
			defer mmap.Catch(&err)()
			of := &w.tensors[i]
			if s := w.spot(of); *s.at != nil {
				if err := digestOf(ctx, s.stage.device, *s.at, &sums[i]); err != nil {
					return fmt.Errorf("%v: %w", of, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return sum, err
	}
	h := sha256.New()
	for i := range w.tensors {
		fmt.Fprintf(h, "%v\n%x\n", &w.tensors[i], sums[i])
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// digestOf is Digest for one tensor, as a matrix of its rows.
func digestOf(ctx context.Context, d backend.Backend, t *tensor.Tensor, sum *[sha256.Size]byte) error {
	rows, cols := t.Shape().Rows(), t.Shape().Dim(-1)
	matrix, err := t.Reshape(rows, cols)
	if err != nil {
		return err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%v %v\n", t.DType(), t.Shape())
	most := min(max(hashedBytes/(4*cols), 1), rows)
	out, err := tensor.New(d, tensor.F32, tensor.ShapeOf(most, cols))
	if err != nil {
		return err
	}
	defer out.Free()
	bytes, indices := make([]byte, out.Size()), make([]int32, most)
	for at := 0; at < rows; at += most {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := range indices {
			indices[i] = int32(min(at+i, rows-1))
		}
		if err := d.Run(&backend.Gather{Table: matrix, Indices: indices, Out: out}); err != nil {
			return err
		}
		if err := d.ReadBuffer(out, bytes); err != nil {
			return err
		}
		h.Write(bytes[:4*cols*min(most, rows-at)])
	}
	h.Sum(sum[:0])
	return nil
}
