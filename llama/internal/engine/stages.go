package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// Several devices may compute a model, one after the other. Each has a stage: some consecutive layers, with their weights, their caches, and a pass's
// memory. At the end of a stage the rows of the residual stream go through the host's memory to the next device. For example, 32 layers:
//
//	stage 0   the processor: embeddings, and layers 0 to 19
//	          x [rows, hidden] is read from the processor, and copied to the GPU
//	stage 1   a GPU: layers 20 to 31, the final norm, the output head, and the logits
//
// No operation is divided between devices, so that the order of additions, and with it each bit, is that of one device. Layers that read the cache
// of an earlier layer are in its stage: see MayCut.

// Share is a device, and how many of a model's layers it computes.
type Share struct {
	Device backend.Backend
	Layers int
}

// stage is a device's share of a model.
type stage struct {
	number     int
	device     backend.Backend
	store      *kvcache.Store // of all conversations' caches of its layers
	first, end int            // its layers: first, first+1, … end-1
	sizes      sizes          // of its tensors
}

// stages are a model's stages in their order. Invariant: each layer is in one stage, and each stage has a layer.
type stages struct {
	list     []*stage
	device   backend.Backend // of the last stage, which computes logits
	of       []*stage        // by layers
	building *stage          // the stage that gets the tensors which are being registered; see register
	places   map[place]spot  // of all tensors
}

// MayCut reports whether a stage may begin with a layer, from 1 on: no layer from there on reads the cache of one before it.
func MayCut(c *model.Config, layer int) bool {
	cacheOf, _ := cachesOf(c)
	return !slices.ContainsFunc(cacheOf[layer:], func(cache int) bool { return cache >= 0 && cache < layer })
}

// build makes stages of shares, which have all layers of a model. Passes have up to rows rows.
func (s *stages) build(shares []Share, c *model.Config, rows int) error {
	s.places = map[place]spot{}
	first := 0
	for _, share := range shares {
		if share.Layers < 1 || first+share.Layers > c.Layers || first > 0 && !MayCut(c, first) {
			return fmt.Errorf("engine: a stage of layers %d to %d of %d", first, first+share.Layers-1, c.Layers)
		}
		made := &stage{
			number: len(s.list), device: share.Device, store: kvcache.NewStore(share.Device, rows, c.Heads, c.KVHeads, c.HeadDim), first: first, end: first + share.Layers,
		}
		s.list = append(s.list, made)
		s.of = append(s.of, slices.Repeat([]*stage{made}, share.Layers)...)
		first = made.end
	}
	if first != c.Layers {
		return fmt.Errorf("engine: stages of %d layers of %d", first, c.Layers)
	}
	s.device, s.building = s.last().device, s.list[0]
	return nil
}

// last returns the stage with the final norm and the output head.
func (s *stages) last() *stage { return s.list[len(s.list)-1] }

// devices lists the stages' devices.
func (s *stages) devices() (list []backend.Backend) {
	for _, of := range s.list {
		list = append(list, of.device)
	}
	return list
}

// synchronize waits for all devices.
func (s *stages) synchronize() error {
	var errs []error
	for _, of := range s.list {
		errs = append(errs, of.device.Synchronize())
	}
	return errors.Join(errs...)
}

// spot is the place of a tensor in memory, and its stage.
type spot struct {
	at    **tensor.Tensor
	stage *stage
}

// register notes the memory of a place. Its tensor goes to the stage that is being built.
func (s *stages) register(p place, at **tensor.Tensor) { s.places[p] = spot{at, s.building} }

// spot returns the spot of a tensor of the model.
func (s *stages) spot(t *model.Tensor) spot { return s.places[place{t.Part, t.Layer, t.Bias}] }

// at returns the place of a tensor of the model.
func (s *stages) at(t *model.Tensor) **tensor.Tensor { return s.spot(t).at }

// Delivery is the tensors that one device gets.
type Delivery struct {
	Device  backend.Backend
	Tensors []model.Tensor
	Which   []int // of Weights.Tensors, in the same order
	// Set gives the weights one of these tensors. From then on it belongs to the weights. If the tensor lies in a
	// mapped file, release says to the system that its pages are not needed for now; else it is nil. Different tensors may be set by different
	// goroutines at once.
	Set func(t *model.Tensor, ready *tensor.Tensor, release func())
}

