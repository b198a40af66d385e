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
	windows         []int             // those of each window: in layers with windows they see each other; nil: there are no windows
	order           patchOrder
	moved           []int // which of the picture's values each patch has; nil: the patches come in the order of values
}

// patchOrder says in which order patches are computed, and how heads turn by their places. The zero value, but for group, has them row by row.
type patchOrder struct {
	group        int  // patches of a side that lie together
	window       int  // patches of a side that see each other in layers with windows, a multiple of group, and lie together; 0: there are no windows
	columnsFirst bool // the first half of a head turns by the column instead of the row
	alternate    bool // the frequencies of the whole head alternate between its halves, which otherwise have the same ones
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
	s.order = t.eye.order(t.Config)
	s.cutWindows()
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
	p := &program{pass: &pass{arena: arena{device: s.device}}, lost: lost}
	write(p)
	p.end()
	return p.run()
}

// pause adds a look at the context to a program.
func (s *sight) pause(p *program) { p.call(s.ctx.Err) }

// positions calls a function for each patch of the picture, in the order in which they are computed, with the patch's row and column in a view.
func (s *sight) positions(each func(patch int, v *pixels.View, row, column int)) {
	patch, group := 0, s.order.group
	for i := range s.views {
		v := &s.views[i]
		s.order.eachWindow(v, func(top, left, bottom, right int) {
			for y := top; y < bottom; y += group {
				for x := left; x < right; x += group {
					for within := range group * group {
						each(patch, v, y+within/group, x+within%group)
						patch++
					}
				}
			}
		})
	}
}

// eachWindow calls a function for each window of a view, row by row. Those at the right and at the bottom may be smaller. Without windows the view is one.
func (o *patchOrder) eachWindow(v *pixels.View, each func(top, left, bottom, right int)) {
	side := o.window
	if side == 0 {
		side = max(v.Rows, v.Columns)
	}
	for top := 0; top < v.Rows; top += side {
		for left := 0; left < v.Columns; left += side {
			each(top, left, min(top+side, v.Rows), min(left+side, v.Columns))
		}
	}
}

// cutWindows finds the windows of the picture, and where among its values their patches are. For example, 4×6 patches in groups of 2×2 have a window of 4×4 and
// one of 4×2: the first has the values 0 to 7 and 12 to 19, the second 8 to 11 and 20 to 23.
func (s *sight) cutWindows() {
	if s.order.window == 0 {
		return
	}
	firsts, first := map[*pixels.View]int{}, 0
	for i := range s.views {
		firsts[&s.views[i]] = first
		first += s.texts[i]
		s.order.eachWindow(&s.views[i], func(top, left, bottom, right int) { s.windows = append(s.windows, (bottom-top)*(right-left)) })
	}
	group := s.order.group
	s.positions(func(_ int, v *pixels.View, row, column int) {
		in := row%group*group + column%group
		s.moved = append(s.moved, firsts[v]+(row/group*(v.Columns/group)+column/group)*group*group+in)
	})
}

// valuesOf returns the picture's values in the order in which patches are computed.
func (s *sight) valuesOf(values *pixels.Values) []float32 {
	if s.moved == nil {
		return values.Pixels
	}
	n := len(values.Pixels) / s.patches
	list := make([]float32, 0, len(values.Pixels))
	for _, from := range s.moved {
		list = append(list, values.Pixels[from*n:][:n]...)
	}
	return list
}

// inOrder puts rows of width floats, one for each group of patches, in the order of the picture's values.
func (s *sight) inOrder(rows []float32, width int) []float32 {
	if s.moved == nil {
		return rows
	}
	list, group := make([]float32, len(rows)), s.order.group*s.order.group
	for i := 0; i < len(s.moved); i += group {
		copy(list[s.moved[i]/group*width:][:width], rows[i/group*width:])
	}
	return list
}

// rotation computes the angles of RoPE for all patches. The first half of a head's pairs turns by one coordinate and the second half by the other one: the first by
// the row, or by the column if the eye says so. Pair i of a half turns by theta^(−4i/headDim) or, if frequencies alternate and it is in the second half, by
// theta^(−(4i+2)/headDim).
func (s *sight) rotation() (*tensor.Tensor, error) {
	c := s.Config
	quarter, half := c.HeadDim/4, c.HeadDim/2
	most := 0
	for i := range s.views {
		most = max(most, s.views[i].Rows, s.views[i].Columns)
	}
	var cosines, sines [2][]float32 // of the halves
	for part := range cosines {
		cosines[part], sines[part] = make([]float32, most*quarter), make([]float32, most*quarter)
		for i := range quarter {
			at := 4 * i
			if s.order.alternate {
				at += 2 * part
			}
			f := 1 / exact.Pow(c.Theta, float64(at)/float64(c.HeadDim))
			for place := range most {
				sin, cos := exact.Sincos(float64(float64(place) * f))
				cosines[part][place*quarter+i], sines[part][place*quarter+i] = float32(cos), float32(sin)
			}
		}
	}
	table := make([]float32, s.patches*c.HeadDim)
	s.positions(func(patch int, _ *pixels.View, first, second int) {
		if s.order.columnsFirst {
			first, second = second, first
		}
		to := table[patch*c.HeadDim:][:c.HeadDim]
		copy(to, cosines[0][first*quarter:][:quarter])
		copy(to[quarter:], cosines[1][second*quarter:][:quarter])
		copy(to[half:], sines[0][first*quarter:][:quarter])
		copy(to[half+quarter:], sines[1][second*quarter:][:quarter])
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

// features returns a copy of features of the device on the host, in the order of the picture's values.
func (s *sight) features(t *tensor.Tensor) (*tensor.Tensor, error) {
	rows := make([]float32, t.Shape().NumElements())
	if err := backend.ReadFloats(s.device, t, rows); err != nil {
		return nil, err
	}
	return tensor.FromFloats(s.inOrder(rows, t.Shape().Dim(1)), t.Shape().Dims()...)
}
