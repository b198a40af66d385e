package picture

import "image"

// Pictures of JPEG and lossy WebP often have one sample of chroma for two or four pixels. A pixel's chroma is interpolated between the
// nearest samples, a triangle filter: the nearer sample of each direction counts 3/4, the other 1/4.
//
//	samples        a           b           c
//	pixels      p     q     r     s     t     u       q = (3a + b)/4, r = (a + 3b)/4, p = a
//
// libjpeg and libwebp do that with roundings of their own, which this file repeats.

// chroma is how a library interpolates pictures with half the samples in both directions.
type chroma struct {
	// rows writes the chroma of a row of pixels, 2·n values, from the n samples of the nearest row and of the next nearest.
	rows  func(out, near, far []byte, n int)
	least int // how many samples a row must have: those of narrower pictures are repeated
}

// libjpegChroma and libwebpChroma are named after the libraries.
var (
	libjpegChroma = chroma{libjpegRows, 3}
	libwebpChroma = chroma{libwebpRows, 1}
)

func libjpegRows(out, near, far []byte, n int) {
	this := 3*int(near[0]) + int(far[0])
	last := this
	for i := range n {
		next := this
		if i+1 < n {
			next = 3*int(near[i+1]) + int(far[i+1])
		}
		out[2*i], out[2*i+1] = byte((3*this+last+8)>>4), byte((3*this+next+7)>>4)
		last, this = this, next
	}
}

// libwebpRows rounds in steps: it takes (9a + 3b + 3c + d)/16 as (a + (a + b + c + d + 2(b + c))/8)/2.
func libwebpRows(out, near, far []byte, n int) {
	out[0] = byte((3*int(near[0]) + int(far[0]) + 2) >> 2)
	for i := 1; i < n; i++ {
		a, b, c, d := int(near[i-1]), int(near[i]), int(far[i-1]), int(far[i])
		sum := a + b + c + d + 8
		out[2*i-1] = byte((a + (sum+2*(b+c))>>3) >> 1)
		out[2*i] = byte((b + (sum+2*(a+d))>>3) >> 1)
	}
	out[2*n-1] = byte((3*int(near[n-1]) + int(far[n-1]) + 2) >> 2)
}

// interpolate converts a picture with chroma to RGB.
func interpolate(img *image.YCbCr, rgb *RGB, how chroma, convert func(y, cb, cr []byte, out []byte)) {
	w, h := rgb.Width, rgb.Height
	across, down := 1, 1 // pixels for a sample
	switch img.SubsampleRatio {
	case image.YCbCrSubsampleRatio422:
		across = 2
	case image.YCbCrSubsampleRatio420:
		across, down = 2, 2
	case image.YCbCrSubsampleRatio440:
		down = 2
	case image.YCbCrSubsampleRatio411:
		across = 4
	case image.YCbCrSubsampleRatio410:
		across, down = 4, 2
	}
	samples, rows := (w+across-1)/across, (h+down-1)/down
	row := func(plane []byte, y int) []byte {
		y = min(max(y, 0), rows-1)
		return plane[y*img.CStride:][:samples]
	}
	cb, cr := make([]byte, across*samples), make([]byte, across*samples)
	mixed := make([]byte, samples)
	planes := [2]struct{ from, to []byte }{{img.Cb, cb}, {img.Cr, cr}}
	for y := range h {
		at, far := y/down, y/down
		below := y%2 == 1
		if down == 2 {
			far = at - 1
			if below {
				far = at + 1
			}
		}
		for _, p := range planes {
			near := row(p.from, at)
			switch {
			case across == 2 && down == 2 && samples >= how.least:
				how.rows(p.to, near, row(p.from, far), samples)
			case across == 2 && down == 1 && samples >= how.least:
				between(p.to, near)
			case across == 1 && down == 2:
				bias := 1
				if below {
					bias = 2
				}
				other := row(p.from, far)
				for i := range near {
					mixed[i] = byte((3*int(near[i]) + int(other[i]) + bias) >> 2)
				}
				copy(p.to, mixed)
			default: // repeated, as libjpeg does in narrow pictures and with four pixels for a sample
				for i, v := range near {
					for j := range across {
						p.to[across*i+j] = v
					}
				}
			}
		}
		convert(img.Y[y*img.YStride:][:w], cb, cr, rgb.row(y))
	}
}

// between is libjpeg's interpolation along a row.
func between(out, in []byte) {
	n := len(in)
	for i, v := range in {
		last, next := in[max(i-1, 0)], in[min(i+1, n-1)]
		out[2*i], out[2*i+1] = byte((3*int(v)+int(last)+1)>>2), byte((3*int(v)+int(next)+2)>>2)
	}
}

// clamp limits v to a byte.
func clamp(v int) byte { return byte(min(max(v, 0), 255)) }

// fullRange converts JPEG's colours with libjpeg's constants of 16 bits.
func fullRange(luma, cb, cr, out []byte) {
	const half = 1 << 15
	for x, l := range luma {
		y, b, r := int(l), int(cb[x])-128, int(cr[x])-128
		o := out[3*x : 3*x+3]
		o[0] = clamp(y + (91881*r+half)>>16)
		o[1] = clamp(y + (-22554*b-46802*r+half)>>16)
		o[2] = clamp(y + (116130*b+half)>>16)
	}
}

// studioRange converts WebP's colours with libwebp's constants of 14 bits.
func studioRange(luma, cb, cr, out []byte) {
	for x, l := range luma {
		y, u, v := int(l)*19077>>8, int(cb[x]), int(cr[x])
		o := out[3*x : 3*x+3]
		o[0] = clamp((y + v*26149>>8 - 14234) >> 6)
		o[1] = clamp((y - u*6419>>8 - v*13320>>8 + 8708) >> 6)
		o[2] = clamp((y + u*33050>>8 - 17685) >> 6)
	}
}
