package pixels

import (
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/picture"
)

// Resize returns the picture with another size, both sides at least 1. It computes with pool, or alone if pool is nil; the result has
// the same bits. If the size is the picture's, the result is the picture itself.
//
// Rows are resized first and columns then, with bytes in between, as Pillow and torchvision do.
func Resize(pool *parallel.Pool, p *picture.RGB, width, height int, f Filter) (*picture.RGB, error) {
	if width != p.Width {
		r := &rowResizer{axis: newAxis(p.Width, width, f), from: p, to: &picture.RGB{Width: width, Height: p.Height, Pix: make([]byte, 3*width*p.Height)}}
		if err := run(pool, r, p.Height); err != nil {
			return nil, err
		}
		p = r.to
	}
	if height != p.Height {
		r := &columnResizer{axis: newAxis(p.Height, height, f), from: p, to: &picture.RGB{Width: width, Height: height, Pix: make([]byte, 3*width*height)}}
		if err := run(pool, r, height); err != nil {
			return nil, err
		}
		p = r.to
	}
	return p, nil
}

// run computes the n pieces of a task.
func run(pool *parallel.Pool, task parallel.Task, n int) error {
	if pool != nil {
		return pool.Run(task, n)
	}
	for i := range n {
		task.Do(0, i)
	}
	return nil
}

// rowResizer resizes a row of pixels a piece.
type rowResizer struct {
	axis     *axis
	from, to *picture.RGB
}

func (r *rowResizer) Do(_, y int) {
	a := r.axis
	in, out := r.from.Pix[3*a.in*y:3*a.in*(y+1)], r.to.Pix[3*a.out*y:3*a.out*(y+1)]
	half := int64(1)<<(a.bits-1) | int64(1)<<(a.bits-1)<<32
	for x, start := range a.starts {
		weights := a.weights[x*a.taps:][:a.taps]
		pixels := in[3*start:][:3*len(weights)]
		two, one := half, half // red and green share a word: each sum fits in 32 bits, and carries are taken back below
		for i, w := range weights {
			p := pixels[3*i:][:3]
			two += int64(w) * (int64(p[0]) | int64(p[1])<<32)
			one += int64(w) * int64(p[2])
		}
		red := int32(two)
		o := out[3*x:][:3]
		o[0] = toByte(red >> a.bits)
		o[1] = toByte(int32((two-int64(red))>>32) >> a.bits)
		o[2] = toByte(int32(one) >> a.bits)
	}
}

// columnResizer computes a row of the result a piece.
type columnResizer struct {
	axis     *axis
	from, to *picture.RGB
}

func (r *columnResizer) Do(_, y int) {
	a := r.axis
	stride := 3 * r.from.Width
	out := r.to.Pix[stride*y : stride*(y+1)]
	weights := a.weights[y*a.taps:][:a.taps]
	in := r.from.Pix[stride*int(a.starts[y]):][:stride*a.taps]
	half := int32(1) << (a.bits - 1)
	for len(weights) > 0 && weights[0] == 0 {
		weights, in = weights[1:], in[stride:]
	}
	for len(weights) > 0 && weights[len(weights)-1] == 0 {
		weights = weights[:len(weights)-1]
	}
	const some = 240 // sums that stay in the first cache
	var sums [some]int32
	for from := 0; from < stride; from += some {
		part := sums[:min(some, stride-from)]
		for i := range part {
			part[i] = half
		}
		rest := in[from:]
		w := weights
		for ; len(w) >= 4; w = w[4:] {
			a0, a1, a2, a3 := rest[:len(part)], rest[stride:][:len(part)], rest[2*stride:][:len(part)], rest[3*stride:][:len(part)]
			w0, w1, w2, w3 := w[0], w[1], w[2], w[3]
			for i := range part {
				part[i] += w0*int32(a0[i]) + w1*int32(a1[i]) + w2*int32(a2[i]) + w3*int32(a3[i])
			}
			rest = rest[min(4*stride, len(rest)):]
		}
		for _, v := range w {
			row := rest[:len(part)]
			for i := range part {
				part[i] += v * int32(row[i])
			}
			rest = rest[min(stride, len(rest)):]
		}
		to := out[from:][:len(part)]
		for i, s := range part {
			to[i] = toByte(s >> a.bits)
		}
	}
}

// toByte limits v to a byte.
func toByte(v int32) byte {
	if uint32(v) > 255 {
		return byte(^(v >> 31)) // 0 if v is negative, 255 if it is not
	}
	return byte(v)
}
