package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
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

// writeHuggingFace writes a folder as transformers would save it, the weights in a number of shards. Without the configuration, which is
// the first file of the set, no reader takes the folder for a model.
func (m *randomModel) writeHuggingFace(ctx context.Context, files *atomicfile.Set, dir string, shards int, progress func(done, total int64)) error {
	names, ok := plainTypes[m.recipe.linear]
	if !ok {
		return cli.Usagef("-format hf has weights of type f32, f16 or bf16; -type %v is for -format gguf", m.recipe.linear)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	config, err := checkpoint.JSON(m.config, names.torch)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name    string
		content any
	}{
		{checkpoint.ConfigFile, json.RawMessage(config)}, {checkpoint.GenerationFile, m.generationConfig()},
		{checkpoint.TokenizerFile, m.tokenizer()}, {checkpoint.TokenizerConfigFile, m.tokenizerConfig()},
	} {
		if err := writeJSON(files, filepath.Join(dir, file.name), file.content); err != nil {
			return err
		}
	}
	tensors := planHuggingFace(m.config, m.recipe.linear)
	done := counter(progress, size(tensors))
	parts := split(tensors, shards)
	where := map[string]string{}
	first := 0
	for i, part := range parts {
		name := checkpoint.ShardFile(i, len(parts))
		infos := make([]safetensors.TensorInfo, len(part))
		for j := range part {
			infos[j] = safetensors.TensorInfo{Name: part[j].name, DType: names.safetensors, Shape: part[j].dims}
			where[part[j].name] = name
		}
		err := m.writeFile(ctx, files, filepath.Join(dir, name), part, first, done, func(w io.Writer) (*format.TensorWriter, error) {
			return safetensors.NewWriter(w, map[string]string{"format": "pt"}, infos)
		})
		if err != nil {
			return err
		}
		first += len(part)
	}
	if len(parts) == 1 {
		return nil
	}
	return writeJSON(files, filepath.Join(dir, checkpoint.IndexFile),
		object{"metadata": object{"total_size": size(tensors)}, "weight_map": where})
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

func (m *randomModel) generationConfig() object {
	v := m.vocabulary
	return object{"bos_token_id": v.id(beginOfText), "eos_token_id": m.config.EOS, "pad_token_id": v.id(padding)}
}

func (m *randomModel) tokenizerConfig() object {
	v := m.vocabulary
	return object{
		"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": v.text(beginOfText), "eos_token": v.text(endOfTurn),
		"pad_token": v.text(padding), "model_max_length": m.config.ContextLength, "chat_template": chatTemplate,
	}
}

// tokenizer is the vocabulary in the form of Hugging Face's tokenizers library.
func (m *randomModel) tokenizer() object {
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
			{"type": "Split", "pattern": object{"Regex": bpe.Llama3Pattern}, "behavior": "Isolated", "invert": false},
			byteLevel(false),
		}},
		"post_processor": object{"type": "TemplateProcessing", "single": single,
			"pair":           append(single, object{"Sequence": object{"id": "B", "type_id": 1}}),
			"special_tokens": object{bos: object{"id": bos, "ids": []int32{v.id(beginOfText)}, "tokens": []string{bos}}}},
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
func writeJSON(files *atomicfile.Set, path string, content any) error {
	return files.Write(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(content)
	})
}
