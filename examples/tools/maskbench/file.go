package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/llama"
)

// schema is a line of MaskBench's file: a schema, and documents that it must let through or refuse.
type schema struct {
	ID     string          `json:"id"`
	Schema json.RawMessage `json:"schema"`
	Tests  []document      `json:"tests"`
}

// document is a document and whether it fits its schema.
type document struct {
	Valid bool            `json:"valid"`
	Data  json.RawMessage `json:"data"`
}

// open opens a file that may be compressed with gzip.
func open(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return f, err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

// lines ranges over the lines of a file that may be compressed, without those that are empty. A line is valid until the next.
func lines(path string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		r := bufio.NewReaderSize(f, 1<<20)
		var line []byte
		for {
			part, err := r.ReadSlice('\n')
			line = append(line, part...)
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && err != io.EOF {
				yield(nil, fmt.Errorf("read %s: %w", path, err))
				return
			}
			if len(bytes.TrimSpace(line)) > 0 && !yield(line, nil) || err == io.EOF {
				return
			}
			line = line[:0]
		}
	}
}

// schemas ranges over a file's schemas: all of them if most is 0, otherwise at most most of them, spread evenly over the file.
func schemas(path string, most int) iter.Seq2[*schema, error] {
	return func(yield func(*schema, error) bool) {
		total := 0
		if most > 0 {
			for _, err := range lines(path) {
				if err != nil {
					yield(nil, err)
					return
				}
				total++
			}
		}
		number, taken := 0, 0
		for line, err := range lines(path) {
			if err != nil {
				yield(nil, err)
				return
			}
			number++
			if most > 0 && most < total && number*most/total == taken {
				continue
			}
			taken++
			s := new(schema)
			if err := json.Unmarshal(line, s); err != nil {
				yield(nil, fmt.Errorf("%s, line %d: %w", path, number, err))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// loadTokenizer is llama.LoadTokenizer, which it hands a file that is compressed with gzip in a form that is not.
func loadTokenizer(path string) (*llama.Tokenizer, error) {
	if !strings.HasSuffix(path, ".gz") {
		return llama.LoadTokenizer(path)
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	folder, err := os.MkdirTemp("", "maskbench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	plain := filepath.Join(folder, checkpoint.TokenizerFile)
	to, err := os.Create(plain)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(to, f)
	if err = errors.Join(err, to.Close()); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", path, err)
	}
	return llama.LoadTokenizer(plain)
}
