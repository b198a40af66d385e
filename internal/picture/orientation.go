package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// upright returns the picture turned as EXIF's orientation asks, 1 to 8. Orientations 1 to 4 are turned in place.
//
//	orientation   the stored picture's row 0 is the upright picture's …, its column 0 the …
//	1             top, left                 5   left, top
//	2             top, right                6   right, top
//	3             bottom, right             7   right, bottom
//	4             bottom, left              8   left, bottom
func (p *RGB) upright(orientation int) *RGB {
	w, h := p.Width, p.Height
	switch orientation {
	case 2, 3, 4:
		if orientation != 4 { // mirror each row
			for y := range h {
				row := p.row(y)
				for i, j := 0, 3*(w-1); i < j; i, j = i+3, j-3 {
					a, b := (*[3]byte)(row[i:]), (*[3]byte)(row[j:])
					*a, *b = *b, *a
				}
			}
		}
		if orientation != 2 { // exchange the rows
			for i, j := 0, h-1; i < j; i, j = i+1, j-1 {
				a, b := p.row(i), p.row(j)
				for k := range a {
					a[k], b[k] = b[k], a[k]
				}
			}
		}
	case 5, 6, 7, 8:
		q := newRGB(h, w)
		for y := range h {
			column := y // row y of the stored picture becomes this column
			if orientation == 6 || orientation == 7 {
				column = h - 1 - y
			}
			row := p.row(y)
			for x := range w {
				to := x
				if orientation == 7 || orientation == 8 {
					to = w - 1 - x
				}
				*(*[3]byte)(q.Pix[3*(to*h+column):]) = *(*[3]byte)(row[3*x:])
			}
		}
		return q
	}
	return p
}

// metadata are the blocks of a file that may have an orientation.
type metadata struct {
	exif []byte // a TIFF, with or without "Exif\0\0" before it
	xmp  []byte // XML
}

// orientation returns the orientation that the blocks ask for, 1 if they do not, and what could not be read of them. A picture is never
// refused because of these: it stands as it is, as Pillow and browsers have it.
func (m metadata) orientation() (o int, ignored string) {
	o, err := exifOrientation(m.exif)
	if err != nil {
		ignored = fmt.Sprintf("EXIF of %d bytes: %v", len(m.exif), err)
	}
	if o == 0 {
		o = xmpOrientation(m.xmp)
	}
	if o < 1 || o > 8 {
		if o != 0 && ignored == "" {
			ignored = fmt.Sprintf("orientation %d: there are 1 to 8", o)
		}
		o = 1
	}
	return o, ignored
}

const (
	exifPrefix     = "Exif\x00\x00"
	orientationTag = 0x0112
)

// exifOrientation returns the orientation in the first directory of an EXIF block, or 0 if it has no such entry.
func exifOrientation(block []byte) (int, error) {
	for bytes.HasPrefix(block, []byte(exifPrefix)) {
		block = block[len(exifPrefix):]
	}
	if len(block) == 0 {
		return 0, nil
	}
	var order binary.ByteOrder
	switch {
	case begins(block, "II*\x00"):
		order = binary.LittleEndian
	case begins(block, "MM\x00*"):
		order = binary.BigEndian
	default:
		return 0, fmt.Errorf("it begins with %q, and not with II*\\0 or MM\\0*", block[:min(4, len(block))])
	}
	if len(block) < 8 {
		return 0, fmt.Errorf("its header is cut short: %d bytes of 8", len(block))
	}
	at := uint64(order.Uint32(block[4:]))
	if at+2 > uint64(len(block)) {
		return 0, fmt.Errorf("its directory begins at byte %d of %d", at, len(block))
	}
	entries := block[at+2:]
	n := int(order.Uint16(block[at:]))
	for i := range n {
		if len(entries) < 12 {
			return 0, fmt.Errorf("its directory of %d entries is cut short after %d", n, i)
		}
		entry := entries[:12]
		entries = entries[12:]
		if order.Uint16(entry) != orientationTag {
			continue
		}
		kind, count := order.Uint16(entry[2:]), order.Uint32(entry[4:])
		switch {
		case count == 1 && kind == 3: // SHORT
			return int(order.Uint16(entry[8:])), nil
		case count == 1 && kind == 4 && order.Uint32(entry[8:]) <= 8: // LONG
			return int(order.Uint32(entry[8:])), nil
		}
		return 0, fmt.Errorf("its orientation has type %d and count %d, and not type 3 and count 1", kind, count)
	}
	return 0, nil
}

// xmpOrientation returns the digit after tiff:Orientation, as an attribute or as an element, or 0 if there is no such thing.
func xmpOrientation(xmp []byte) int {
	for {
		_, after, found := bytes.Cut(xmp, []byte("tiff:Orientation"))
		if !found {
			return 0
		}
		value, ok := bytes.CutPrefix(after, []byte(`="`))
		if !ok {
			value, ok = bytes.CutPrefix(after, []byte(">"))
		}
		if ok && len(value) > 0 && '0' <= value[0] && value[0] <= '9' {
			return int(value[0] - '0')
		}
		xmp = after
	}
}
