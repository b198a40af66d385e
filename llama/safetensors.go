package llama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/tensor"
)

// huggingFace is a Hugging Face folder: one safetensors file, or shards with an index.
type huggingFace struct {
	files  files
	memory tensor.Memory
	listed string            // the file that lists the tensors: the one with the weights, or the index
	where  map[string]string // tensor to file
	shards map[string]shard
}

// shard is one open safetensors file.
type shard struct {
	*safetensors.File
	closer io.Closer
}

// The names of the files in a Hugging Face folder.
const (
	configFile          = "config.json"
	generationFile      = "generation_config.json"
	tokenizerFile       = "tokenizer.json"
	tokenizerConfigFile = "tokenizer_config.json"
	templateFile        = "chat_template.jinja"
	weightsFile         = "model.safetensors"
	indexFile           = "model.safetensors.index.json"
)

// openHuggingFace opens the weights of a folder. The index counts where there is one.
func openHuggingFace(f files, memory tensor.Memory) (h *huggingFace, err error) {
	h = &huggingFace{files: f, memory: memory, listed: weightsFile, where: map[string]string{}, shards: map[string]shard{}}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	index, err := readOptional(f, indexFile)
	if err != nil {
		return h, err
	}
	if index == nil {
		if err := h.open(weightsFile); err != nil {
			return h, err
		}
		for _, name := range h.shards[weightsFile].Names() {
			h.where[name] = weightsFile
		}
		return h, nil
	}
	h.listed = indexFile
	x, err := safetensors.ParseIndex(index)
	if err != nil {
		return h, formatError(f.path(indexFile), err)
	}
	for _, name := range x.Shards() {
		if err := h.open(name); err != nil {
			return h, err
		}
	}
	for _, name := range x.Names() {
		h.where[name], _ = x.Shard(name)
	}
	return h, nil
}

func (h *huggingFace) open(name string) error {
	data, closer, err := h.files.weights(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the weights %s are missing: %w", h.files.path(name), err)
	}
	if err != nil {
		return fmt.Errorf("open the weights: %w", err)
	}
	parsed, err := safetensors.Parse(data)
	if err != nil {
		closer.Close()
		return formatError(h.files.path(name), err)
	}
	h.shards[name] = shard{parsed, closer}
	return nil
}

// tensorError wraps what is wrong with a tensor of a file; nil stays nil. What is merely not supported is no FormatError.
func tensorError(path, name string, offset int64, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrUnsupported):
		return fmt.Errorf("the tensor %s: %w", name, err)
	}
	return &FormatError{File: path, Offset: offset, Err: fmt.Errorf("the tensor %s: %w", name, err)}
}

// formatError wraps a parser's error with the file's name.
func formatError(path string, err error) error {
	var at *format.OffsetError
	if errors.As(err, &at) {
		return &FormatError{File: path, Offset: at.Offset, Err: at.Err}
	}
	return &FormatError{File: path, Offset: -1, Err: err}
}

func (h *huggingFace) file() string { return h.files.path(h.listed) }

func (h *huggingFace) has(name string) bool {
	_, ok := h.where[name]
	return ok
}

func (h *huggingFace) find(name string) (storedTensor, error) {
	file := h.where[name]
	stored, ok := h.shards[file].Tensor(name)
	if !ok {
		return storedTensor{}, &FormatError{File: h.files.path(file), Offset: -1, Err: fmt.Errorf("the index places the tensor %s here, but it is absent", name)}
	}
	d, _ := stored.ElementType() // 0, which newStoredTensor refuses, where there is no such type
	t, err := newStoredTensor(d, stored.DType, stored.Shape, stored.Data, h.shards[file].closer)
	return t, tensorError(h.files.path(file), name, stored.Offset, err)
}

func (h *huggingFace) tensor(name string) (*tensor.Tensor, error) {
	stored, err := h.find(name)
	if err != nil {
		return nil, err
	}
	return stored.host(h.memory)
}

func (h *huggingFace) done(name string, t *tensor.Tensor) {
	release(h.shards[h.where[name]].closer, t.Data())
}

// Close closes the files.
func (h *huggingFace) Close() error {
	var errs []error
	for _, s := range h.shards {
		errs = append(errs, s.closer.Close())
	}
	return errors.Join(errs...)
}

// huggingFaceConfig reads config.json and generation_config.json.
func huggingFaceConfig(f files) (*Config, error) {
	data, err := f.read(configFile)
	if err != nil {
		return nil, fmt.Errorf("read the model's configuration: %w", err)
	}
	generation, err := readOptional(f, generationFile)
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(data)
	if err != nil {
		return nil, configError(f, configFile, err)
	}
	if err := c.addGeneration(generation); err != nil {
		return nil, configError(f, generationFile, err)
	}
	return c, nil
}

// configError wraps what is wrong with a configuration.
func configError(f files, name string, err error) error {
	if errors.Is(err, ErrUnsupported) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return &FormatError{File: f.path(name), Offset: -1, Err: err}
}

// huggingFaceTokenizer reads tokenizer.json and the chat template beside it. Without a tokenizer.json there is none: such a
// model computes tokens, and no text.
func huggingFaceTokenizer(f files) (*Tokenizer, error) {
	data, err := readOptional(f, tokenizerFile)
	if err != nil || data == nil {
		return nil, err
	}
	t, err := parseTokenizer(data)
	if errors.Is(err, ErrUnsupported) {
		return nil, fmt.Errorf("%s: %w", tokenizerFile, err)
	}
	if err != nil {
		return nil, formatError(f.path(tokenizerFile), err)
	}
	raw, err := readOptional(f, tokenizerConfigFile)
	if err != nil {
		return nil, err
	}
	var c tokenizerConfig
	if raw != nil {
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, &FormatError{File: f.path(tokenizerConfigFile), Offset: -1, Err: err}
		}
	}
	source, origin := string(c.Template), tokenizerConfigFile
	if own, err := readOptional(f, templateFile); err != nil {
		return nil, err
	} else if own != nil {
		source, origin = string(own), templateFile
	}
	if err := t.setTemplate(source, string(c.BOS), string(c.EOS)); err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	return t, nil
}

// tokenizerConfig is what we need of tokenizer_config.json.
type tokenizerConfig struct {
	BOS      tokenText    `json:"bos_token"`
	EOS      tokenText    `json:"eos_token"`
	Template templateText `json:"chat_template"`
}

// tokenText is a token's text, plain or as an object with its properties.
type tokenText string

// UnmarshalJSON reads "text", {"content": "text", …} or null.
func (t *tokenText) UnmarshalJSON(b []byte) error {
	var object struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(b, (*string)(t)) == nil {
		return nil
	}
	if err := json.Unmarshal(b, &object); err != nil {
		return fmt.Errorf("a token cannot be %.40s", b)
	}
	*t = tokenText(object.Content)
	return nil
}

// templateText is a chat template, or the one named default among several.
type templateText string

// UnmarshalJSON reads "source", [{"name": "default", "template": "source"}, …] or null.
func (t *templateText) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*string)(t)) == nil {
		return nil
	}
	list := json.NewDecoder(bytes.NewReader(b))
	if open, err := list.Token(); err != nil || open != json.Delim('[') {
		return fmt.Errorf("a chat template cannot be %.40s", b)
	}
	for list.More() { // one at a time: an entry takes more memory than its few bytes in the file
		var entry struct{ Name, Template string }
		if err := list.Decode(&entry); err != nil {
			return fmt.Errorf("a list of chat templates: %w", err)
		}
		if entry.Name == "default" {
			*t = templateText(entry.Template)
		}
	}
	return nil
}
