package llama

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unsafe"

	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/tensor"
)

// huggingFace is a Hugging Face folder: one safetensors file, or shards with an index.
type huggingFace struct {
	files  files
	memory tensor.Memory
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
	h = &huggingFace{files: f, memory: memory, where: map[string]string{}, shards: map[string]shard{}}
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
		return fmt.Errorf("llama: the weights %s are missing: %w", h.files.path(name), err)
	}
	if err != nil {
		return fmt.Errorf("llama: open weights: %w", err)
	}
	parsed, err := safetensors.Parse(data)
	if err != nil {
		closer.Close()
		return formatError(h.files.path(name), err)
	}
	h.shards[name] = shard{parsed, closer}
	return nil
}

// formatError wraps a parser's error with the file's name.
func formatError(path string, err error) error {
	var at *format.OffsetError
	if errors.As(err, &at) {
		return &FormatError{File: path, Offset: at.Offset, Err: at.Err}
	}
	return &FormatError{File: path, Offset: -1, Err: err}
}

func (h *huggingFace) file() string { return h.files.path("") }

func (h *huggingFace) has(name string) bool {
	_, ok := h.where[name]
	return ok
}

func (h *huggingFace) tensor(name string) (*tensor.Tensor, error) {
	file := h.where[name]
	stored, ok := h.shards[file].Tensor(name)
	if !ok {
		return nil, &FormatError{File: h.files.path(file), Offset: -1, Err: fmt.Errorf("the index places tensor %q here, but it is absent", name)}
	}
	d, err := stored.ElementType()
	if err != nil {
		return nil, fmt.Errorf("llama: %s: %w: %w", h.files.path(file), ErrUnsupported, err)
	}
	return hostTensor(d, stored.Shape, stored.Data, h.shards[file].closer, h.memory)
}

// hostTensor makes a tensor of a file's bytes: a view where they are aligned for their type, else a copy.
func hostTensor(d tensor.DType, dims []int, data []byte, owner any, memory tensor.Memory) (*tensor.Tensor, error) {
	shape, err := tensor.NewShape(dims...)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 || uintptr(unsafe.Pointer(&data[0]))%alignment(d) == 0 {
		return tensor.Wrap(nil, tensor.WrapBytes(d, data, owner, true), shape)
	}
	buffer, err := memory.Alloc(len(data), d)
	if err != nil {
		return nil, err
	}
	copy(buffer.Bytes(), data)
	return tensor.Wrap(nil, buffer, shape)
}

func (h *huggingFace) done(t *tensor.Tensor) {
	for _, s := range h.shards {
		release(s.closer, t.Data())
	}
}

// alignment returns what typed views of a type need, in bytes: blocks begin with a 16-bit scale.
func alignment(d tensor.DType) uintptr {
	if d.Quantized() {
		return 2
	}
	return uintptr(d.BlockBytes())
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
	config, err := f.read(configFile)
	if err != nil {
		return nil, fmt.Errorf("llama: read the model's configuration: %w", err)
	}
	generation, err := readOptional(f, generationFile)
	if err != nil {
		return nil, err
	}
	c, err := ParseConfig(config, generation)
	if errors.Is(err, ErrUnsupported) {
		return nil, fmt.Errorf("llama: %s: %w", f.path(configFile), err)
	}
	if err != nil {
		return nil, &FormatError{File: f.path(configFile), Offset: -1, Err: err}
	}
	return c, nil
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
		return nil, fmt.Errorf("llama: %s: %w", f.path(tokenizerFile), err)
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
	source := string(c.Template)
	if own, err := readOptional(f, templateFile); err != nil {
		return nil, err
	} else if own != nil {
		source = string(own)
	}
	if err := t.setTemplate(source, string(c.BOS), string(c.EOS)); err != nil {
		return nil, fmt.Errorf("llama: %s: %w", f.path(tokenizerConfigFile), err)
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
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(b, &list); err != nil {
		return fmt.Errorf("a chat template cannot be %.40s", b)
	}
	for _, entry := range list {
		if entry.Name == "default" {
			*t = templateText(entry.Template)
		}
	}
	return nil
}
