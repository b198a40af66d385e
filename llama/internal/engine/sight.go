package engine

import (
	"context"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/tensor"
)

// sight is a picture that a tower is encoding, and the memory of that.
type sight struct {
	*Tower
	ctx     context.Context
	views   []pixels.View
	patches int
	chunks  []chunk
	memory  arena // of all

	x, q, k, v, out *tensor.Tensor    // [patches, hidden] and [patches, heads·headDim]
	byHead          [4]*tensor.Tensor // q, k, v and out as [patches, heads, headDim]
	angles          *tensor.Tensor    // [patches, headDim]: cosines, then sines; nil: nothing is rotated
	ones            *tensor.Tensor    // [headDim], of the norm of values
	texts           []int             // the patches of each view: they see each other
}

// chunk is some neighbouring patches, and views of the memory for them.
type chunk struct {
	rows                      int
	x, q, k, v, out, angles   *tensor.Tensor // [rows, hidden] and [rows, heads·headDim]
	qHeads, kHeads, vHeads    *tensor.Tensor // [rows, heads, headDim]
	normed, product, gate, up *tensor.Tensor
}

// look makes the memory for a picture.
func (t *Tower) look(ctx context.Context, values *pixels.Values) (s *sight, err error) {
	s = &sight{Tower: t, ctx: ctx, views: values.Views, patches: values.Patches()}
	for i := range s.views {
		s.texts = append(s.texts, s.views[i].Rows*s.views[i].Columns)
	}
	most := min(s.patches, towerRows)
	s.memory = arena{device: t.device, most: most, total: &t.working}
	defer func() {
		if err != nil {
			s.free()
		}
	}()
	c := t.Config
	heads := c.Heads * c.HeadDim
	if s.x, err = s.memory.allocate(s.patches, c.HiddenSize); err != nil || c.Layers == 0 {
		return s, err
	}
	for _, view := range []**tensor.Tensor{&s.q, &s.k, &s.v, &s.out} {
		if *view, err = s.memory.allocate(s.patches, heads); err != nil {
			return s, err
		}
	}
	for i, of := range []*tensor.Tensor{s.q, s.k, s.v, s.out} {
		if s.byHead[i], err = of.Reshape(s.patches, c.Heads, c.HeadDim); err != nil {
			return s, err
		}
	}
	if s.ones, err = s.memory.allocateConstant(c.HeadDim, 1); err != nil {
		return s, err
	}
	if c.Theta != 0 {
		if s.angles, err = s.rotation(); err != nil {
			return s, err
		}
	}
	return s, s.cut(most)
}

// cut cuts the patches into chunks of up to most, which share the memory for what lies between the parts of a layer.
func (s *sight) cut(most int) error {
	c := s.Config
	between := map[int]*tensor.Tensor{}
	memory := func(number, cols int) (*tensor.Tensor, error) {
		if between[number] == nil {
			t, err := s.memory.allocate(most, cols)
			if err != nil {
				return nil, err
			}
			between[number] = t
		}
		return between[number], nil
	}
	for lo := 0; lo < s.patches; lo += most {
		hi := min(lo+most, s.patches)
		ch := chunk{rows: hi - lo}
		for _, v := range []struct {
			view **tensor.Tensor
			of   *tensor.Tensor
		}{{&ch.x, s.x}, {&ch.q, s.q}, {&ch.k, s.k}, {&ch.v, s.v}, {&ch.out, s.out}, {&ch.angles, s.angles}} {
			if v.of == nil {
				continue
			}
			var err error
			if *v.view, err = v.of.Slice(lo, hi); err != nil {
				return err
			}
		}
		for i, v := range []struct {
			view **tensor.Tensor
			cols int
		}{{&ch.normed, c.HiddenSize}, {&ch.product, c.HiddenSize}, {&ch.gate, c.IntermediateSize}, {&ch.up, c.IntermediateSize}} {
			if v.view == &ch.gate && !c.Traits.Gated {
				continue
			}
			all, err := memory(i, v.cols)
			if err == nil {
				*v.view, err = all.Slice(0, hi-lo)
			}
			if err != nil {
				return err
			}
		}
		for _, v := range []struct{ heads, flat **tensor.Tensor }{{&ch.qHeads, &ch.q}, {&ch.kHeads, &ch.k}, {&ch.vHeads, &ch.v}} {
			var err error
			if *v.heads, err = (*v.flat).Reshape(hi-lo, c.Heads, c.HeadDim); err != nil {
				return err
			}
		}
		s.chunks = append(s.chunks, ch)
	}
	return nil
}

