package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// A Tower is made in the steps of Weights: NewTower, Set for each tensor, and then Ready. Encode computes the features of a picture:
//
//	eye.embed     x = patches·weightᵀ + positions                        [patches, hidden]
//	layers        x += attention(norm(x)), without a mask; x += network(norm(x))
//	eye.merge     features of the states of some patches each           [soft tokens, hidden of the model of text]
//
// Pictures have thousands of patches, and nothing is remembered of them: each picture gets its own memory, which lasts until it is encoded. States,
// queries, keys, values and what attention gives are there for all patches; everything else is computed for towerRows of them at a time, so that it stays in
// the processor's caches. A row's bits depend neither on how many rows are computed at a time nor on other pictures.

// towerRows is how many patches the parts of a layer around attention compute at a time.
const towerRows = 512

// Tower is a model that sees, on a device. It does not change once it is ready, and is then safe for concurrent use.
type Tower struct {
	Config *model.Tower
	device backend.Backend
	eye    eye
	layers []towerLayer

	places   map[place]**tensor.Tensor
	tensors  []model.Tensor
	sizes    sizes
	working  atomic.Int64   // the memory of pictures that are being encoded
	finishes []func() error // called when all tensors are set
}

// eye is the part of a kind of tower around the layers.
type eye interface {
	// build registers the places of tensors.
	build(t *Tower)
	// embed computes the states of patches into s.x.
	embed(s *sight, values *pixels.Values) error
	// merge computes features of states.
	merge(s *sight) (*tensor.Tensor, error)
	// order returns the order in which patches are computed.
	order(c *model.Tower) patchOrder
	// deepen computes the k-th of the features that Config.Deepstack asks for.
	deepen(s *sight, k int) (*tensor.Tensor, error)
}

// eyes are the kinds of towers.
var eyes = map[string]func() eye{
	"qwen3vl":   func() eye { return &mergingEye{} },
	"qwen2vl":   func() eye { return &mergingEye{} },
	"qwen2.5vl": func() eye { return &mergingEye{} },
	"glm4v":     func() eye { return &convolvingEye{} },
	"gemma3":    newMeanEye,
	"idefics3":  newJoiningEye,
	"lfm2":      newJoiningEye,
	"pixtral":   newApartEye,
	"gemma4v":   func() eye { return &poolingEye{} },
	"gemma4uv":  func() eye { return &plainEye{} },
}

// NewTower makes a tower without its tensors. It allocates nothing on the device. The error wraps errors.ErrUnsupported. b may be nil: then the tower only
// shows whether the engine has what the configuration asks for.
func NewTower(b backend.Backend, c *model.Tower) (*Tower, error) {
	build := eyes[c.Kind]
	if build == nil {
		return nil, fmt.Errorf("a tower of kind %.60q: %w", c.Kind, fault.ErrUnsupported)
	}
	t := &Tower{Config: c, device: b, eye: build(), layers: make([]towerLayer, c.Layers), places: map[place]**tensor.Tensor{}, tensors: c.Tensors()}
	t.eye.build(t)
	for i := range t.layers {
		t.layers[i].build(t, i)
	}
	for i := range t.tensors {
		if of := &t.tensors[i]; t.at(of) == nil {
			return nil, fmt.Errorf("%v of a tower that has no place for it: %w", of, fault.ErrUnsupported)
		}
	}
	return t, nil
}

// Tensors lists the tensors that the tower has. The caller must not change the list.
func (t *Tower) Tensors() []model.Tensor { return t.tensors }

// Set is Weights.Set for a tensor of the tower.
func (t *Tower) Set(of *model.Tensor, ready *tensor.Tensor, release func()) {
	*t.at(of) = ready
	t.sizes.set.Add(int64(ready.Size()))
	if release != nil {
		t.sizes.mapped.Add(int64(ready.Size()))
	}
}

// Ready is called once when all tensors are set.
func (t *Tower) Ready() error {
	for _, finish := range t.finishes {
		if err := finish(); err != nil {
			return err
		}
	}
	return nil
}

