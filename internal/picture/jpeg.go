package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
)

// mostPasses bounds how often the scans of a JPEG may pass over all coefficients of a component. Progressive files pass two or three
// times. A scan counts as 8 coefficients at least: a few bytes can make a scan that visits each block for nothing.
const mostPasses = 16

// frame is the header of a JPEG's picture.
type frame struct {
	width, height int
	progressive   bool
	components    int
	across, down  [4]int // sampling factors
}

// parseJPEG walks over the segments of a JPEG, its scans included.
func parseJPEG(data []byte) (*parsed, error) {
	var meta metadata
	var f frame
	work := 0
	for rest := data[2:]; ; {
		i := bytes.IndexByte(rest, 0xff)
		if i < 0 {
			break // it is cut short, which the decoder finds
		}
		for rest = rest[i:]; len(rest) > 0 && rest[0] == 0xff; {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			break
		}
		marker := rest[0]
		rest = rest[1:]
		if marker == 0 || marker == 1 || marker >= 0xd0 && marker <= 0xd8 {
			continue // no segment, or the coded data of a scan
		}
		if marker == 0xd9 {
			break // the end
		}
		if len(rest) < 2 {
			break
		}
		length := int(binary.BigEndian.Uint16(rest))
		if length < 2 || length > len(rest) {
			if work > 0 {
				break
			}
			return nil, fmt.Errorf("its segment %#x has %d bytes, and %d bytes are left", marker, length, len(rest))
		}
		body := rest[2:length]
		rest = rest[length:]
		switch marker {
		case 0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf:
			if f.components > 0 {
				return nil, errors.New("it has two headers of a picture")
			}
			var err error
			if f, err = readFrame(marker, body); err != nil {
				return nil, err
			}
		case 0xda:
			if len(body) == 0 || len(body) < 1+2*int(body[0])+3 || f.components == 0 {
				return nil, errors.New("it has a scan without a header")
			}
			n := int(body[0])
			first, last := int(body[1+2*n]), int(body[2+2*n])
			work += n * min(max(last-first+1, 8), 64)
			if work > mostPasses*64*f.components {
				return nil, fmt.Errorf("its scans pass over the picture more than %d times", mostPasses)
			}
		case 0xe1:
			if block, ok := bytes.CutPrefix(body, []byte(exifPrefix)); ok {
				meta.exif = append(meta.exif[:len(meta.exif):len(meta.exif)], block...)
			} else if xmp, ok := bytes.CutPrefix(body, []byte("http://ns.adobe.com/xap/1.0/\x00")); ok {
				meta.xmp = xmp
			}
		}
	}
	if f.components == 0 {
		return nil, errors.New("it has no header of a picture")
	}
	p := &parsed{stored: image.Pt(f.width, f.height), colour: jpegColour}
	p.decode = func() (image.Image, error) { return jpeg.Decode(bytes.NewReader(data)) }
	p.Orientation, p.Ignored = meta.orientation()
	samples := f.samples()
	if blocks := samples / 64; blocks > 8*int64(len(data)) { // a block takes a bit at least
		return nil, fmt.Errorf("%d×%d pixels cannot be in %d bytes", f.width, f.height, len(data))
	}
	p.Memory = samples
	if f.progressive {
		p.Memory += 4 * samples // the coefficients, all of them until the last scan
	}
	if f.components == 4 {
		p.Memory += 4 * int64(f.width) * int64(f.height)
	}
	return p, nil
}

// readFrame reads the segment that begins a picture.
func readFrame(marker byte, body []byte) (f frame, err error) {
	if marker != 0xc0 && marker != 0xc1 && marker != 0xc2 {
		return f, fmt.Errorf("it is coded in the way %d, and only 0, 1 (sequential) and 2 (progressive) with Huffman codes are read", marker-0xc0)
	}
	if len(body) < 6 || len(body) != 6+3*int(body[5]) {
		return f, fmt.Errorf("its header of a picture has %d bytes", len(body))
	}
	if body[0] != 8 {
		return f, fmt.Errorf("its samples have %d bits, and not 8", body[0])
	}
	f = frame{height: int(binary.BigEndian.Uint16(body[1:])), width: int(binary.BigEndian.Uint16(body[3:])), progressive: marker == 0xc2, components: int(body[5])}
	if f.components != 1 && f.components != 3 && f.components != 4 {
		return f, fmt.Errorf("it has %d components, there are 1, 3 and 4", f.components)
	}
	for i := range f.components {
		f.across[i], f.down[i] = int(body[7+3*i]>>4), int(body[7+3*i]&15)
		if f.across[i] < 1 || f.across[i] > 4 || f.down[i] < 1 || f.down[i] > 4 {
			return f, fmt.Errorf("its component %d has sampling factors %d×%d, there are 1 to 4", i, f.across[i], f.down[i])
		}
	}
	if f.components == 1 {
		f.across[0], f.down[0] = 1, 1 // without meaning
	}
	return f, nil
}

// samples returns how many samples all components have, with those that fill the last blocks.
func (f *frame) samples() (n int64) {
	var across, down int
	for i := range f.components {
		across, down = max(across, f.across[i]), max(down, f.down[i])
	}
	columns, rows := int64((f.width+8*across-1)/(8*across)), int64((f.height+8*down-1)/(8*down))
	for i := range f.components {
		n += columns * rows * 64 * int64(f.across[i]*f.down[i])
	}
	return n
}

// jpegColour converts components as libjpeg and Pillow do.
func jpegColour(img image.Image, rgb *RGB) bool {
	switch img := img.(type) {
	case *image.YCbCr:
		interpolate(img, rgb, libjpegChroma, fullRange)
		return true
	case *image.CMYK:
		for y := range rgb.Height {
			from, to := img.Pix[y*img.Stride:], rgb.row(y)
			for x := range rgb.Width {
				f, t := from[4*x:4*x+4], to[3*x:3*x+3]
				light := 255 - int(f[3])
				for c := range 3 {
					v := int(f[c])*light + 128
					t[c] = byte(max(light-(v>>8+v)>>8, 0))
				}
			}
		}
		return true
	}
	return false
}
