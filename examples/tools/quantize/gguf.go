package main

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/gguf"
)

// readGGUF reads a GGUF file of the llama architecture; its metadata stay as they are.
func (s *source) readGGUF(path string) error {
	file, err := s.mapFile(path)
	if err != nil {
		return err
	}
	f, err := gguf.Parse(file.Bytes())
	if err != nil {
		return err
	}
	if arch, _ := f.String("general.architecture"); arch != "llama" {
		return fmt.Errorf("general.architecture is %q; it must be llama", arch)
	}
	if n, _ := f.Uint("split.count"); n > 1 {
		return fmt.Errorf("one of %d parts of a model; join them first, with llama.cpp's gguf-split", n)
	}
	s.metadata = f.Metadata()
	for _, t := range f.Tensors() {
		if t.DType == 0 {
			return fmt.Errorf("tensor %s has type %v, which this module does not read", t.Name, t.Type)
		}
		s.tensors = append(s.tensors, weight{name: t.Name, dtype: t.DType, shape: t.Shape, data: t.Data, file: file, offset: t.Offset})
	}
	return nil
}
