package llama

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"sync"
	"weak"

	"github.com/antigravity-go/antigravity/internal/dataurl"
	"github.com/antigravity-go/antigravity/internal/picture"
)

// Image is a picture in a message, for models that see. It is immutable and safe for concurrent use.
//
// An image of a file holds the file, and not its pixels: a photograph of 12 million pixels has some 4 MB as a file, and 36 MB as pixels.
// It is decoded when a model first sees it. What a model made of an image is found again by the image's pixels, so that two files with the
// same pixels are one image to it.
type Image struct {
	encoded []byte       // the file; nil if there is only fixed
	format  string       // of the file, as package picture names it
	fixed   *picture.RGB // the pixels of an image without a file

	mu      sync.Mutex
	pixels  weak.Pointer[picture.RGB] // those decoded last, while somebody holds them
	hash    [sha256.Size]byte         // of pixels and size, if hashed
	hashed  bool
	damaged error // why the file cannot be decoded
}

// NewImage returns the image of a file: PNG, JPEG, GIF (its first frame) or WebP. The size and the memory that decoding takes are read from
// the file and bounded before anything is decoded: at most 2^16 pixels a side, 2^26 pixels and 512 MiB. A file of another format, or
// beyond these bounds, is a *ParamError; so is a damaged picture, but only when a model is to see it. The image keeps encoded, which must
// not be changed.
func NewImage(encoded []byte) (*Image, error) {
	header, err := picture.Inspect(encoded, picture.DefaultLimits())
	if err != nil {
		return nil, imageError(err)
	}
	return &Image{encoded: encoded, format: header.Format}, nil
}

// ImageOf returns the image of a picture in memory, laid on white. Its pixels are copied. The bounds are NewImage's.
func ImageOf(img image.Image) (*Image, error) {
	rgb, err := picture.Of(img, picture.DefaultLimits())
	if err != nil {
		return nil, imageError(err)
	}
	return &Image{fixed: rgb}, nil
}

// imageError is the error of an image that cannot be had.
func imageError(err error) error {
	return &ParamError{"an image", fmt.Sprintf("unreadable (%.300v)", err), "a whole PNG, JPEG, GIF or WebP within the bounds of NewImage"}
}

// decoded returns the pixels, upright and on white. The caller must not change them. They are kept only as long as somebody holds them, and
// are decoded again after that.
func (i *Image) decoded() (*picture.RGB, error) {
	if i.fixed != nil {
		return i.fixed, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.damaged != nil {
		return nil, i.damaged
	}
	if rgb := i.pixels.Value(); rgb != nil {
		return rgb, nil
	}
	rgb, err := picture.Decode(i.encoded, picture.DefaultLimits())
	if err != nil {
		i.damaged = imageError(err)
		return nil, i.damaged
	}
	i.pixels = weak.Make(rgb)
	return rgb, nil
}

// sum returns a hash of the decoded pixels and their size, which it computes once.
func (i *Image) sum() ([sha256.Size]byte, error) {
	i.mu.Lock()
	hash, ok := i.hash, i.hashed
	i.mu.Unlock()
	if ok {
		return hash, nil
	}
	rgb, err := i.decoded()
	if err != nil {
		return hash, err
	}
	h := sha256.New()
	size := binary.LittleEndian.AppendUint64(nil, uint64(rgb.Width))
	h.Write(binary.LittleEndian.AppendUint64(size, uint64(rgb.Height)))
	h.Write(rgb.Pix)
	h.Sum(hash[:0])
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hash, i.hashed = hash, true
	return hash, nil
}

// url returns a data: URL with the image's file. An image without a file becomes a PNG.
func (i *Image) url() (string, error) {
	file, format := i.encoded, i.format
	if i.fixed != nil {
		var b bytes.Buffer
		if err := png.Encode(&b, opaque{i.fixed}); err != nil {
			return "", err
		}
		file, format = b.Bytes(), "PNG"
	}
	return dataurl.Encode("image/"+strings.ToLower(format), file), nil
}

// opaque are pixels as package image has them.
type opaque struct{ *picture.RGB }

func (p opaque) ColorModel() color.Model { return color.RGBAModel }

func (p opaque) Bounds() image.Rectangle { return image.Rect(0, 0, p.Width, p.Height) }

func (p opaque) At(x, y int) color.Color {
	c := p.Pix[3*(p.Width*y+x):]
	return color.RGBA{c[0], c[1], c[2], 255}
}

// Opaque lets package png write no alpha.
func (p opaque) Opaque() bool { return true }

// size returns the width and the height of the upright picture, without decoding it.
func (i *Image) size() (width, height int, err error) {
	if i.fixed != nil {
		return i.fixed.Width, i.fixed.Height, nil
	}
	header, err := picture.Inspect(i.encoded, picture.DefaultLimits())
	if err != nil {
		return 0, 0, imageError(err)
	}
	return header.Width, header.Height, nil
}
