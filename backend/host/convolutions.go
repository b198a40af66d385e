package host

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/tensor"
)

// convolutions computes causal convolutions of channels.
type convolutions struct {
	*machine
	tasks pool[convolution, *convolution]
}

// convolve computes the causal convolution of each channel.
func (b *convolutions) convolve(o *backend.Convolve) (err error) {
	rows, channels, width := o.Dims()
	if rows*channels == 0 {
		return nil
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add("Convolve", o.X, o.W, o.Out); err != nil {
		return err
	}
	if err := maps.addStates("Convolve", o.Of); err != nil {
		return err
	}
	c := b.tasks.get()
	defer b.tasks.put(c)
	c.kernels, c.channels, c.width = b.kernels, channels, width
	c.x, c.w, c.out = floats(o.X), floats(o.W), floats(o.Out)
	if c.bias, err = maps.optional("Convolve", o.B); err != nil {
		return err
	}
	c.stretches = appendStretches(c.stretches[:0], o.Of)
	c.pieces = max(min(rows*channels/elementsPerPiece, b.runner.Size(), channels/asm.Lanes), 1)
	for len(c.workers) < b.runner.Size() {
		c.workers = append(c.workers, convolver{})
	}
	return b.runner.Run(c, c.pieces)
}

// stretch is a backend.Stretch with its state mapped.
type stretch struct {
	state       []float32
	first, rows int // among the rows of the operation
}

// appendStretches appends mapped stretches to a list.
func appendStretches(list []stretch, of []backend.Stretch) []stretch {
	first := 0
	for i := range of {
		list = append(list, stretch{state: floats(of[i].State), first: first, rows: of[i].Rows})
		first += of[i].Rows
	}
	return list
}

// convolution is a Convolve as a task. A piece is some channels of all rows.
//
// The rows of a stretch are computed from the last to the first, so that out may be x: a row reads itself and rows before it. The inputs
// that become the state are copied beforehand.
type convolution struct {
	kernels         *asm.Kernels
	channels, width int
	x, w, bias, out []float32 // bias: nil if there is no bias
	stretches       []stretch
	pieces          int
	workers         []convolver
}

// convolver is what a worker needs for itself.
type convolver struct {
	state []float32   // [width−1, channels of a step]: the state to come
	taps  [][]float32 // [width]
}

// stepChannels is how many channels a worker takes through all rows at a time: the rows' parts stay in the nearest memory from one row
// to the next.
const stepChannels = 1 << 10

// reset forgets the operands, and keeps the scratch.
func (c *convolution) reset() {
	clear(c.stretches)
	for i := range c.workers {
		clear(c.workers[i].taps)
	}
	*c = convolution{stretches: c.stretches[:0], workers: c.workers}
}

// Phase says what the operation is.
func (c *convolution) Phase() timing.Phase {
	return timing.Phase{Operation: "Convolve", Rows: c.width, Cols: c.channels, DType: tensor.F32}
}

// Do computes the channels of one piece.
func (c *convolution) Do(worker, piece int) {
	strips := (c.channels + asm.Lanes - 1) / asm.Lanes
	lo, hi := piece*strips/c.pieces*asm.Lanes, min((piece+1)*strips/c.pieces*asm.Lanes, c.channels)
	for ; lo < hi; lo += stepChannels {
		for i := range c.stretches {
			c.convolve(&c.workers[worker], &c.stretches[i], lo, min(lo+stepChannels, hi))
		}
	}
}

// convolve computes channels [lo, hi) of a stretch.
func (c *convolution) convolve(l *convolver, s *stretch, lo, hi int) {
	n, remembered := hi-lo, c.width-1
	if len(l.state) < remembered*n {
		l.state = make([]float32, remembered*max(n, stepChannels))
	}
	if len(l.taps) < c.width {
		l.taps = make([][]float32, c.width)
	}
	var bias []float32
	if c.bias != nil {
		bias = c.bias[lo:hi]
	}
	fresh := min(s.rows, remembered) // of the rows to be remembered, how many are the stretch's
	for i := range fresh {
		copy(l.state[i*n:][:n], c.input(s, s.rows-fresh+i, lo, hi))
	}
	taps := l.taps[:c.width]
	for row := s.rows - 1; row >= 0; row-- {
		for j := range taps {
			taps[j] = c.input(s, row-remembered+j, lo, hi)
		}
		c.kernels.Convolve(c.out[(s.first+row)*c.channels+lo:][:n], taps, c.w[lo:], c.channels, bias)
	}
	for i := range remembered - fresh { // those that stay
		copy(c.input(s, i-remembered, lo, hi), c.input(s, i+fresh-remembered, lo, hi))
	}
	for i := range fresh {
		copy(c.input(s, i-fresh, lo, hi), l.state[i*n:][:n])
	}
}

// input returns channels [lo, hi) of what came at a row of a stretch, or before it.
func (c *convolution) input(s *stretch, row, lo, hi int) []float32 {
	if row < 0 {
		return s.state[(c.width-1+row)*c.channels:][lo:hi]
	}
	return c.x[(s.first+row)*c.channels:][lo:hi]
}
