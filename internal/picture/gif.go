package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
)

// parseGIF reads the screen's descriptor of a GIF.
func parseGIF(data []byte) (*parsed, error) {
	if len(data) < 13 {
		return nil, fmt.Errorf("its header is cut short: %d bytes of 13", len(data))
	}
	p := &parsed{stored: image.Pt(int(binary.LittleEndian.Uint16(data[6:])), int(binary.LittleEndian.Uint16(data[8:])))}
	p.Orientation = 1
	p.Memory = 2 * int64(p.stored.X) * int64(p.stored.Y) // the frame, and the canvas if it is larger
	p.decode = func() (image.Image, error) {
		img, err := gif.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		frame, ok := img.(*image.Paletted)
		if !ok || len(frame.Palette) == 0 {
			return nil, errors.New("it has no palette")
		}
		screen := image.Rectangle{Max: p.stored}
		if frame.Rect == screen {
			return frame, nil
		}
		if !frame.Rect.In(screen) {
			return nil, fmt.Errorf("its first frame is %v, outside of the screen %v", frame.Rect, screen)
		}
		return onCanvas(frame, screen), nil
	}
	return p, nil
}

// onCanvas puts a frame on a canvas of the palette's transparent colour, or of its first if it has no such colour.
func onCanvas(frame *image.Paletted, screen image.Rectangle) *image.Paletted {
	canvas := image.NewPaletted(screen, frame.Palette)
	for i, c := range frame.Palette {
		if n, ok := c.(color.RGBA); ok && n.A == 0 && i != 0 {
			for j := range canvas.Pix {
				canvas.Pix[j] = byte(i)
			}
			break
		}
	}
	for y := frame.Rect.Min.Y; y < frame.Rect.Max.Y; y++ {
		from := frame.Pix[frame.PixOffset(frame.Rect.Min.X, y):]
		copy(canvas.Pix[canvas.PixOffset(frame.Rect.Min.X, y):], from[:frame.Rect.Dx()])
	}
	return canvas
}
