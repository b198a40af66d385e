package source

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
)

// kindOf returns in words what kind of file begins with head; "" if that is unknown.
func kindOf(head []byte) string {
	for _, k := range []struct{ begins, is string }{
		{ggufMagic, "a GGUF file"},
		{"ggml", "a model in llama.cpp's GGML format, which GGUF has replaced"}, {"lmgg", "a model in llama.cpp's GGML format, which GGUF has replaced"},
		{"tjgg", "a model in llama.cpp's GGJT format, which GGUF has replaced"}, {"fmgg", "a model in llama.cpp's GGMF format, which GGUF has replaced"},
		{"PK\x03\x04", "a ZIP archive, or weights that PyTorch saved"}, {"\x80\x02", "a Python pickle"},
		{"\x1f\x8b", "compressed with gzip"}, {"\x28\xb5\x2f\xfd", "compressed with zstd"}, {"\xfd7zXZ", "compressed with xz"},
		{"version https://git-lfs", "a pointer of Git LFS, which stands for a file that was not downloaded"},
		{"<", "a page of HTML or XML"}, {"{", "JSON"}, {"[", "JSON"},
	} {
		if bytes.HasPrefix(head, []byte(k.begins)) {
			return k.is
		}
	}
	switch {
	case len(head) == 0:
		return "empty"
	case len(head) > 8 && head[8] == '{' && bytes.Equal(head[4:8], make([]byte, 4)):
		return "a safetensors file"
	}
	return ""
}

// ggufMagic is how GGUF files begin, whatever their names: Ollama stores them under a hash.
const ggufMagic = "GGUF"

// isGGUF reports whether a file is in the GGUF format.
func isGGUF(f files, name string) (bool, error) {
	head, err := f.head(name)
	return bytes.HasPrefix(head, []byte(ggufMagic)), err
}

// notAModel returns the error for a file that is no model: it says what kind of file it is instead.
func notAModel(f files, name string) error {
	head, err := f.head(name)
	if err != nil {
		return err
	}
	kind := kindOf(head)
	if strings.EqualFold(filepath.Ext(name), ".gguf") {
		if kind == "" {
			kind = fmt.Sprintf("something else, which begins with %.8q", head)
		}
		return &fault.FormatError{File: f.path(name), Offset: 0, Err: fmt.Errorf("the file is not in the GGUF format but %s", kind)}
	}
	if kind == "" {
		kind = fmt.Sprintf("of an unknown kind, and begins with %.8q", head)
	}
	return fmt.Errorf("the file is %s: %w; a model is a GGUF file, or the directory that holds %s and %s", kind, fault.ErrUnsupported, checkpoint.ConfigFile, checkpoint.WeightsFile)
}

// onlyGGUF returns the name of the one GGUF file of a folder, "" if there is no such file, or more than one.
func onlyGGUF(f files) (only string) {
	for _, name := range f.list() {
		if !strings.EqualFold(filepath.Ext(name), ".gguf") {
			continue
		}
		if only != "" {
			return ""
		}
		only = name
	}
	return only
}