// free gives the memory back.
func (s *sight) free() { s.memory.free() }

// program makes a program with the operations that write adds, runs it, and forgets it: a picture's programs are run once. lost are tensors that nobody
// reads afterwards.
func (s *sight) program(lost []*tensor.Tensor, write func(p *program)) error {
	p := &program{pass: &pass{device: s.device}, lost: lost}
	write(p)
	p.end()
	return p.run()
}

// pause adds a look at the context to a program.
func (s *sight) pause(p *program) { p.call(s.ctx.Err) }

// positions calls a function for each patch of the picture, in the order of its values, with the patch's row and column in a view. group is how many patches
// of a side lie together.
func (s *sight) positions(group int, each func(patch int, v *pixels.View, row, column int)) {
	patch := 0
	for i := range s.views {
		v := &s.views[i]
		for top := 0; top < v.Rows; top += group {
			for left := 0; left < v.Columns; left += group {
				for y := range group {
					for x := range group {
						each(patch, v, top+y, left+x)
						patch++
					}
				}
			}
		}
	}
}

// rotation computes the angles of RoPE for all patches. The first half of a head's pairs turns by one coordinate and the second half by the other one,
// pair i of a half by theta^(−4i/headDim): the first by the row, or by the column if the eye says so.
func (s *sight) rotation() (*tensor.Tensor, error) {
	c := s.Config
	quarter, half := c.HeadDim/4, c.HeadDim/2
	group, columnsFirst := s.eye.order(c)
	most := 0
	for i := range s.views {
		most = max(most, s.views[i].Rows, s.views[i].Columns)
	}
	cosines, sines := make([]float32, most*quarter), make([]float32, most*quarter)
	for i := range quarter {
		f := 1 / exact.Pow(c.Theta, float64(4*i)/float64(c.HeadDim))
		for at := range most {
			sin, cos := exact.Sincos(float64(float64(at) * f))
			cosines[at*quarter+i], sines[at*quarter+i] = float32(cos), float32(sin)
		}
	}
	table := make([]float32, s.patches*c.HeadDim)
	s.positions(group, func(patch int, _ *pixels.View, first, second int) {
		if columnsFirst {
			first, second = second, first
		}
		to := table[patch*c.HeadDim:][:c.HeadDim]
		copy(to, cosines[first*quarter:][:quarter])
		copy(to[quarter:], cosines[second*quarter:][:quarter])
		copy(to[half:], sines[first*quarter:][:quarter])
		copy(to[half+quarter:], sines[second*quarter:][:quarter])
	})
	return s.toDevice(&s.memory, table, s.patches, c.HeadDim)
}

// scratch returns an arena for memory that is freed before the picture is encoded.
func (s *sight) scratch() *arena { return &arena{device: s.device, total: &s.working} }

// toDevice returns floats on the device, in an arena's memory.
func (s *sight) toDevice(a *arena, values []float32, dims ...int) (*tensor.Tensor, error) {
	host, err := tensor.FromFloats(values, dims...)
	if err != nil {
		return nil, err
	}
	t, err := tensor.New(s.device, tensor.F32, tensor.ShapeOf(dims...))
	if err != nil {
		return nil, err
	}
	a.own(t)
	return t, s.device.Run(backend.Copy(host, t))
}

// toHost returns a copy of a tensor of the device on the host.
func (s *sight) toHost(t *tensor.Tensor) (*tensor.Tensor, error) {
	values := make([]float32, t.Shape().NumElements())
	if err := backend.ReadFloats(s.device, t, values); err != nil {
		return nil, err
	}
	return tensor.FromFloats(values, t.Shape().Dims()...)
}
