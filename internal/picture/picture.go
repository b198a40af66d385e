package picture

import (
	"fmt"
	"image"
	"math"
)

// RGB is a picture of 8-bit red, green and blue.
type RGB struct {
	Width, Height int
	Pix           []byte // [Height, Width, 3], without padding
}

// newRGB allocates a picture.
func newRGB(width, height int) *RGB {
	return &RGB{Width: width, Height: height, Pix: make([]byte, 3*width*height)}
}

// row returns the bytes of row y.
func (p *RGB) row(y int) []byte { return p.Pix[3*p.Width*y : 3*p.Width*(y+1)] }

// Header is what a file says of its picture in front of it.
type Header struct {
	Format        string // "PNG", "JPEG", "GIF" or "WebP"
	Width, Height int    // of the upright picture, in pixels
	Orientation   int    // EXIF's, 1 to 8: how the file's picture is turned upright
	Memory        int64  // about how many bytes Decode holds at once, its result included
	Ignored       string // metadata that could not be read and have no effect, in words; or ""
}

// Limits bound a picture before it is decoded.
type Limits struct {
	Side   int   // pixels of the width, and of the height
	Pixels int   // pixels of the whole
	Memory int64 // bytes that decoding holds at once
}

// DefaultLimits returns bounds that photographs of 50 million pixels keep to.
func DefaultLimits() Limits { return Limits{Side: 1 << 16, Pixels: 1 << 26, Memory: 512 << 20} }

// check holds a picture's size and the memory it needs against the limits.
func (l Limits) check(format string, width, height int, memory int64) error {
	switch {
	case width <= 0 || height <= 0:
		return fmt.Errorf("the %s is %d×%d pixels: it has no pixel", format, width, height)
	case width > l.Side || height > l.Side:
		return fmt.Errorf("the %s is %d×%d pixels, at most %d are allowed a side", format, width, height, l.Side)
	case int64(width)*int64(height) > int64(l.Pixels):
		return fmt.Errorf("the %s is %d×%d = %d pixels, at most %d are allowed", format, width, height, int64(width)*int64(height), l.Pixels)
	case memory > l.Memory:
		return fmt.Errorf("the %s of %d×%d pixels takes %d bytes of memory to decode, at most %d are allowed", format, width, height, memory, l.Memory)
	}
	return nil
}

// parsed is a file with its metadata read.
type parsed struct {
	Header
	stored image.Point                  // the picture's size as the file has it, before it is turned
	decode func() (image.Image, error)  // decodes the file's picture
	colour func(image.Image, *RGB) bool // converts it as the format's own library does, or returns false; may be nil
}

// formats are the kinds of files, by how they begin. '?' stands for any byte.
var formats = [...]struct {
	name, magic string
	parse       func(data []byte) (*parsed, error)
}{
	{"PNG", "\x89PNG\r\n\x1a\n", parsePNG},
	{"JPEG", "\xff\xd8\xff", parseJPEG},
	{"GIF", "GIF8?a", parseGIF},
	{"WebP", "RIFF????WEBP", parseWebP},
}

// begins reports whether data begins with magic.
func begins(data []byte, magic string) bool {
	if len(data) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != data[i] {
			return false
		}
	}
	return true
}

// parse reads what stands around the picture, and checks it against the limits.
func parse(data []byte, limits Limits) (*parsed, error) {
	for _, f := range formats {
		if !begins(data, f.magic) {
			continue
		}
		p, err := f.parse(data)
		if err != nil {
			return nil, fmt.Errorf("reading a %s of %d bytes: %w", f.name, len(data), err)
		}
		p.Format = f.name
		pixels := int64(p.stored.X) * int64(p.stored.Y)
		if p.stored.X <= limits.Side && p.stored.Y <= limits.Side { // or pixels says nothing, and check fails
			p.Memory += 3 * pixels
			if p.Orientation > 1 {
				p.Memory += 3 * pixels
			}
		}
		if err := limits.check(f.name, p.stored.X, p.stored.Y, p.Memory); err != nil {
			return nil, err
		}
		p.Width, p.Height = p.stored.X, p.stored.Y
		if p.Orientation >= 5 {
			p.Width, p.Height = p.Height, p.Width
		}
		return p, nil
	}
	return nil, fmt.Errorf("%d bytes that begin with %q are no PNG, JPEG, GIF or WebP", len(data), data[:min(len(data), 12)])
}

// Inspect returns what the file says of its picture, or an error if the file is of another format, damaged in front of the picture, or
// beyond the limits. It takes time linear in the file's length, and next to no memory.
func Inspect(data []byte, limits Limits) (Header, error) {
	p, err := parse(data, limits)
	if err != nil {
		return Header{}, err
	}
	return p.Header, nil
}

// Decode returns the picture of a file, upright. It fails if [Inspect] fails, before it allocates, and if the picture is damaged or
// cut short.
func Decode(data []byte, limits Limits) (*RGB, error) {
	p, err := parse(data, limits)
	if err != nil {
		return nil, err
	}
	img, err := p.decode()
	if err != nil {
		return nil, fmt.Errorf("decoding a %s of %d×%d pixels: %w", p.Format, p.stored.X, p.stored.Y, err)
	}
	if size := img.Bounds().Size(); size != p.stored {
		return nil, fmt.Errorf("decoding a %s: the picture is %d×%d pixels, and its header says %d×%d", p.Format, size.X, size.Y, p.stored.X, p.stored.Y)
	}
	rgb := newRGB(p.stored.X, p.stored.Y)
	if p.colour == nil || !p.colour(img, rgb) {
		flatten(img, rgb)
	}
	return rgb.upright(p.Orientation), nil
}

// Of returns a picture that a program has in memory, on white, or an error if it is beyond the limits. Its orientation is as it is.
func Of(img image.Image, limits Limits) (*RGB, error) {
	size := img.Bounds().Size()
	memory := int64(math.MaxInt64)
	if size.X <= limits.Side && size.Y <= limits.Side {
		memory = 3 * int64(size.X) * int64(size.Y)
	}
	if err := limits.check("picture", size.X, size.Y, memory); err != nil {
		return nil, err
	}
	rgb := newRGB(size.X, size.Y)
	flatten(img, rgb)
	return rgb, nil
}
