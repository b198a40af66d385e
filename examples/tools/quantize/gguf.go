package main

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/rare"
)

// readGGUF reads a GGUF file. Its metadata stay as they are. If the file is split, path is that of the first part.
func (s *source) readGGUF(path string) error {
	first, err := s.mapFile(path)
	if err != nil {
		return err
	}
	f, err := gguf.Parse(first.Bytes())
	if err != nil {
		return err
	}
	names, err := f.Parts(path)
	if err != nil {
		return err
	}
	if len(names) > 1 {
		parts := []*gguf.File{f}
		for i, name := range names[1:] {
			file, err := s.mapFile(name)
			if err != nil {
				return fmt.Errorf("part %d of %d: %w", i+2, len(names), err)
			}
			part, err := gguf.Parse(file.Bytes())
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			parts = append(parts, part)
		}
		if f, err = gguf.Join(parts); err != nil {
			return err
		}
	}
	var parts map[string]*checkpoint.Tensor
	if !checkpoint.IsTower(f) {
		if err := errors.Join(checkpoint.CheckArchitecture(f), checkpoint.CheckWhole(f)); err != nil {
			return err
		}
		if s.config, _, err = checkpoint.ConfigOf(f); err != nil {
			return err
		}
		parts = partsOf(s.config)
	}
	s.metadata = gguf.WithoutPartKeys(f.Metadata())
	for _, t := range f.Tensors() {
		w := weight{name: t.Name, model: parts[t.Name], dtype: t.DType, shape: t.Shape, data: t.Data, file: s.files[t.Part], offset: t.Offset}
		if w.rare = rare.Of(t.Type); w.rare != nil {
			w.dtype = w.rare.Target()
		}
		if w.dtype == 0 {
			return fmt.Errorf("tensor %s has type %v, which this module does not read", t.Name, t.Type)
		}
		s.tensors = append(s.tensors, w)
	}
	return nil
}
