package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/tools/internal/importance"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
)

// shapes are models on which the mixes' rules differ: without weights to speak of, but of some depth.
var shapes = map[string]map[string]any{
	"deep":  {"num_hidden_layers": 32, "num_attention_heads": 4, "num_key_value_heads": 1, "hidden_size": 256, "intermediate_size": 256},
	"odd":   {"num_hidden_layers": 9, "num_attention_heads": 4, "num_key_value_heads": 4, "hidden_size": 256, "intermediate_size": 288},
	"small": {"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 96, "intermediate_size": 256, "tie_word_embeddings": true},
	"eight experts": {"model_type": "mixtral", "num_hidden_layers": 9, "num_attention_heads": 4, "num_key_value_heads": 1, "hidden_size": 256, "intermediate_size": 256,
		"num_local_experts": 8, "num_experts_per_tok": 2},
	"four experts": {"model_type": "qwen3_moe", "num_hidden_layers": 9, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 64, "hidden_size": 256,
		"intermediate_size": 256, "moe_intermediate_size": 256, "num_experts": 4, "num_experts_per_tok": 2},
	"shared expert": {"model_type": "glm4_moe", "num_hidden_layers": 9, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "hidden_size": 256,
		"intermediate_size": 256, "moe_intermediate_size": 256, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1, "first_k_dense_replace": 1},
}

// writeShape writes the folder of a shape, with an importance matrix, and returns the paths of both.
func writeShape(t *testing.T, name string) (folder, matrix string) {
	t.Helper()
	folder = t.TempDir()
	config := map[string]any{"model_type": "llama", "vocab_size": 32, "max_position_embeddings": 64, "tie_word_embeddings": false}
	for key, v := range shapes[name] {
		config[key] = v
	}
	writeZeros(t, folder, config)
	c, err := folderOf(folder).Config()
	if err != nil {
		t.Fatal(err)
	}
	m := importance.New(1)
	for _, w := range checkpoint.Tensors(c) {
		if n := len(w.Shape); strings.HasPrefix(w.GGUF.Name, "blk.") && n > 1 {
			matrices := 1
			if n == 3 { // experts
				matrices = w.Shape[0]
			}
			s, err := m.Of(w.GGUF.Name, matrices, w.Shape[n-1])
			if err != nil {
				t.Fatal(err)
			}
			for i := range matrices {
				s.Row(i, make([]float32, w.Shape[n-1]))
			}
			s.Squares[0] = 1
		}
	}
	matrix = filepath.Join(folder, "imatrix.gguf")
	if err := m.Write(matrix); err != nil {
		t.Fatal(err)
	}
	return folder, matrix
}

// planned returns the conversion that the program is asked for, before anything is written.
func planned(t *testing.T, in string, args ...string) *conversion {
	t.Helper()
	o, err := parse(append([]string{"-in", in, "-out", "out.gguf"}, args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s, err := open(in, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c := &conversion{source: s, options: o}
	if o.imatrix != "" {
		if c.importance, err = importance.Read(o.imatrix); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.plan(); err != nil {
		t.Fatal(err)
	}
	return c
}

// summary lists the types that matrices get: for each kind of them, in the order of the layers, how many have which.
func summary(c *conversion) map[string]string {
	type run struct {
		kind string
		n    int
	}
	runs := map[string][]run{}
	for _, target := range c.targets {
		t := target.info
		if len(t.Shape) < 2 {
			continue
		}
		parts := strings.Split(t.Name, ".")
		name, kind := parts[len(parts)-2], strings.ToLower(t.Type.String())
		list := runs[name]
		if n := len(list); n > 0 && list[n-1].kind == kind {
			list[n-1].n++
			continue
		}
		runs[name] = append(list, run{kind, 1})
	}
	texts := map[string]string{}
	for name, list := range runs {
		var words []string
		for _, r := range list {
			words = append(words, fmt.Sprintf("%d %s", r.n, r.kind))
		}
		texts[name] = strings.Join(words, ", ")
	}
	return texts
}

// TestMixesAreLlamaCpps compares the types of all tensors with those that llama.cpp's quantiser gives them.
func TestMixesAreLlamaCpps(t *testing.T) {
	data, err := os.ReadFile("testdata/mixes-llamacpp.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]map[string]map[string]string
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for name := range shapes {
		folder, matrix := writeShape(t, name)
		if len(golden[name]) < 15 {
			t.Errorf("%s: only %d mixes to compare with", name, len(golden[name]))
		}
		for label, want := range golden[name] {
			mix, guided := strings.CutSuffix(label, " with importance")
			args := []string{"-type", mix}
			if guided {
				args = append(args, "-imatrix", matrix)
			}
			c := planned(t, folder, args...)
			got := summary(c)
			for kind, types := range want {
				if got[kind] != types {
					t.Errorf("%s, %s: %s has %s, llama.cpp's %s", name, label, kind, got[kind], types)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s, %s: there are %v, want %v", name, label, got, want)
			}
		}
	}
}
