package main

import (
	"context"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/internal/gguf"
)

// writeGGUF writes the model as llama.cpp's tools would.
func (m *model) writeGGUF(ctx context.Context, path string, progress func(done, total int64)) error {
	tensors := plan(m.shape, m.recipe)
	infos := make([]gguf.TensorInfo, len(tensors))
	for i := range tensors {
		p := &tensors[i]
		if err := p.check(); err != nil {
			return err
		}
		kind, ok := gguf.TypeOf(p.dtype)
		if !ok {
			return fmt.Errorf("GGUF has no type for %v", p.dtype)
		}
		infos[i] = gguf.TensorInfo{Name: p.name, Type: kind, Shape: p.dims}
	}
	return m.writeFile(ctx, path, tensors, 0, counter(progress, size(tensors)), func(w io.Writer) (*format.TensorWriter, error) {
		return gguf.NewWriter(w, m.metadata(), infos)
	})
}

// The token types of GGUF.
const (
	normalToken  = 1
	controlToken = 3
)

// metadata describes the model in GGUF's keys.
func (m *model) metadata() []gguf.KeyValue {
	var list []gguf.KeyValue
	text := func(key, value string) { list = append(list, gguf.KeyValue{Key: key, Value: gguf.ValueOf(value)}) }
	number := func(key string, value int) {
		list = append(list, gguf.KeyValue{Key: key, Value: gguf.ValueOf(uint32(value))})
	}
	float := func(key string, value float64) {
		list = append(list, gguf.KeyValue{Key: key, Value: gguf.ValueOf(float32(value))})
	}
	s, v := m.shape, m.vocabulary
	text("general.architecture", "llama")
	text("general.type", "model")
	text("general.name", m.name)
	text("general.description", "random weights, for benchmarks")
	number("general.file_type", int(m.recipe.ftype))
	number("general.quantization_version", 2)
	number("llama.block_count", s.Layers)
	number("llama.context_length", s.Context)
	number("llama.embedding_length", s.Hidden)
	number("llama.feed_forward_length", s.Intermediate)
	number("llama.attention.head_count", s.Heads)
	number("llama.attention.head_count_kv", s.KVHeads)
	number("llama.attention.key_length", s.HeadDim)
	number("llama.attention.value_length", s.HeadDim)
	float("llama.attention.layer_norm_rms_epsilon", s.Eps)
	float("llama.rope.freq_base", s.Theta)
	number("llama.rope.dimension_count", s.HeadDim)
	number("llama.vocab_size", s.Vocab)

	text("tokenizer.ggml.model", "gpt2")
	text("tokenizer.ggml.pre", "llama-bpe")
	list = append(list,
		gguf.KeyValue{Key: "tokenizer.ggml.tokens", Value: gguf.ArrayOf(v.tokens)},
		gguf.KeyValue{Key: "tokenizer.ggml.token_type", Value: gguf.ArrayOf(v.types())},
		gguf.KeyValue{Key: "tokenizer.ggml.merges", Value: gguf.ArrayOf(v.joinedMerges())})
	number("tokenizer.ggml.bos_token_id", v.id(beginOfText))
	number("tokenizer.ggml.eos_token_id", v.id(endOfTurn))
	number("tokenizer.ggml.eot_token_id", v.id(endOfTurn))
	number("tokenizer.ggml.eom_token_id", v.id(endOfMsg))
	number("tokenizer.ggml.padding_token_id", v.id(padding))
	list = append(list, gguf.KeyValue{Key: "tokenizer.ggml.add_bos_token", Value: gguf.ValueOf(true)})
	text("tokenizer.chat_template", chatTemplate)
	return list
}

// types returns each token's type.
func (v *vocabulary) types() []int32 {
	list := make([]int32, len(v.tokens))
	for i := range list {
		list[i] = normalToken
		if i >= len(list)-v.specials {
			list[i] = controlToken
		}
	}
	return list
}

// joinedMerges writes each merge as "left right".
func (v *vocabulary) joinedMerges() []string {
	list := make([]string, len(v.merges))
	for i, m := range v.merges {
		list[i] = m[0] + " " + m[1]
	}
	return list
}
