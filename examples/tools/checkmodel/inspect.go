package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/safetensors"
)

// stored is what a model's files say and a loaded model does not tell.
type stored struct {
	format    string            // of the files, in words
	tokenizer string            // the kind of tokenizer, in words
	types     map[string]*usage // by element type
}

// usage is how many tensors have one element type, and how many bytes they take.
type usage struct {
	tensors int
	bytes   int64
}

// add counts a tensor of an element type.
func (s *stored) add(kind string, bytes int) {
	kind = strings.ToLower(kind)
	if s.types[kind] == nil {
		s.types[kind] = &usage{}
	}
	s.types[kind].tensors++
	s.types[kind].bytes += int64(bytes)
}

// inspect reads the headers of the model's files.
func (o *options) inspect(ctx context.Context, stderr io.Writer) (*stored, error) {
	if o.model.Embedded() {
		data, err := o.model.EmbeddedFile()
		if err != nil {
			return nil, err
		}
		return inspectGGUF(data)
	}
	path, err := o.model.Fetch(ctx, stderr)
	if err != nil {
		return nil, err
	}
	return inspectPath(path)
}

// inspectPath reads the headers of a .gguf file or of a Hugging Face folder.
func inspectPath(path string) (s *stored, err error) {
	defer mmap.Catch(&err)()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return inspectHuggingFace(path)
	}
	f, err := mmap.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if s, err = inspectGGUF(f.Bytes()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func inspectGGUF(data []byte) (*stored, error) {
	f, err := gguf.Parse(data)
	if err != nil {
		return nil, err
	}
	s := &stored{format: fmt.Sprintf("GGUF version %d", f.Version()), tokenizer: checkpoint.NoTokenizer, types: map[string]*usage{}}
	for _, t := range f.Tensors() {
		s.add(t.Type.String(), len(t.Data))
	}
	if kind, ok := f.String(checkpoint.TokenizerModelKey); ok {
		s.tokenizer = strings.Clone(kind)
		if rule, ok := f.String(checkpoint.SplitRuleKey); ok {
			s.tokenizer += ", split as " + rule
		}
	}
	return s, nil
}

func inspectHuggingFace(dir string) (*stored, error) {
	files, err := filepath.Glob(filepath.Join(dir, "model*.safetensors"))
	if err != nil {
		return nil, err
	}
	s := &stored{format: fmt.Sprintf("Hugging Face, %d files of weights", len(files)), tokenizer: checkpoint.NoTokenizer, types: map[string]*usage{}}
	for _, file := range files {
		if err := s.addShard(file); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, checkpoint.TokenizerFile)); err == nil {
		var tokenizer struct{ Model struct{ Type string } }
		if json.Unmarshal(data, &tokenizer) == nil {
			s.tokenizer = checkpoint.TokenizerFile + ", " + tokenizer.Model.Type
		}
	}
	return s, nil
}

func (s *stored) addShard(path string) error {
	f, err := mmap.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	shard, err := safetensors.Parse(f.Bytes())
	if err != nil {
		return err
	}
	for _, t := range shard.Tensors() {
		s.add(t.DType, len(t.Data))
	}
	return nil
}
