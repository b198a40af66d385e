package source

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// Tokenizer is what files say of a tokenizer. Either JSON or Vocabulary is set. It needs nothing that closing the files takes away.
type Tokenizer struct {
	Path       string     // of the file, for messages
	Name       string     // what messages about things that are not supported call the file; "" if they do not name it
	JSON       []byte     // the tokenizer.json
	Vocabulary *bpe.Vocab // of a GGUF file

	Templates []checkpoint.Template // ordered by name
	BOS, EOS  string                // the tokens that begin and end a text, as a Hugging Face folder names them
	// Check compares the tokenizer of a JSON with what files next to it say, and returns what they say in vain; nil: there are no such files.
	Check func(checkpoint.Tokens) ([]checkpoint.Ignored, error)
}

// Tokenizer reads what the files say of the tokenizer; nil if they have no tokenizer: such a model computes tokens, and no text.
func (m *Model) Tokenizer() (*Tokenizer, error) {
	if m.location.name == "" {
		return folderTokenizer(m.location.files)
	}
	if g, ok := m.weights.(*ggufModel); ok {
		return g.tokenizer()
	}
	return nil, nil // the file could not be opened
}

// ReadTokenizer reads what the files at a path say of a tokenizer: a tokenizer.json of any name, a folder that holds one, or a GGUF file.
func ReadTokenizer(path string) (*Tokenizer, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(path)
	if info.IsDir() {
		dir, name = path, checkpoint.TokenizerFile
	}
	f := folder(dir)
	if !info.IsDir() {
		is, err := isGGUF(f, name)
		if err != nil {
			return nil, err
		}
		if is {
			return ggufTokenizer(f, name)
		}
	}
	if name != checkpoint.TokenizerFile {
		return otherTokenizer(f, name)
	}
	t, err := folderTokenizer(f)
	if err != nil || t != nil {
		return t, err
	}
	if only := onlyGGUF(f); only != "" {
		return nil, fmt.Errorf("llama: there is no %s; to read the tokenizer of the GGUF file in this directory, name it: %s", checkpoint.TokenizerFile, f.path(only))
	}
	return nil, fmt.Errorf("llama: there is no %s", checkpoint.TokenizerFile)
}

// folderTokenizer reads a folder's tokenizer.json and chat templates; nil if there is no tokenizer.json.
func folderTokenizer(f files) (*Tokenizer, error) {
	folder := checkpoint.Folder(f.read)
	data, err := folder.Optional(checkpoint.TokenizerFile)
	if err != nil || data == nil {
		return nil, err
	}
	c, err := folder.Chat(f.listIn)
	if err != nil {
		return nil, folderError(f, err)
	}
	return &Tokenizer{
		Path: f.path(checkpoint.TokenizerFile), Name: checkpoint.TokenizerFile, JSON: data,
		Templates: c.Templates, BOS: c.BOS, EOS: c.EOS, Check: c.Check,
	}, nil
}

// ggufTokenizer reads the tokenizer of a GGUF file.
func ggufTokenizer(f files, name string) (*Tokenizer, error) {
	g, err := openGGUF(context.Background(), f, name, new(tensor.Galloc))
	if err != nil {
		return nil, err
	}
	defer g.Close()
	t, err := g.tokenizer()
	if err == nil && t == nil {
		err = errors.New("llama: the GGUF file has no tokenizer")
	}
	return t, err
}

// tokenizer reads the embedded vocabulary and chat templates; a file without a vocabulary has no tokenizer.
func (g *ggufModel) tokenizer() (*Tokenizer, error) {
	v, err := checkpoint.VocabularyOf(g.gguf)
	if err != nil {
		return nil, Malformed(g.File(), err)
	}
	if v == nil {
		return nil, nil
	}
	templates, err := checkpoint.TemplatesOf(g.gguf)
	if err != nil {
		return nil, Malformed(g.File(), err)
	}
	t := &Tokenizer{Path: g.File(), Templates: templates}
	whole, _ := g.gguf.String(checkpoint.WholeTokenizerKey)
	if whole != "" && (v.Model == bpe.WordPieceModel || v.Model == bpe.UnigramModel) {
		// The keys of these models have no place for some steps that a tokenizer.json may have.
		t.JSON, t.BOS, t.EOS = []byte(whole), textOf(v, v.BOS), textOf(v, v.EOS)
		return t, nil
	}
	t.Vocabulary = v
	return t, nil
}

// textOf returns the text of a token; "" if there is no such token.
func textOf(v *bpe.Vocab, id int32) string {
	if id < 0 || int(id) >= len(v.Tokens) {
		return ""
	}
	return v.Tokens[id]
}

// otherTokenizer reads a tokenizer.json of another name.
func otherTokenizer(f files, name string) (*Tokenizer, error) {
	head, err := f.head(name)
	if err != nil {
		return nil, err
	}
	if kind := kindOf(head); kind != "JSON" && kind != "" {
		return nil, fmt.Errorf("the file is %s: %w; a tokenizer is a %s or a GGUF file", kind, fault.ErrUnsupported, checkpoint.TokenizerFile)
	}
	data, err := f.read(name)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{Path: f.path(name), JSON: data}, nil
}
