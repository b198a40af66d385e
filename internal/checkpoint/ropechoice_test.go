package checkpoint

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"testing"
)

// ropeBases are configurations of families without anything about RoPE, which differ in how transformers 5 chooses.
var ropeBases = map[string]string{
	"llama":      `{"model_type": "llama"}`,
	"qwen3":      `{"model_type": "qwen3"}`,
	"mistral":    `{"model_type": "mistral"}`,
	"gemma2":     `{"model_type": "gemma2"}`,
	"gemma3":     `{"model_type": "gemma3_text", "sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]}`,
	"olmo3":      `{"model_type": "olmo3", "sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]}`,
	"modernbert": `{"model_type": "modernbert", "local_attention": 16, "layer_types": ["full_attention", "sliding_attention"]}`,
}

// TestRoPEIsChosenAsTransformersDoes joins every rope_scaling with every rope_parameters. The chosen one, written alone as rope_parameters, must give the
// same configuration, or an error as well.
func TestRoPEIsChosenAsTransformersDoes(t *testing.T) {
	scalings := []string{"", `null`, `{}`, `{"rope_type": "default"}`, `{"type": "linear", "factor": 2}`, `{"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64}`,
		`{"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64}`,
		`{"rope_type": "dynamic", "factor": 2}`, `{"rope_type": "linear", "factor": 2, "rope_theta": 3000}`, `{"rope_type": "linear", "factor": 2, "unknown": 1}`, `7`}
	parameters := []string{"", `null`, `{}`, `{"rope_type": "default", "rope_theta": 5000}`, `{"rope_type": "linear", "factor": 3, "rope_theta": 7000}`, `{"rope_type": "dynamic", "factor": 2}`,
		`{"full_attention": {"rope_type": "default", "rope_theta": 5000}, "sliding_attention": {"rope_type": "default", "rope_theta": 600}}`,
		`{"full_attention": {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 32}, "sliding_attention": {"rope_type": "default"}}`}
	compared, refused := 0, 0
	for name, base := range ropeBases {
		for _, scaling := range scalings {
			for _, parameter := range parameters {
				for _, theta := range []string{"", "9000"} {
					both := configWith(t, base, map[string]string{"rope_scaling": scaling, "rope_parameters": parameter, "rope_theta": theta})
					alone := configWith(t, base, map[string]string{"rope_parameters": chosen(t, name, scaling, parameter), "rope_theta": theta})
					got, err := parseConfig(both)
					want, alsoErr := parseConfig(alone)
					switch {
					case (err == nil) != (alsoErr == nil):
						t.Errorf("%s: %s gives the error %v, and %s the error %v", name, both, err, alone, alsoErr)
					case err != nil:
						refused++
					case !reflect.DeepEqual(got, want):
						t.Errorf("%s: %s gives %+v and %+v, and %s %+v and %+v", name, both, got.RoPE, got.LocalRoPE, alone, want.RoPE, want.LocalRoPE)
					default:
						compared++
					}
				}
			}
		}
	}
	t.Logf("%d configurations are the same, %d are refused", compared, refused)
	if compared < 300 || refused < 100 {
		t.Error("too few cases of one kind")
	}
}

// chosen is transformers' choice between two objects, as rope_parameters alone.
func chosen(t *testing.T, family, scaling, parameters string) string {
	t.Helper()
	var s, p map[string]any
	if json.Unmarshal([]byte(scaling), &s) != nil || len(s) == 0 {
		if scaling != "" && scaling != "null" && scaling != "{}" {
			return scaling // no object: an error
		}
		return parameters
	}
	types := map[string][]string{"gemma3": {"full_attention"}, "olmo3": {"full_attention"}, "modernbert": {"full_attention", "sliding_attention"}}[family]
	if types == nil {
		return scaling
	}
	if parameters != "" {
		if err := json.Unmarshal([]byte(parameters), &p); err != nil {
			t.Fatal(err)
		}
	}
	if p == nil {
		p = map[string]any{"full_attention": map[string]any{}, "sliding_attention": map[string]any{}}
	}
	for _, kind := range types {
		object, ok := p[kind].(map[string]any)
		if !ok {
			return "0" // an error in transformers, too
		}
		maps.Copy(object, s)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// configWith returns a small config.json with further members; "" leaves one out.
func configWith(t *testing.T, base string, members map[string]string) []byte {
	t.Helper()
	all := map[string]json.RawMessage{}
	small := `{"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 100,
		"max_position_embeddings": 128}`
	for _, text := range []string{small, base} {
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range members {
		if value != "" {
			all[key] = json.RawMessage(value)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(fmt.Errorf("%w of %s", err, base))
	}
	return text
}

// TestRoPEKeepsToTheFamilysOwn checks what decides between places: the base within rope_parameters goes before rope_theta, and the default after it.
func TestRoPEKeepsToTheFamilysOwn(t *testing.T) {
	for _, c := range []struct {
		family, scaling, parameters, theta string
		whole, local                       float64
	}{
		{"qwen3", "", `{"rope_type": "default", "rope_theta": 5000}`, "9000", 5000, 0},
		{"qwen3", `{"rope_type": "linear", "factor": 2}`, `{"rope_type": "default", "rope_theta": 5000}`, "", 10000, 0},
		{"qwen3", `{"rope_type": "linear", "factor": 2}`, `{"rope_type": "default", "rope_theta": 5000}`, "9000", 9000, 0},
		{"gemma3", `{"rope_type": "linear", "factor": 8}`, "", "", 1000000, 10000},
		{"gemma3", `{"rope_type": "linear", "factor": 8}`, `{"full_attention": {"rope_theta": 5000}, "sliding_attention": {"rope_theta": 600}}`, "", 5000, 600},
		{"olmo3", "", "", "9000", 9000, 9000},
		{"modernbert", "", "", "", 160000, 10000},
	} {
		got, err := parseConfig(configWith(t, ropeBases[c.family], map[string]string{"rope_scaling": c.scaling, "rope_parameters": c.parameters, "rope_theta": c.theta}))
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if got.RoPE.Theta != c.whole || got.LocalRoPE.Theta != c.local {
			t.Errorf("%+v: bases %g and %g", c, got.RoPE.Theta, got.LocalRoPE.Theta)
		}
		if c.family == "gemma3" && (got.RoPE.Factor != 8 || got.LocalRoPE.Scaling != "") {
			t.Errorf("%+v: the scaling %+v and %+v", c, got.RoPE, got.LocalRoPE)
		}
	}
}
