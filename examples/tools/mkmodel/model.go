package main

import (
	"context"
	"io"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/internal/model"
)

// randomModel is a model to make.
type randomModel struct {
	name       string
	config     *model.Config
	recipe     recipe
	seed       uint64
	vocabulary *vocabulary
}

// writeFile makes one file of tensors: open writes the header.
func (m *randomModel) writeFile(ctx context.Context, files *atomicfile.Set, path string, tensors []planned, first int, done func(int64),
	open func(io.Writer) (*format.TensorWriter, error)) error {
	return files.Write(path, func(f io.Writer) error {
		w, err := open(f)
		if err != nil {
			return err
		}
		if err := stream(ctx, w, tensors, m.seed, first, done); err != nil {
			return err
		}
		return w.Close()
	})
}

// size returns the bytes of tensors.
func size(tensors []planned) (n int64) {
	for i := range tensors {
		n += tensors[i].bytes()
	}
	return n
}

// counter turns the bytes of each piece into the sum that a progress function wants.
func counter(progress func(done, total int64), total int64) func(int64) {
	var sum int64
	return func(n int64) {
		sum += n
		progress(sum, total)
	}
}
