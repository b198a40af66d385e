package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
)

// readFolder reads a Hugging Face folder.
func (s *source) readFolder(dir string) error {
	c, err := readConfig(dir)
	if err != nil {
		return err
	}
	shards, err := s.mapShards(dir)
	if err != nil {
		return err
	}
	if d := divisors(&c.RoPE, c.HeadDim); d != nil {
		s.tensors = append(s.tensors, *d)
	}
	for _, e := range expected(c) {
		w, err := e.find(shards)
		if err != nil {
			return err
		}
		s.tensors = append(s.tensors, *w)
	}
	s.metadata = describe(dir, c)
	return s.addVocabulary(dir, c)
}

func readConfig(dir string) (*llama.Config, error) {
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return nil, err
	}
	generation, err := readOptional(dir, "generation_config.json")
	if err != nil {
		return nil, err
	}
	return llama.ParseConfig(config, generation)
}

// readOptional returns nil for a file that does not exist.
func readOptional(dir, name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// describe writes the configuration in GGUF's keys.
func describe(dir string, c *llama.Config) []gguf.KeyValue {
	name := dir
	if absolute, err := filepath.Abs(dir); err == nil {
		name = filepath.Base(absolute)
	}
	list := []gguf.KeyValue{
		{Key: "general.architecture", Value: text("llama")},
		{Key: "general.type", Value: text("model")},
		{Key: "general.name", Value: text(name)},
		{Key: "llama.block_count", Value: number(c.Layers)},
		{Key: "llama.context_length", Value: number(c.ContextLength)},
		{Key: "llama.embedding_length", Value: number(c.HiddenSize)},
		{Key: "llama.feed_forward_length", Value: number(c.IntermediateSize)},
		{Key: "llama.attention.head_count", Value: number(c.Heads)},
		{Key: "llama.attention.head_count_kv", Value: number(c.KVHeads)},
		{Key: "llama.attention.key_length", Value: number(c.HeadDim)},
		{Key: "llama.attention.value_length", Value: number(c.HeadDim)},
		{Key: "llama.attention.layer_norm_rms_epsilon", Value: float(c.RMSNormEps)},
		{Key: "llama.rope.freq_base", Value: float(c.RoPE.Theta)},
		{Key: "llama.rope.dimension_count", Value: number(c.HeadDim)},
		{Key: "llama.vocab_size", Value: number(c.VocabSize)},
	}
	if c.RoPE.Scaling == "linear" {
		list = append(list,
			gguf.KeyValue{Key: "llama.rope.scaling.type", Value: text("linear")},
			gguf.KeyValue{Key: "llama.rope.scaling.factor", Value: float(c.RoPE.Factor)})
	}
	return list
}

const (
	weightsFile = "model.safetensors"
	indexFile   = "model.safetensors.index.json"
)

// shards are the mapped files of a folder's weights.
type shards struct {
	index *safetensors.Index // nil: there is one file
	files map[string]shard
}

type shard struct {
	tensors *safetensors.File
	file    *mmap.File
}

// mapShards maps the weights: those that the index lists where there is one.
func (s *source) mapShards(dir string) (*shards, error) {
	x := &shards{files: map[string]shard{}}
	names := []string{weightsFile}
	data, err := readOptional(dir, indexFile)
	if err != nil {
		return nil, err
	}
	if data != nil {
		if x.index, err = safetensors.ParseIndex(data); err != nil {
			return nil, fmt.Errorf("%s: %w", indexFile, err)
		}
		names = x.index.Shards()
	}
	for _, name := range names {
		f, err := s.mapFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		parsed, err := safetensors.Parse(f.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		x.files[name] = shard{parsed, f}
	}
	return x, nil
}

// weight returns the tensor of a name.
func (x *shards) weight(name string) (*weight, error) {
	in, ok := weightsFile, true
	if x.index != nil {
		in, ok = x.index.Shard(name)
	}
	var t safetensors.Tensor
	if ok {
		t, ok = x.files[in].tensors.Tensor(name)
	}
	if !ok {
		return nil, fmt.Errorf("the tensor %s is missing", name)
	}
	d, err := t.ElementType()
	if err != nil {
		return nil, err
	}
	return &weight{dtype: d, shape: t.Shape, data: t.Data, file: x.files[in].file, offset: t.Offset}, nil
}

// expectation is a tensor that the configuration asks for.
type expectation struct {
	name, huggingFace string
	shape             []int
	heads             int // of the projections that RoPE rotates
}

// find finds the tensor and checks its shape.
func (e *expectation) find(in *shards) (*weight, error) {
	w, err := in.weight(e.huggingFace)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(w.shape, e.shape) {
		return nil, fmt.Errorf("the tensor %s has the shape %v, where config.json asks for %v", e.huggingFace, w.shape, e.shape)
	}
	if !w.dtype.Format().Valid() {
		return nil, fmt.Errorf("the tensor %s has elements of type %v; weights are f32, f16 or bf16", e.huggingFace, w.dtype)
	}
	w.name, w.halves = e.name, e.heads
	return w, nil
}

// expected lists the tensors of a model, in the order of computation.
func expected(c *llama.Config) []expectation {
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	list := []expectation{{"token_embd.weight", "model.embed_tokens.weight", []int{c.VocabSize, c.HiddenSize}, 0}}
	for i := range c.Layers {
		add := func(name, huggingFace string, heads int, shape ...int) {
			list = append(list, expectation{fmt.Sprintf("blk.%d.%s", i, name), fmt.Sprintf("model.layers.%d.%s", i, huggingFace), shape, heads})
		}
		project := func(name, huggingFace string, biased bool, heads, out, in int) {
			add(name+".weight", huggingFace+".weight", heads, out, in)
			if biased {
				add(name+".bias", huggingFace+".bias", heads, out)
			}
		}
		add("attn_norm.weight", "input_layernorm.weight", 0, c.HiddenSize)
		project("attn_q", "self_attn.q_proj", c.AttentionBias, c.Heads, q, c.HiddenSize)
		project("attn_k", "self_attn.k_proj", c.AttentionBias, c.KVHeads, kv, c.HiddenSize)
		project("attn_v", "self_attn.v_proj", c.AttentionBias, 0, kv, c.HiddenSize)
		project("attn_output", "self_attn.o_proj", c.AttentionBias, 0, c.HiddenSize, q)
		add("ffn_norm.weight", "post_attention_layernorm.weight", 0, c.HiddenSize)
		project("ffn_gate", "mlp.gate_proj", c.MLPBias, 0, c.IntermediateSize, c.HiddenSize)
		project("ffn_up", "mlp.up_proj", c.MLPBias, 0, c.IntermediateSize, c.HiddenSize)
		project("ffn_down", "mlp.down_proj", c.MLPBias, 0, c.HiddenSize, c.IntermediateSize)
	}
	list = append(list, expectation{"output_norm.weight", "model.norm.weight", []int{c.HiddenSize}, 0})
	if !c.TiedEmbeddings {
		list = append(list, expectation{"output.weight", "lm_head.weight", []int{c.VocabSize, c.HiddenSize}, 0})
	}
	return list
}