// Deliveries lists the tensors by the devices that get them. If the embeddings' table is the output head, too, and these are on two devices, both get it,
// and the one for the embeddings is only looked up in; asStored says that it need not have another type then.
func Deliveries(w *Weights, asStored bool) []Delivery {
	list := make([]Delivery, len(w.list))
	for i, s := range w.list {
		d := &list[i]
		d.Device, d.Set = s.device, func(t *model.Tensor, ready *tensor.Tensor, release func()) { set(w, s, t, ready, release) }
		for n := range w.tensors {
			t := w.tensors[n]
			switch tied := t.Part == model.Embedding && w.Config.TiedEmbeddings; {
			case w.spot(&t).stage == s && tied && s != w.last() && asStored:
				t.Role = model.Lookup
			case w.spot(&t).stage == s, tied && s == w.last():
			default:
				continue
			}
			d.Tensors, d.Which = append(d.Tensors, t), append(d.Which, n)
		}
	}
	return list
}

// set is Delivery.Set for a stage.
func set(w *Weights, s *stage, t *model.Tensor, ready *tensor.Tensor, release func()) {
	at := w.spot(t)
	if at.stage == s {
		*at.at = ready
	}
	if s == w.last() && t.Part == model.Embedding && w.Config.TiedEmbeddings {
		w.head = ready
	}
	w.lend(t.Part, ready, w.Config.TiedEmbeddings)
	s.sizes.set.Add(int64(ready.Size()))
	if release != nil {
		s.sizes.mapped.Add(int64(ready.Size()))
	}
	if t.Part == model.PerLayerEmbedding {
		w.inputs.release = release
	}
}

// boundary is what a pass has to do with those of the other stages.
type boundary struct {
	stage *stage
	next  *pass          // of the next stage; nil: it is the last one
	host  *tensor.Tensor // [most, …] on the host, through which the rows of the stage before come; nil: there is no such stage
	held  tensor.Tensor  // some rows of a tensor
}

// reserveBoundary allocates the memory of the rows that come from the stage before.
func (p *pass) reserveBoundary(w *Weights) (err error) {
	if p.stage.first == 0 {
		return nil
	}
	c := w.Config
	if p.host, err = tensor.New(nil, tensor.F32, tensor.ShapeOf(p.most, max(c.HiddenSize, c.PerLayerWidth*c.Layers))); err != nil { // no device: the host
		return err
	}
	p.own(p.host)
	return nil
}

// receive takes over what the pass of the stage before has: its jobs and rows, the residual streams, and the layers' own inputs.
func (p *pass) receive(w *Weights, from *pass) error {
	p.jobs = from.jobs
	if err := p.resize(from.rows); err != nil {
		return err
	}
	if err := p.adapted.find(&p.arena, p.jobs); err != nil {
		return err
	}
	for i := range w.rotaries {
		if err := p.rotate(w, i); err != nil {
			return err
		}
	}
	if err := p.carry(from, &from.x, &p.x); err != nil {
		return err
	}
	for i := range p.streams.others {
		if err := p.carry(from, &from.streams.others[i], &p.streams.others[i]); err != nil {
			return err
		}
	}
	if w.inputs.width == 0 {
		return nil
	}
	p.inputs.rows = append(p.inputs.rows[:0], from.inputs.rows...)
	rows := int(p.inputs.rows[p.rows-1]) + 1 // of all, where some may have been left out
	if err := from.inputs.table.SliceInto(&p.held, 0, rows*w.Config.Layers); err != nil {
		return err
	}
	return p.carry(from, &p.held, p.inputs.table)
}

// carry copies a tensor of the stage before to the beginning of one of this stage.
func (p *pass) carry(from *pass, src, dst *tensor.Tensor) error {
	if err := from.device.ReadBuffer(src, p.host.Data()[:src.Size()]); err != nil {
		return fmt.Errorf("read the rows after layer %d from %s: %w", p.stage.first-1, from.device.Name(), err)
	}
	if err := p.copied.Run(p.device, backend.CopySlice{Src: p.host, Dst: dst, N: src.Shape().NumElements()}); err != nil {
		return fmt.Errorf("copy the rows of layer %d to %s: %w", p.stage.first, p.device.Name(), err)
	}
	return nil
}

// freeAll gives back the memory of the pass and of those after it.
func (p *pass) freeAll() error {
	var errs []error
	for ; p != nil; p = p.next {
		errs = append(errs, p.free())
	}
	return errors.Join(errs...)
}
