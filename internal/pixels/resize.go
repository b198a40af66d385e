package pixels

import (
	"encoding/binary"

	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/picture"
)

// Two sums share a word of 64 bits, each in 32: one multiplication by a weight serves two bytes.
//
//	word = low + high<<32, as if both were unsigned
//	low  = int32(word), high = int32((word − low) >> 32)
//
// Both sums stay within 32 bits: a byte takes 8, and filters leave the rest of 31 to the bits after the point and to what negative weights
// add. So what a negative low takes of high is exactly what the second line gives back.

// Resize returns the picture with another size, both sides at least 1. It computes with pool, or alone if pool is nil; the result has
// the same bits. If the size is the picture's, the result is the picture itself.
//
// Rows are resized first and columns then, with bytes in between, as Pillow and torchvision do.
func Resize(pool *parallel.Pool, p *picture.RGB, width, height int, f Filter) (*picture.RGB, error) {
	if width != p.Width {
		r := &rowResizer{axis: newAxis(p.Width, width, f), from: p, to: &picture.RGB{Width: width, Height: p.Height, Pix: make([]byte, 3*width*p.Height)}}
		r.words = make([]int64, workers(pool)*3*p.Width)
		if err := run(pool, r, (p.Height+1)/2); err != nil {
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

// workers returns how many workers compute pieces of a task.
func workers(pool *parallel.Pool) int {
	if pool == nil {
		return 1
	}
	return pool.Size()
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

// rowResizer resizes two rows of pixels a piece: a word has a byte of each.
type rowResizer struct {
	axis     *axis
	from, to *picture.RGB
	words    []int64 // of each worker 3·axis.in: the red of two rows, their green, their blue
}

func (r *rowResizer) Do(worker, piece int) {
	a := r.axis
	upper, lower := 2*piece, min(2*piece+1, r.from.Height-1) // the last piece of an odd height computes a row twice
	words := r.words[worker*3*a.in:][:3*a.in]
	red, green, blue := words[:a.in], words[a.in:][:a.in], words[2*a.in:][:a.in]
	up, low := r.from.Pix[3*a.in*upper:][:3*a.in], r.from.Pix[3*a.in*lower:][:3*a.in]
	for x := range red {
		u, l := up[3*x:3*x+3], low[3*x:3*x+3]
		red[x] = int64(u[0]) | int64(l[0])<<32
		green[x] = int64(u[1]) | int64(l[1])<<32
		blue[x] = int64(u[2]) | int64(l[2])<<32
	}
	outUp, outLow := r.to.Pix[3*a.out*upper:][:3*a.out], r.to.Pix[3*a.out*lower:][:3*a.out]
	half := int64(1)<<(a.bits-1) | int64(1)<<(a.bits-1)<<32
	for x, start := range a.starts {
		weights := a.weights[x*a.taps:][:a.taps]
		r, g, b := red[start:][:len(weights)], green[start:][:len(weights)], blue[start:][:len(weights)]
		sr, sg, sb := half, half, half
		for i, w := range weights {
			sr += int64(w) * r[i]
			sg += int64(w) * g[i]
			sb += int64(w) * b[i]
		}
		u, l := outUp[3*x:3*x+3], outLow[3*x:3*x+3]
		u[0], l[0] = split(sr, a.bits)
		u[1], l[1] = split(sg, a.bits)
		u[2], l[2] = split(sb, a.bits)
	}
}

// split returns the two sums of a word as bytes.
func split(word int64, bits uint) (low, high byte) {
	l := int32(word)
	return toByte(l >> (bits & 31)), toByte(int32((word-int64(l))>>32) >> (bits & 31))
}

// columnResizer computes a row of the result a piece: a word has two bytes of the row, four apart.
type columnResizer struct {
	axis     *axis
	from, to *picture.RGB
}

func (r *columnResizer) Do(_, y int) {
	a := r.axis
	stride := 3 * r.from.Width
	out := r.to.Pix[stride*y:][:stride]
	weights := a.weights[y*a.taps:][:a.taps]
	in := r.from.Pix[stride*int(a.starts[y]):][:stride*a.taps]
	for len(weights) > 1 && weights[0] == 0 { // the rows that the filter just does not reach
		weights, in = weights[1:], in[stride:]
	}
	for len(weights) > 1 && weights[len(weights)-1] == 0 {
		weights = weights[:len(weights)-1]
	}
	const mask = 0xff | 0xff<<32
	half := int64(1)<<(a.bits-1) | int64(1)<<(a.bits-1)<<32
	x := 0
	for ; x+8 <= stride; x += 8 {
		s0, s1, s2, s3 := half, half, half, half
		for i, at := 0, x; i < len(weights); i, at = i+1, at+stride {
			v := binary.LittleEndian.Uint64(in[at:])
			w := int64(weights[i])
			s0 += w * int64(v&mask)
			s1 += w * int64(v>>8&mask)
			s2 += w * int64(v>>16&mask)
			s3 += w * int64(v>>24&mask)
		}
		o := out[x:][:8]
		o[0], o[4] = split(s0, a.bits)
		o[1], o[5] = split(s1, a.bits)
		o[2], o[6] = split(s2, a.bits)
		o[3], o[7] = split(s3, a.bits)
	}
	for ; x < stride; x++ {
		sum := int32(1) << (a.bits - 1)
		for i, w := range weights {
			sum += w * int32(in[x+i*stride])
		}
		out[x] = toByte(sum >> a.bits)
	}
}

// toByte limits v to a byte.
func toByte(v int32) byte {
	if uint32(v) > 255 {
		return byte(^(v >> 31)) // 0 if v is negative, 255 if it is not
	}
	return byte(v)
}
