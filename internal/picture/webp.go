package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"

	"golang.org/x/image/webp"
)

// webpParts are the chunks of a WebP that matter.
type webpParts struct {
	meta          metadata
	canvas        image.Point // of an extended file
	offset        image.Point // of an animation's first frame
	frame         image.Point // its size
	animated      bool
	alpha         []byte // ALPH
	lossy         []byte // VP8
	lossless      []byte // VP8L
	width, height int    // of the coded picture
}

// walk reads chunks. Those after the first picture may have metadata only.
func (p *webpParts) walk(rest []byte) error {
	for len(rest) >= 8 {
		kind, length := string(rest[:4]), binary.LittleEndian.Uint32(rest[4:])
		if uint64(length) > uint64(len(rest)-8) {
			if p.lossy != nil || p.lossless != nil {
				return nil // the part that is cut off comes after the picture
			}
			return fmt.Errorf("its chunk %q has %d bytes, and %d bytes are left", kind, length, len(rest)-8)
		}
		body := rest[8 : 8+length]
		rest = rest[8+length:]
		rest = rest[min(int(length&1), len(rest)):]
		first := p.lossy == nil && p.lossless == nil
		switch {
		case kind == "VP8X" && p.canvas == image.Point{}:
			if len(body) < 10 {
				return fmt.Errorf("its chunk VP8X has %d bytes, and not 10", len(body))
			}
			p.canvas = image.Pt(1+uint24(body[4:]), 1+uint24(body[7:]))
		case kind == "ANMF" && first:
			if len(body) < 16 {
				return fmt.Errorf("its chunk ANMF has %d bytes of 16", len(body))
			}
			p.animated = true
			p.offset, p.frame = image.Pt(2*uint24(body), 2*uint24(body[3:])), image.Pt(1+uint24(body[6:]), 1+uint24(body[9:]))
			if err := p.walk(body[16:]); err != nil {
				return err
			}
		case kind == "ALPH" && first:
			p.alpha = body
		case kind == "VP8 " && first:
			if len(body) < 10 {
				return fmt.Errorf("its chunk VP8 has %d bytes of 10", len(body))
			}
			p.lossy = body
			p.width, p.height = int(binary.LittleEndian.Uint16(body[6:])&0x3fff), int(binary.LittleEndian.Uint16(body[8:])&0x3fff)
		case kind == "VP8L" && first:
			if len(body) < 5 {
				return fmt.Errorf("its chunk VP8L has %d bytes of 5", len(body))
			}
			p.lossless = body
			bits := binary.LittleEndian.Uint32(body[1:])
			p.width, p.height = 1+int(bits&0x3fff), 1+int(bits>>14&0x3fff)
		case kind == "EXIF":
			p.meta.exif = body
		case kind == "XMP ":
			p.meta.xmp = body
		}
	}
	return nil
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// parseWebP walks over the chunks of a WebP.
func parseWebP(data []byte) (*parsed, error) {
	var parts webpParts
	if err := parts.walk(data[12:]); err != nil {
		return nil, err
	}
	if parts.lossy == nil && parts.lossless == nil {
		return nil, errors.New("it has no picture, neither a chunk VP8 nor VP8L")
	}
	size := image.Pt(parts.width, parts.height)
	switch {
	case parts.animated && parts.frame != size:
		return nil, fmt.Errorf("its first frame is %d×%d pixels, and the picture in it %d×%d", parts.frame.X, parts.frame.Y, size.X, size.Y)
	case parts.animated && !(image.Rectangle{Max: size}).Add(parts.offset).In(image.Rectangle{Max: parts.canvas}):
		return nil, fmt.Errorf("its first frame of %d×%d pixels at %v does not lie in its canvas of %d×%d", size.X, size.Y, parts.offset, parts.canvas.X, parts.canvas.Y)
	case !parts.animated && parts.canvas != image.Point{} && parts.canvas != size:
		return nil, fmt.Errorf("its canvas is %d×%d pixels, and the picture in it %d×%d", parts.canvas.X, parts.canvas.Y, size.X, size.Y)
	}
	p := &parsed{stored: size, colour: webpColour}
	if parts.animated {
		p.stored = parts.canvas
	}
	p.Orientation, p.Ignored = parts.meta.orientation()
	pixels := int64(size.X) * int64(size.Y)
	switch {
	case parts.lossless != nil:
		p.Memory = 12 * pixels // the picture, and what its transforms and palettes hold
	case parts.alpha != nil:
		p.Memory = 15 * pixels // the alpha is a lossless picture of its own
	default:
		p.Memory = 2 * pixels
	}
	if parts.animated {
		p.Memory += 4 * int64(p.stored.X) * int64(p.stored.Y) // the canvas
	}
	p.decode = func() (image.Image, error) {
		img, err := webp.Decode(bytes.NewReader(parts.still()))
		if err != nil || !parts.animated || img.Bounds().Size() != size || size == p.stored {
			return img, err
		}
		rgb := newRGB(size.X, size.Y)
		if !webpColour(img, rgb) {
			flatten(img, rgb)
		}
		canvas := image.NewNRGBA(image.Rectangle{Max: p.stored}) // transparent
		for y := range size.Y {
			row := rgb.row(y)
			for x := range size.X {
				canvas.SetNRGBA(x+parts.offset.X, y+parts.offset.Y, color.NRGBA{row[3*x], row[3*x+1], row[3*x+2], 255})
			}
		}
		return canvas, nil
	}
	return p, nil
}

// still returns a WebP that has the picture and nothing more: Go's library reads no animations, and no pictures that say they have
// alpha and do not.
func (p *webpParts) still() []byte {
	out := []byte("RIFF\x00\x00\x00\x00WEBP")
	add := func(kind string, body []byte) {
		out = binary.LittleEndian.AppendUint32(append(out, kind...), uint32(len(body)))
		out = append(out, body...)
		if len(body)&1 == 1 {
			out = append(out, 0)
		}
	}
	switch {
	case p.lossless != nil:
		add("VP8L", p.lossless)
	case p.alpha != nil:
		w, h := p.width-1, p.height-1
		const hasAlpha = 1 << 4
		add("VP8X", []byte{hasAlpha, 0, 0, 0, byte(w), byte(w >> 8), byte(w >> 16), byte(h), byte(h >> 8), byte(h >> 16)})
		add("ALPH", p.alpha)
		fallthrough
	default:
		add("VP8 ", p.lossy)
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

// webpColour converts lossy pictures as libwebp does.
func webpColour(img image.Image, rgb *RGB) bool {
	switch img := img.(type) {
	case *image.YCbCr:
		interpolate(img, rgb, libwebpChroma, studioRange)
		return true
	case *image.NYCbCrA:
		interpolate(&img.YCbCr, rgb, libwebpChroma, studioRange)
		for y := range rgb.Height {
			alpha, row := img.A[y*img.AStride:], rgb.row(y)
			for x := range rgb.Width {
				for c := range 3 {
					row[3*x+c] = overWhite(row[3*x+c], alpha[x])
				}
			}
		}
		return true
	}
	return false
}
