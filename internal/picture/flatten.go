package picture

import (
	"image"
	"image/color"
)

// overWhite returns the colour c, 0 to 255, on white, if it covers alpha of 255 parts. It rounds as Pillow's paste does.
func overWhite(c, alpha byte) byte {
	v := 255*(255-uint32(alpha)) + uint32(c)*uint32(alpha) + 128
	return byte((v>>8 + v) >> 8)
}

// flatten writes img on white to rgb, which has its size. Components of 16 bits are reduced to their high bytes.
func flatten(img image.Image, rgb *RGB) {
	at := img.Bounds().Min
	switch img := img.(type) {
	case *image.Gray:
		for y := range rgb.Height {
			from, to := img.Pix[img.PixOffset(at.X, at.Y+y):], rgb.row(y)
			for x := range rgb.Width {
				to[3*x], to[3*x+1], to[3*x+2] = from[x], from[x], from[x]
			}
		}
	case *image.RGBA: // premultiplied: add the white that shines through
		for y := range rgb.Height {
			from, to := img.Pix[img.PixOffset(at.X, at.Y+y):], rgb.row(y)
			for x := range rgb.Width {
				f, t := from[4*x:4*x+4], to[3*x:3*x+3]
				white := 255 - uint(f[3])
				t[0], t[1], t[2] = byte(min(uint(f[0])+white, 255)), byte(min(uint(f[1])+white, 255)), byte(min(uint(f[2])+white, 255))
			}
		}
	case *image.NRGBA:
		for y := range rgb.Height {
			from, to := img.Pix[img.PixOffset(at.X, at.Y+y):], rgb.row(y)
			for x := range rgb.Width {
				f, t := from[4*x:4*x+4], to[3*x:3*x+3]
				t[0], t[1], t[2] = overWhite(f[0], f[3]), overWhite(f[1], f[3]), overWhite(f[2], f[3])
			}
		}
	case *image.Paletted:
		var palette [256][3]byte // indices beyond the palette are black
		for i, c := range img.Palette[:min(len(img.Palette), 256)] {
			palette[i] = flat(c)
		}
		for y := range rgb.Height {
			from, to := img.Pix[img.PixOffset(at.X, at.Y+y):], rgb.row(y)
			for x := range rgb.Width {
				*(*[3]byte)(to[3*x:]) = palette[from[x]]
			}
		}
	default:
		for y := range rgb.Height {
			to := rgb.row(y)
			for x := range rgb.Width {
				*(*[3]byte)(to[3*x:]) = flat(img.At(at.X+x, at.Y+y))
			}
		}
	}
}

// flat returns a colour on white.
func flat(c color.Color) [3]byte {
	var r, g, b, a byte
	switch c := c.(type) {
	case color.NRGBA:
		r, g, b, a = c.R, c.G, c.B, c.A
	case color.NRGBA64:
		r, g, b, a = byte(c.R>>8), byte(c.G>>8), byte(c.B>>8), byte(c.A>>8)
	default:
		n := color.NRGBA64Model.Convert(c).(color.NRGBA64)
		r, g, b, a = byte(n.R>>8), byte(n.G>>8), byte(n.B>>8), byte(n.A>>8)
	}
	return [3]byte{overWhite(r, a), overWhite(g, a), overWhite(b, a)}
}