// Usage returns the bytes of the tower's tensors, how many of these lie in mapped files, and the bytes that pictures take which are being encoded.
func (t *Tower) Usage() (weights, mapped, working int64) {
	return t.sizes.set.Load(), t.sizes.mapped.Load(), t.working.Load()
}

// PictureBytes returns about how much memory a picture of some patches takes while it is encoded, its values not counted.
func (t *Tower) PictureBytes(patches int) int64 {
	c := t.Config
	row := c.Patch + 2*c.HiddenSize
	if c.Window > 0 { // values are put in the order of windows
		row += c.Patch
	}
	if c.Layers > 0 {
		row = max(row, c.HiddenSize+4*c.Heads*c.HeadDim+c.HeadDim)
	}
	between := min(patches, towerRows) * (2*c.HiddenSize + 2*c.IntermediateSize)
	merging := patches*3*c.HiddenSize + patches/(c.Merge*c.Merge)*(c.Out+2*c.MergeSize)
	return 4 * int64(patches*row+max(between, merging))
}

// Free gives the memory of the tensors back. Nothing is encoded any more.
func (t *Tower) Free() error {
	var errs []error
	for i := range t.tensors {
		if at := t.at(&t.tensors[i]); *at != nil { // loading may have failed
			t.sizes.set.Add(-int64((*at).Size()))
			errs = append(errs, (*at).Free())
			*at = nil
		}
	}
	t.sizes.mapped.Store(0)
	return errors.Join(errs...)
}

func (t *Tower) at(of *model.Tensor) **tensor.Tensor {
	return t.places[place{of.Part, of.Layer, of.Bias}]
}

// place registers the place of a tensor.
func (t *Tower) place(p model.Part, layer int, at **tensor.Tensor) {
	t.places[place{part: p, layer: layer}] = at
}

// placeNorm registers the places of a norm's tensors.
func (t *Tower) placeNorm(p model.Part, layer int, n *norm) {
	t.place(p, layer, &n.weight)
	t.places[place{p, layer, true}] = &n.bias
	n.eps, n.centred = t.Config.Eps, t.Config.Traits.LayerNorm
}

// placeProjection registers the places of a projection's tensors.
func (t *Tower) placeProjection(p model.Part, layer int, j *projection) {
	j.scale = 1
	t.place(p, layer, &j.weight)
	t.places[place{p, layer, true}] = &j.bias
}

// finish registers a function that is called when all tensors are set.
func (t *Tower) finish(do func() error) { t.finishes = append(t.finishes, do) }

// hostFloats returns the elements of a tensor of float32 on the device.
func (t *Tower) hostFloats(of *tensor.Tensor) ([]float32, error) {
	list := make([]float32, of.Shape().NumElements())
	return list, backend.ReadFloats(t.device, of, list)
}

// Encode computes the features of a picture's values. The context is looked at between the parts of a layer.
func (t *Tower) Encode(ctx context.Context, values *pixels.Values) (f *Features, err error) {
	s, err := t.look(ctx, values)
	if err != nil {
		return nil, fmt.Errorf("memory to encode a picture of %d patches: %w", values.Patches(), err)
	}
	defer s.free()
	f = &Features{}
	defer func() {
		if err != nil {
			f.Free()
			f = nil
		}
	}()
	if err := t.eye.embed(s, values); err != nil {
		return f, err
	}
	for i := range t.layers {
		if err := t.layers[i].forward(s); err != nil {
			return f, layerError(i, err)
		}
		if k := deepAfter(t.Config.Deepstack, i); k >= 0 {
			x, err := t.eye.deepen(s, k)
			if err != nil {
				return f, err
			}
			f.Deep = append(f.Deep, x)
		}
	}
	f.X, err = t.eye.merge(s)
	return f, err
}

// deepAfter returns the number of the features that come from a layer; -1 if there are no such features.
func deepAfter(list []int, layer int) int {
	for k, from := range list {
		if from == layer {
			return k
		}
	}
	return -1
}
