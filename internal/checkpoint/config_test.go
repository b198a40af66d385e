package checkpoint

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/model"
)

func TestConfigOfCheckpoints(t *testing.T) {
	for _, c := range []struct {
		name string
		want model.Config
	}{
		{"llama32-tied-bf16", model.Config{
			HiddenSize: 128, IntermediateSize: 256, Layers: 3, Heads: 8, KVHeads: 2, HeadDim: 16, VocabSize: 512, ContextLength: 2048,
			RMSNormEps: 1e-5, TiedEmbeddings: true, BOS: 1, EOS: []int32{2},
			RoPE: model.RoPE{Theta: 500000, Scaling: "llama3", Factor: 32, LowFreqFactor: 1, HighFreqFactor: 4, OriginalContext: 64},
		}},
		{"llama32-sharded-f16", model.Config{ // rope_parameters
			HiddenSize: 128, IntermediateSize: 256, Layers: 4, Heads: 8, KVHeads: 2, HeadDim: 16, VocabSize: 512, ContextLength: 2048,
			RMSNormEps: 1e-5, BOS: 1, EOS: []int32{2},
			RoPE: model.RoPE{Theta: 500000, Scaling: "llama3", Factor: 32, LowFreqFactor: 1, HighFreqFactor: 4, OriginalContext: 64},
		}},
		{"llama2-mha-f32", model.Config{
			HiddenSize: 128, IntermediateSize: 256, Layers: 3, Heads: 8, KVHeads: 8, HeadDim: 16, VocabSize: 512, ContextLength: 2048,
			RMSNormEps: 1e-6, BOS: 1, EOS: []int32{2}, RoPE: model.RoPE{Theta: 10000},
		}},
	} {
		dir := fixture.Path(t, "hf/"+c.name)
		got, err := Folder(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) }).Config()
		if err != nil {
			t.Fatal(err)
		}
		if !equalConfigs(*got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, *got, c.want)
		}
	}
}

// configOf reads a configuration; a nil generation is a file that does not exist.
func configOf(config, generation []byte) (*model.Config, error) {
	return folderOf(map[string][]byte{ConfigFile: config, GenerationFile: generation}).Config()
}

// folderOf is a folder in memory; nil stands for a file that does not exist.
func folderOf(files map[string][]byte) Folder {
	return func(name string) ([]byte, error) {
		if data := files[name]; data != nil {
			return data, nil
		}
		return nil, fs.ErrNotExist
	}
}

func equalConfigs(a, b model.Config) bool {
	if !slices.Equal(a.EOS, b.EOS) || !slices.Equal(a.RoPE.Divisors, b.RoPE.Divisors) {
		return false
	}
	key := func(c model.Config) any {
		c.EOS, c.RoPE.Divisors = nil, nil
		return [...]any{c.HiddenSize, c.IntermediateSize, c.Layers, c.Heads, c.KVHeads, c.HeadDim, c.VocabSize, c.ContextLength,
			c.RMSNormEps, c.RoPE.Theta, c.RoPE.Scaling, c.RoPE.Factor, c.RoPE.LowFreqFactor, c.RoPE.HighFreqFactor, c.RoPE.OriginalContext,
			c.AttentionBias, c.MLPBias, c.TiedEmbeddings, c.BOS}
	}
	return key(a) == key(b)
}

const minimal = `"model_type":"llama","hidden_size":8,"intermediate_size":16,"num_hidden_layers":1,"num_attention_heads":2,"vocab_size":10,"max_position_embeddings":32`

