package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
	"github.com/antigravity-go/antigravity/tensor"
)

// granite4 writes the fixture granite as a folder of Granite 4 without experts and Mamba. Its arithmetic is the same, but keys and names
// differ, and gate and up are one tensor. changes are applied to config.json.
func granite4(t *testing.T, changes map[string]any) string {
	t.Helper()
	from, to := fixture.Path(t, "families/granite"), t.TempDir()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(to, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var config map[string]any
	if err := json.Unmarshal(read("config.json"), &config); err != nil {
		t.Fatal(err)
	}
	config["shared_intermediate_size"] = config["intermediate_size"]
	maps.Copy(config, map[string]any{
		"model_type": "granitemoehybrid", "architectures": []string{"GraniteMoeHybridForCausalLM"}, "intermediate_size": 77, "num_local_experts": 0,
		"num_experts_per_tok": 0, "layer_types": slices.Repeat([]string{"attention"}, 4), "position_embedding_type": "rope", "mamba_d_conv": 4,
	})
	maps.Copy(config, changes)
	data, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	write("config.json", data)
	file, err := safetensors.Parse(read("model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	const gate, up = "mlp.gate_proj", "mlp.up_proj"
	var infos []safetensors.TensorInfo
	var all [][]byte
	for _, s := range file.Tensors() {
		data := s.Data
		if strings.Contains(s.Name, up) {
			continue
		}
		if strings.Contains(s.Name, gate) {
			second, ok := file.Tensor(strings.Replace(s.Name, gate, up, 1))
			if !ok {
				t.Fatalf("there is no %s for %s", up, s.Name)
			}
			s.Shape[0] *= 2
			data = slices.Concat(data, second.Data)
		}
		name := strings.NewReplacer(gate, "shared_mlp.input_linear", "mlp.down_proj", "shared_mlp.output_linear").Replace(s.Name)
		infos, all = append(infos, safetensors.TensorInfo{Name: name, DType: s.DType, Shape: s.Shape}), append(all, data)
	}
	var b bytes.Buffer
	w, err := safetensors.NewWriter(&b, nil, infos)
	if err != nil {
		t.Fatal(err)
	}
	for i := range infos {
		if err := w.WriteTensor(infos[i].Name, all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write("model.safetensors", b.Bytes())
	return to
}

// prefilledAt loads a model in floats of 32 bits, and returns its logits after tokens.
func prefilledAt(t *testing.T, path string, tokens []llama.Token) []float32 {
	t.Helper()
	return prefilled(t, llamatest.Load(t, path, &llama.LoadOptions{Weights: tensor.F32}), tokens)
}

// TestGranite4WithoutMambaIsGranite compares a folder of Granite 4, and its GGUF file, with Granite's golden logits.
func TestGranite4WithoutMambaIsGranite(t *testing.T) {
	g := families.ReadGolden[llama.Token](t, filepath.Join(fixture.Path(t, "families/granite"), "golden.safetensors"))
	for _, kind := range []string{"attention", "full_attention"} {
		dir := granite4(t, map[string]any{"layer_types": slices.Repeat([]string{kind}, 4)})
		for _, path := range []string{dir, families.GGUF(t, dir)} {
			if e := families.RelativeError(prefilledAt(t, path, g.Input), g.Logits[len(g.Input)-1]); e > 1e-5 {
				t.Errorf("%s, layers of type %s: relative error %.2g", path, kind, e)
			}
		}
	}
}

// TestGranite4WithoutRoPE finds that no layer rotates, in a folder and in GGUF, and that it matters.
func TestGranite4WithoutRoPE(t *testing.T) {
	dir := granite4(t, map[string]any{"position_embedding_type": "nope"})
	folder := prefilledAt(t, dir, []llama.Token{5, 9, 7, 11})
	if e := families.RelativeError(prefilledAt(t, families.GGUF(t, dir), []llama.Token{5, 9, 7, 11}), folder); e > 1e-6 {
		t.Errorf("GGUF: relative error %.2g", e)
	}
	config := llamatest.Load(t, dir, nil).Config()
	if len(config.NoRoPE) != config.Layers || slices.Contains(config.NoRoPE, false) {
		t.Errorf("layers without RoPE: %v", config.NoRoPE)
	}
	if e := families.RelativeError(folder, prefilledAt(t, granite4(t, nil), []llama.Token{5, 9, 7, 11})); e < 1e-3 {
		t.Errorf("logits with and without RoPE differ by %.2g only", e)
	}
}

// TestGranite4sOtherPartsAreRefused names what Mamba's layers may not have.
func TestGranite4sOtherPartsAreRefused(t *testing.T) {
	for _, c := range []struct {
		want    string
		changes map[string]any
	}{
		{"no layer has attention", map[string]any{"layer_types": nil, "mamba_n_heads": 4}},
		{"mamba_n_groups is 2", mamba("mamba_n_groups", 2)},
		{"mamba_proj_bias", mamba("mamba_proj_bias", true)},
		{"time_step_limit", mamba("time_step_limit", []float64{0.001, 0.1})},
	} {
		_, err := llama.Load(granite4(t, c.changes), nil)
		if !errors.Is(err, llama.ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want an error that names %q", c.changes, err, c.want)
		}
	}
	if _, err := llama.Load(granite4(t, map[string]any{"layer_types": []string{"attention"}}), nil); err == nil || errors.Is(err, llama.ErrUnsupported) {
		t.Errorf("too few types of layers: %v", err)
	}
}

// mamba is changes that give Granite 4 layers with Mamba, and a key of theirs a value.
func mamba(key string, value any) map[string]any {
	return map[string]any{"layer_types": []string{"mamba", "attention", "mamba", "mamba"}, "mamba_n_heads": 4, key: value}
}
