package llama

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// The images of a saved session follow its tokens: how many there are, and for each a savedImage and its features, X first and then Deep. The model that
// restores them gives their rows other ids, so that the tokens change with them. If Attach then makes the same
// features of the same image, it returns the session's attachment.

// savedImage describes the features that follow.
type savedImage struct {
	Image         [32]byte // attachmentKey's fields
	Tokens        uint32
	Size          [2]uint32
	First         uint32 // of its rows' ids among the session's tokens
	FeatureRows   uint32
	Rows, Columns uint32 // of the image
	Deep          uint32 // how many features there are besides X
}

// writeImages writes the conversation's images.
func writeImages(w io.Writer, c *sequence) error {
	held := slices.Clone(c.images.held)
	slices.SortFunc(held, func(a, b *Attachment) int { return int(a.first) - int(b.first) })
	held = slices.Compact(held)
	if err := binary.Write(w, binary.LittleEndian, uint32(len(held))); err != nil {
		return err
	}
	for _, a := range held {
		is := savedImage{Image: a.key.image, Tokens: uint32(a.key.tokens), Size: [2]uint32{uint32(a.key.size[0]), uint32(a.key.size[1])},
			First: uint32(a.first), FeatureRows: uint32(a.features.Rows()), Rows: uint32(a.rows), Columns: uint32(a.columns), Deep: uint32(len(a.features.Deep))}
		if err := binary.Write(w, binary.LittleEndian, &is); err != nil {
			return err
		}
		for _, t := range a.features.Tensors() {
			if err := binary.Write(w, binary.LittleEndian, floatsOf(t)); err != nil {
				return err
			}
		}
	}
	return nil
}

// images reads images, and gives the conversation's tokens the ids of their rows.
func (in *stateReader) images(c *sequence) error {
	var count uint32
	if err := in.read(&count); err != nil {
		return err
	}
	if count == 0 || int64(count) > int64(len(c.tokens)) {
		return in.damaged(fmt.Errorf("%d images in %d tokens", count, len(c.tokens)))
	}
	ids := map[Token]Token{} // of rows: the session's → ours
	for range count {
		var is savedImage
		if err := in.read(&is); err != nil {
			return err
		}
		a, err := in.image(c, &is)
		if err != nil {
			return err
		}
		c.images.held = append(c.images.held, a) // until add holds it
		for row := range Token(is.FeatureRows) {
			ids[Token(is.First)+row] = a.first + row
		}
	}
	held := c.images.held
	c.images.held = nil
	for i, token := range c.tokens {
		if int(token) < c.config.VocabSize {
			continue
		}
		ours, ok := ids[token]
		if !ok {
			return in.damaged(fmt.Errorf("token %d belongs to no image", token))
		}
		c.tokens[i] = ours
	}
	if err := checkImages(&c.limits, c.tokens, nil); err != nil {
		return in.damaged(err)
	}
	c.images.add(&c.limits, 0, c.tokens)
	if len(c.images.held) < len(held) {
		return in.damaged(fmt.Errorf("%d images, and tokens of %d", len(held), len(c.images.held)))
	}
	return nil
}

// image reads the features of an image, and attaches them.
func (in *stateReader) image(c *sequence, is *savedImage) (*Attachment, error) {
	const mostDeep, mostRows = 64, 1 << 20
	rows, columns := int64(is.Rows), int64(is.Columns)
	if is.FeatureRows == 0 || is.FeatureRows > mostRows || is.Deep > mostDeep || rows > mostRows || columns > mostRows || rows*columns != int64(is.FeatureRows) || int64(is.First) < int64(c.config.VocabSize) {
		return nil, in.damaged(fmt.Errorf("an image of %d rows in %d×%d, with %d features more", is.FeatureRows, is.Rows, is.Columns, is.Deep))
	}
	f := &engine.Features{}
	for i := range 1 + is.Deep {
		t, err := in.floats(int(is.FeatureRows), c.config.HiddenSize)
		if err != nil {
			f.Deep = slices.DeleteFunc(f.Deep, func(t *tensor.Tensor) bool { return t == nil })
			if f.X != nil {
				f.Free()
			}
			return nil, err
		}
		if i == 0 {
			f.X = t
		} else {
			f.Deep = append(f.Deep, t)
		}
	}
	a := &Attachment{features: f, rows: int(is.Rows), columns: int(is.Columns)}
	key := attachmentKey{image: is.Image, tokens: int(is.Tokens), size: [2]int{int(is.Size[0]), int(is.Size[1])}, saved: a.sum()}
	return c.home.seen.attach(context.Background(), c.config.VocabSize, key, func() (*Attachment, error) { return a, nil })
}

// floats reads a tensor [rows, columns]. Memory grows with the numbers that are there, not with sizes that may be wrong.
func (in *stateReader) floats(rows, columns int) (*tensor.Tensor, error) {
	var values []float32
	for range rows {
		row := make([]float32, columns)
		if err := in.read(row); err != nil {
			return nil, err
		}
		values = append(values, row...)
	}
	return tensor.FromFloats(values, rows, columns)
}
