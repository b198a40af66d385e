package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/tensor"
)

// plainTypes are the types that a Hugging Face checkpoint may have, as safetensors and as transformers name them.
var plainTypes = map[tensor.DType]struct{ safetensors, torch string }{
	tensor.F32:  {"F32", "float32"},
	tensor.F16:  {"F16", "float16"},
	tensor.BF16: {"BF16", "bfloat16"},
}

// huggingFaceNames translates GGUF's names; "blk.N." is "model.layers.N.".
var huggingFaceNames = strings.NewReplacer(
	"blk.", "model.layers.",
	"attn_norm", "input_layernorm", "ffn_norm", "post_attention_layernorm",
	"attn_q", "self_attn.q_proj", "attn_k", "self_attn.k_proj", "attn_v", "self_attn.v_proj", "attn_output", "self_attn.o_proj",
	"ffn_gate", "mlp.gate_proj", "ffn_up", "mlp.up_proj", "ffn_down", "mlp.down_proj",
	"token_embd", "model.embed_tokens", "output_norm", "model.norm", "output.", "lm_head.",
)

// writeHuggingFace writes a folder as transformers would save it, the weights in a number of shards.
func (m *model) writeHuggingFace(ctx context.Context, dir string, shards int, progress func(done, total int64)) error {
	names, ok := plainTypes[m.recipe.linear]
	if !ok {
		return cli.Usagef("-format hf has weights of type f32, f16 or bf16; -type %v is for -format gguf", m.recipe.linear)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, content := range map[string]any{
		"config.json": m.config(names.torch), "generation_config.json": m.generationConfig(),
		"tokenizer.json": m.tokenizer(), "tokenizer_config.json": m.tokenizerConfig(),
	} {
		if err := writeJSON(filepath.Join(dir, name), content); err != nil {
			return err
		}
	}
	tensors := m.huggingFacePlan()
	done := counter(progress, size(tensors))
	files := split(tensors, shards)
	where := map[string]string{}
	first := 0
	for i, part := range files {
		name := "model.safetensors"
		if len(files) > 1 {
			name = fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(files))
		}
		infos := make([]safetensors.TensorInfo, len(part))
		for j := range part {
			infos[j] = safetensors.TensorInfo{Name: part[j].name, DType: names.safetensors, Shape: part[j].dims}
			where[part[j].name] = name
		}
		err := m.writeFile(ctx, filepath.Join(dir, name), part, first, done, func(w io.Writer) (*format.TensorWriter, error) {
			return safetensors.NewWriter(w, map[string]string{"format": "pt"}, infos)
		})
		if err != nil {
			return err
		}
		first += len(part)
	}
	if len(files) == 1 {
		return nil
	}
	return writeJSON(filepath.Join(dir, "model.safetensors.index.json"),
		object{"metadata": object{"total_size": size(tensors)}, "weight_map": where})
}

// huggingFacePlan lists the tensors under Hugging Face's names, all of one type.
func (m *model) huggingFacePlan() []planned {
	var list []planned
	for _, p := range plan(m.shape, m.recipe) {
		if p.content != nil { // RoPE's scaling is in config.json
			continue
		}
		p.name, p.dtype = huggingFaceNames.Replace(p.name), m.recipe.linear
		list = append(list, p)
	}
	return list
}

// split cuts tensors into at most n runs of about equal size.
func split(tensors []planned, n int) (parts [][]planned) {
	limit := (size(tensors) + int64(n) - 1) / int64(n)
	begin, filled := 0, int64(0)
	for i := range tensors {
		if filled += tensors[i].bytes(); filled >= limit || i == len(tensors)-1 {
			parts = append(parts, tensors[begin:i+1])
			begin, filled = i+1, 0
		}
	}
	return parts
}

type object = map[string]any

func (m *model) config(torch string) object {
	s, v := m.shape, m.vocabulary
	config := object{
		"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "torch_dtype": torch,
		"hidden_size": s.Hidden, "intermediate_size": s.Intermediate, "num_hidden_layers": s.Layers,
		"num_attention_heads": s.Heads, "num_key_value_heads": s.KVHeads, "head_dim": s.HeadDim, "hidden_act": "silu",
		"vocab_size": s.Vocab, "max_position_embeddings": s.Context, "rms_norm_eps": s.Eps, "rope_theta": s.Theta,
		"tie_word_embeddings": s.Tied, "attention_bias": false, "mlp_bias": false,
		"bos_token_id": v.id(beginOfText), "eos_token_id": v.ends(),
	}
	if s.Scaling != 0 {
		config["rope_scaling"] = object{
			"rope_type": "llama3", "factor": s.Scaling, "low_freq_factor": lowFreqFactor, "high_freq_factor": highFreqFactor,
			"original_max_position_embeddings": originalContext,
		}
	}
	return config
}

// ends are the tokens that end a turn.
func (v *vocabulary) ends() []int { return []int{v.id(endOfText), v.id(endOfMsg), v.id(endOfTurn)} }

func (m *model) generationConfig() object {
	v := m.vocabulary
	return object{"bos_token_id": v.id(beginOfText), "eos_token_id": v.ends(), "pad_token_id": v.id(padding)}
}

func (m *model) tokenizerConfig() object {
	v := m.vocabulary
	return object{
		"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": v.text(beginOfText), "eos_token": v.text(endOfTurn),
		"pad_token": v.text(padding), "model_max_length": m.shape.Context, "chat_template": chatTemplate,
	}
}

// splitRule is how Llama 3 cuts text into pieces before it merges.
const splitRule = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// tokenizer is the vocabulary in the form of Hugging Face's tokenizers library.
func (m *model) tokenizer() object {
	v := m.vocabulary
	ordinary := len(v.tokens) - v.specials
	vocab := make(map[string]int, ordinary)
	for id, token := range v.tokens[:ordinary] {
		vocab[token] = id
	}
	var added []object
	for i, token := range v.tokens[ordinary:] {
		added = append(added, object{"id": ordinary + i, "content": token, "special": true,
			"single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
	}
	bos := v.text(beginOfText)
	single := []object{
		{"SpecialToken": object{"id": bos, "type_id": 0}},
		{"Sequence": object{"id": "A", "type_id": 0}},
	}
	return object{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "normalizer": nil,
		"pre_tokenizer": object{"type": "Sequence", "pretokenizers": []object{
			{"type": "Split", "pattern": object{"Regex": splitRule}, "behavior": "Isolated", "invert": false},
			byteLevel(false),
		}},
		"post_processor": object{"type": "TemplateProcessing", "single": single,
			"pair":           append(single, object{"Sequence": object{"id": "B", "type_id": 1}}),
			"special_tokens": object{bos: object{"id": bos, "ids": []int{v.id(beginOfText)}, "tokens": []string{bos}}}},
		"decoder": byteLevel(true),
		"model": object{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil,
			"end_of_word_suffix": nil, "fuse_unk": false, "byte_fallback": false, "ignore_merges": true,
			"vocab": vocab, "merges": v.merges},
	}
}

func byteLevel(regex bool) object {
	return object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": regex}
}

// writeJSON writes a file as people read it.
func writeJSON(path string, content any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(content); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}
