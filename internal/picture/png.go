package picture

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
)

// deflateRatio is the most bytes that one byte of a deflate stream can stand for.
const deflateRatio = 1032

// maxProfile bounds the text of a compressed chunk that may have EXIF.
const maxProfile = 1 << 20

// parsePNG walks over the chunks of a PNG.
func parsePNG(data []byte) (*parsed, error) {
	var meta metadata
	var ihdr []byte
	var compressed int64 // bytes of picture
	transparent := false // a palette, grey or RGB with transparency
	for rest := data[8:]; len(rest) >= 8; {
		length, kind := binary.BigEndian.Uint32(rest), string(rest[4:8])
		if uint64(length) > uint64(len(rest)-8) {
			if ihdr == nil || compressed == 0 && kind != "IDAT" {
				return nil, fmt.Errorf("its chunk %q has %d bytes, and %d bytes are left", kind, length, len(rest)-8)
			}
			break // the decoder finds that the picture is cut short
		}
		body := rest[8 : 8+length]
		rest = rest[8+length:]
		rest = rest[min(4, len(rest)):] // the checksum, which the decoder checks
		switch kind {
		case "IHDR":
			if ihdr == nil {
				ihdr = body
			}
		case "IDAT":
			compressed += int64(length)
		case "tRNS":
			transparent = true
		case "eXIf":
			meta.exif = body
		case "iTXt":
			if text, ok := bytes.CutPrefix(body, []byte("XML:com.adobe.xmp\x00\x00\x00")); ok {
				meta.xmp = text
			}
		case "tEXt", "zTXt":
			if profile := rawProfile(body, kind == "zTXt"); profile != nil && meta.exif == nil {
				meta.exif = profile
			}
		case "IEND":
			rest = nil
		}
		if ihdr == nil {
			return nil, fmt.Errorf("its first chunk is %q, and not IHDR", kind)
		}
	}
	if len(ihdr) != 13 {
		return nil, fmt.Errorf("its header has %d bytes, and not 13", len(ihdr))
	}
	width, height := binary.BigEndian.Uint32(ihdr), binary.BigEndian.Uint32(ihdr[4:])
	if width > 1<<31-1 || height > 1<<31-1 {
		return nil, fmt.Errorf("it is %d×%d pixels, at most 2147483647 are possible a side", width, height)
	}
	depth, colour, interlaced := int64(ihdr[8]), ihdr[9], ihdr[12] != 0

	// The bytes of a pixel in the file, and in the decoder's picture.
	var bits, held int64
	switch colour {
	case 0:
		bits, held = depth, max(1, depth/8)
	case 2:
		bits, held = 3*depth, 4*max(1, depth/8)
	case 3:
		bits, held = depth, 1
	case 4:
		bits, held = 2*depth, 4*max(1, depth/8)
	case 6:
		bits, held = 4*depth, 4*max(1, depth/8)
	default:
		return nil, fmt.Errorf("its colour type is %d, there are 0, 2, 3, 4 and 6", colour)
	}
	if transparent && colour == 0 {
		held = 4 * max(1, depth/8)
	}
	if interlaced {
		held *= 2 // each pass is a picture until it has its place
	}
	p := &parsed{stored: image.Pt(int(width), int(height)), decode: func() (image.Image, error) { return png.Decode(bytes.NewReader(data)) }}
	p.Orientation, p.Ignored = meta.orientation()
	if pixels := uint64(width) * uint64(height); pixels < 1<<48 {
		p.Memory = held * int64(pixels)
		if int64(pixels)*bits/8 > deflateRatio*compressed {
			return nil, fmt.Errorf("%d×%d pixels of %d bits cannot be in %d compressed bytes", width, height, bits, compressed)
		}
	}
	return p, nil
}

// rawProfile returns the EXIF block of a text chunk as ImageMagick writes it, or nil: the keyword, and then in a text a line that is
// empty, the kind, the length, and hexadecimal digits.
func rawProfile(body []byte, compressed bool) []byte {
	text, ok := bytes.CutPrefix(body, []byte("Raw profile type exif\x00"))
	if !ok {
		return nil
	}
	if compressed {
		if len(text) == 0 || text[0] != 0 {
			return nil
		}
		var err error
		if text, err = inflate(text[1:]); err != nil {
			return nil
		}
	}
	lines := bytes.SplitN(text, []byte("\n"), 4)
	if len(lines) < 4 {
		return nil
	}
	digits := bytes.ReplaceAll(lines[3], []byte("\n"), nil)
	profile := make([]byte, hex.DecodedLen(len(digits)))
	if n, err := hex.Decode(profile, digits); err != nil {
		return profile[:n]
	}
	return profile
}

// inflate returns what a zlib stream of at most maxProfile bytes stands for.
func inflate(stream []byte) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxProfile+1))
	if err == nil && len(text) > maxProfile {
		err = errors.New("too long")
	}
	return text, err
}
