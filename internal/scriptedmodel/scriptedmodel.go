// Package scriptedmodel helps tests: it makes models that say what a script has, whatever came before their last token.
//
// Each token of the vocabulary has a successor. The model has one layer of zero matrices, so that a token's logits depend on its embedding
// alone. Embeddings are random signs, nearly orthogonal to each other, and a row of the head is the sum of the embeddings of those tokens
// that it follows. A model of the chains
//
//	"<think>", "\n", "Hm", "</think>", "Yes"
//
// says "Yes" after "</think>", also if something else than the model wrote "</think>", and then ends its turn.
package scriptedmodel

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/safetensors"
)

// Script describes a model.
type Script struct {
	Template string   // its chat template; "": no template
	Special  []string // control tokens, besides End
	Added    []string // added tokens that are text
	// Chains are texts of tokens; each token is followed by the next. No token has two successors. The last token of a chain, if it has no
	// successor in another one, is followed by End. Texts that are not added tokens are tokens that only the model writes: texts are
	// encoded as bytes, but for "
	//
	// ", which is one token.
	Chains [][]string
	BOS    string         // the token that begins a text, one of Special; "": no token
	Config map[string]any // what config.json has in addition
}

// End is the control token that ends a turn.
const End = "<|end-of-turn|>"

const (
	hidden = 256
	middle = 32
	heads  = 4

	panelRows = 16 // kernels compute that many rows of a matrix at once
)

// Write writes the model to a folder, which lasts as long as the test.
func Write(t testing.TB, s Script) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range s.files(t) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// files returns the folder's files.
func (s *Script) files(t testing.TB) map[string][]byte {
	ids := s.vocabulary()
	encode := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	config := map[string]any{
		"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "hidden_size": hidden, "intermediate_size": middle,
		"num_hidden_layers": 1, "num_attention_heads": heads, "num_key_value_heads": heads, "vocab_size": len(ids), "rms_norm_eps": 1e-5,
		"rope_theta": 10000, "max_position_embeddings": 8192, "hidden_act": "silu", "tie_word_embeddings": false, "eos_token_id": ids[End],
	}
	for key, value := range s.Config {
		config[key] = value
	}
	tokenizer := map[string]any{"eos_token": End}
	if s.Template != "" {
		tokenizer["chat_template"] = s.Template
	}
	if s.BOS != "" {
		tokenizer["bos_token"] = s.BOS
	}
	files := map[string][]byte{
		checkpoint.ConfigFile: encode(config), checkpoint.TokenizerConfigFile: encode(tokenizer), checkpoint.TokenizerFile: encode(s.tokenizer(ids)),
	}
	files[checkpoint.WeightsFile] = s.weights(t, ids, files)
	return files
}

// vocabulary numbers the tokens: the bytes, "\n\n", those of the chains, the added ones, and some that no text has.
func (s *Script) vocabulary() map[string]int {
	ids := map[string]int{}
	add := func(text string) {
		if _, ok := ids[text]; !ok {
			ids[text] = len(ids)
		}
	}
	for b := range 256 {
		add(string([]byte{byte(b)}))
	}
	add("\n\n")
	for _, chain := range s.Chains {
		for _, text := range chain {
			add(text)
		}
	}
	for _, text := range slices.Concat(s.Special, s.Added, []string{End}) {
		add(text)
	}
	for len(ids)%panelRows > 0 { // the head is then computed by kernels, as those of most published models are
		add(fmt.Sprintf("<unused%d>", len(ids)))
	}
	return ids
}

// tokenizer returns the tokenizer.json.
func (s *Script) tokenizer(ids map[string]int) any {
	type object = map[string]any
	var added []object
	special := append(slices.Clone(s.Special), End)
	vocab := object{}
	for text, id := range ids {
		vocab[bytesAsCharacters(text)] = id
	}
	for _, text := range slices.Concat(special, s.Added) {
		delete(vocab, bytesAsCharacters(text))
		added = append(added, object{
			"id": ids[text], "content": text, "special": slices.Contains(special, text), "single_word": false, "lstrip": false,
			"rstrip": false, "normalized": false,
		})
	}
	slices.SortFunc(added, func(a, b object) int { return a["id"].(int) - b["id"].(int) })
	n := bytesAsCharacters("\n")
	level := object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}
	return object{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "normalizer": nil,
		"pre_tokenizer": level, "post_processor": level, "decoder": level,
		"model": object{
			"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil, "fuse_unk": false,
			"byte_fallback": false, "vocab": vocab, "merges": []string{n + " " + n},
		},
	}
}

// bytesAsCharacters returns a text as byte-level vocabularies write it: a character for each byte.
func bytesAsCharacters(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c >= '!' && c <= '~', c >= 0xa1 && c <= 0xac, c >= 0xae:
			b.WriteRune(rune(c))
		default:
			n := 0 // how many bytes before c have no character of their own
			for other := range c {
				if other < '!' || other > '~' && other < 0xa1 || other == 0xad {
					n++
				}
			}
			b.WriteRune(rune(256 + n))
		}
	}
	return b.String()
}

// weights returns the file of weights, for the configuration among the folder's other files.
func (s *Script) weights(t testing.TB, ids map[string]int, files map[string][]byte) []byte {
	embedding, head := make([]float32, len(ids)*hidden), make([]float32, len(ids)*hidden)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range embedding {
		embedding[i] = float32(random.IntN(2)*2 - 1)
	}
	followed := map[int]bool{}
	follow := func(first, next int) {
		if followed[first] {
			return
		}
		followed[first] = true
		for i := range hidden {
			head[next*hidden+i] += embedding[first*hidden+i]
		}
	}
	successors := map[string]string{}
	for _, chain := range s.Chains {
		for i, text := range chain[:len(chain)-1] {
			if other, ok := successors[text]; ok && other != chain[i+1] {
				t.Fatalf("scriptedmodel: %q is followed by %q and by %q", text, other, chain[i+1])
			}
			successors[text] = chain[i+1]
			follow(ids[text], ids[chain[i+1]])
		}
	}
	for _, chain := range s.Chains {
		follow(ids[chain[len(chain)-1]], ids[End])
	}
	config, err := checkpoint.Folder(func(name string) ([]byte, error) {
		if data, ok := files[name]; ok {
			return data, nil
		}
		return nil, fs.ErrNotExist
	}).Config()
	if err != nil {
		t.Fatal(err)
	}
	tensors := checkpoint.Tensors(config)
	infos := make([]safetensors.TensorInfo, len(tensors))
	for i, x := range tensors {
		infos[i] = safetensors.TensorInfo{Name: x.HuggingFace.Name, DType: "F32", Shape: x.Shape}
	}
	var file strings.Builder
	w, err := safetensors.NewWriter(&file, nil, infos)
	for _, x := range tensors {
		elements := 1
		for _, n := range x.Shape {
			elements *= n
		}
		values := make([]float32, elements) // matrices of the layer are zero
		switch {
		case x.Part == model.Embedding:
			values = embedding
		case x.Part == model.OutputHead:
			values = head
		case x.Role == model.Vector:
			values = slices.Repeat([]float32{1}, elements)
		}
		data := make([]byte, 0, 4*elements)
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		if err == nil {
			err = w.WriteTensor(x.HuggingFace.Name, data)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return []byte(file.String())
}