func TestConfigDefaultsAndVariants(t *testing.T) {
	for _, c := range []struct {
		name, extra, generation string
		check                   func(c *model.Config) bool
	}{
		{"defaults", ``, ``, func(c *model.Config) bool {
			return c.KVHeads == 2 && c.HeadDim == 4 && c.RoPE.Theta == 10000 && c.RMSNormEps == 1e-6 && c.BOS == -1 && c.EOS == nil
		}},
		{"several ends", `,"eos_token_id":[3,4]`, ``, func(c *model.Config) bool { return slices.Equal(c.EOS, []int32{3, 4}) }},
		{"generation config adds ends", `,"eos_token_id":3`, `{"eos_token_id":[5,3]}`, func(c *model.Config) bool { return slices.Equal(c.EOS, []int32{3, 5}) }},
		{"null ends", `,"eos_token_id":null,"bos_token_id":null`, ``, func(c *model.Config) bool { return c.EOS == nil && c.BOS == -1 }},
		{"given head_dim", `,"head_dim":16`, ``, func(c *model.Config) bool { return c.HeadDim == 16 }},
		{"linear", `,"rope_scaling":{"type":"linear","factor":4.0}`, ``, func(c *model.Config) bool { return c.RoPE.Scaling == "linear" && c.RoPE.Factor == 4 }},
		{"default scaling", `,"rope_parameters":{"rope_type":"default","rope_theta":77}`, ``, func(c *model.Config) bool { return c.RoPE.Scaling == "" && c.RoPE.Theta == 77 }},
		{"biases", `,"attention_bias":true,"mlp_bias":true`, ``, func(c *model.Config) bool { return c.AttentionBias && c.MLPBias }},
	} {
		var generation []byte
		if c.generation != "" {
			generation = []byte(c.generation)
		}
		got, err := configOf([]byte("{"+minimal+c.extra+"}"), generation)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !c.check(got) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestConfigRefuses(t *testing.T) {
	for _, c := range []struct {
		name, text  string
		unsupported bool
	}{
		{"nothing", ``, false},
		{"no object", `[]`, false},
		{"another architecture", `{"model_type":"gpt2"}`, true},
		{"another activation", `{` + minimal + `,"hidden_act":"gelu"}`, true},
		{"partial rotation", `{` + minimal + `,"partial_rotary_factor":0.5}`, true},
		{"unknown scaling", `{` + minimal + `,"rope_scaling":{"rope_type":"dynamic","factor":2}}`, true},
		{"no sizes", `{"model_type":"llama"}`, false},
		{"absurd size", `{` + minimal + `,"hidden_size":1e15}`, false},
		{"huge size", `{` + minimal + `,"hidden_size":2000000000}`, false},
		{"negative size", `{` + minimal + `,"num_hidden_layers":-1}`, false},
		{"uneven groups", `{` + minimal + `,"num_key_value_heads":3}`, false},
		{"odd head", `{` + minimal + `,"head_dim":3}`, false},
		{"end outside the vocabulary", `{` + minimal + `,"eos_token_id":10}`, false},
		{"text as end", `{` + minimal + `,"eos_token_id":"x"}`, false},
		{"zero theta", `{` + minimal + `,"rope_theta":0}`, false},
		{"llama3 without factors", `{` + minimal + `,"rope_scaling":{"rope_type":"llama3"}}`, false},
	} {
		got, err := configOf([]byte(c.text), nil)
		if err == nil {
			t.Errorf("%s: accepted as %+v", c.name, got)
		} else if errors.Is(err, errors.ErrUnsupported) != c.unsupported {
			t.Errorf("%s: %v; unsupported should be %v", c.name, err, c.unsupported)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("{"+minimal+"}"), []byte(`{"eos_token_id":[1,2]}`))
	f.Add([]byte("{"+minimal+`,"rope_scaling":{"rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":64}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, config, generation []byte) {
		c, err := configOf(config, generation)
		if err != nil {
			return
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("accepted, but %v", err)
		}
		for _, angle := range c.RoPE.Frequencies(c.HeadDim) {
			if math.IsNaN(angle) || math.IsInf(angle, 0) {
				t.Fatalf("frequency %g of %+v", angle, c.RoPE)
			}
		}
	})
}

func TestRoPEFrequencies(t *testing.T) {
	plain := model.RoPE{Theta: 10000}
	for i, f := range plain.Frequencies(8) {
		if want := math.Pow(10000, -float64(2*i)/8); math.Abs(f/want-1) > 1e-14 {
			t.Errorf("pair %d: %g, want %g", i, f, want)
		}
	}
	linear := model.RoPE{Theta: 10000, Scaling: "linear", Factor: 4}
	for i, f := range linear.Frequencies(8) {
		if want := math.Pow(10000, -float64(2*i)/8) / 4; math.Abs(f/want-1) > 1e-14 {
			t.Errorf("linear, pair %d: %g, want %g", i, f, want)
		}
	}
	llama3 := model.RoPE{Theta: 500000, Scaling: "llama3", Factor: 32, LowFreqFactor: 1, HighFreqFactor: 4, OriginalContext: 8192}
	freqs := llama3.Frequencies(64)
	unscaled := (&model.RoPE{Theta: 500000}).Frequencies(64)
	if freqs[0] != 1 || freqs[31] != unscaled[31]/32 {
		t.Errorf("llama3: ends %g and %g, want 1 and %g", freqs[0], freqs[31], unscaled[31]/32)
	}
	for i := range freqs {
		if ratio := unscaled[i] / freqs[i]; ratio < 1-1e-12 || ratio > 32+1e-9 {
			t.Errorf("llama3, pair %d: stretched by %g", i, ratio)
		}
	}
}
