package checkpoint

import (
	"slices"
	"strings"
	"testing"
)

// biased is a small configuration with all that a Llama may have.
func biased() *Config {
	return &Config{
		HiddenSize: 64, IntermediateSize: 96, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 8, VocabSize: 100, ContextLength: 512,
		RMSNormEps: 1e-5, RoPE: RoPE{Theta: 10000, Scaling: "linear", Factor: 2}, AttentionBias: true, MLPBias: true, BOS: 1, EOS: []int32{2, 3},
	}
}

// named is a tensor of these names, without what else it may have.
func named(p Part, layer int, bias bool, huggingFace, gguf string, shape []int, role Role, headDim int) Tensor {
	return Tensor{Part: p, Layer: layer, Bias: bias, HuggingFace: huggingFace, GGUF: gguf, Shape: shape, Role: role, HeadDim: headDim}
}

func TestTensors(t *testing.T) {
	c := biased()
	list := c.Tensors()
	if want := 3 + 2*(9+7); len(list) != want {
		t.Errorf("%d tensors, want %d", len(list), want)
	}
	seen := map[string]bool{}
	for i, w := range list {
		for _, name := range []string{w.HuggingFace, w.GGUF} {
			if seen[name] || !strings.HasSuffix(name, ".weight") && !strings.HasSuffix(name, ".bias") {
				t.Errorf("tensor %d is called %s: another one is, or the name has another ending", i, name)
			}
			seen[name] = true
		}
		if w.HuggingFace != w.Part.HuggingFace(w.Layer, w.Bias) || w.GGUF != w.Part.GGUF(w.Layer, w.Bias) {
			t.Errorf("tensor %d of part %d is called %s and %s", i, w.Part, w.HuggingFace, w.GGUF)
		}
		if vector := len(w.Shape) == 1; vector != (w.Role == Vector) {
			t.Errorf("%s has the shape %v and the role %d", w.HuggingFace, w.Shape, w.Role)
		}
		if w.HeadDim != 0 && (w.Part != Query && w.Part != Key || w.Shape[0]%w.HeadDim != 0) {
			t.Errorf("%s %v has rotated heads of %d", w.HuggingFace, w.Shape, w.HeadDim)
		}
		if before := max(i-1, 0); w.Layer == list[before].Layer && w.Part < list[before].Part {
			t.Errorf("%s comes after %s", w.HuggingFace, list[before].HuggingFace)
		}
	}
	for _, want := range []Tensor{
		named(Embedding, 0, false, "model.embed_tokens.weight", "token_embd.weight", []int{100, 64}, Lookup, 0),
		named(Query, 1, false, "model.layers.1.self_attn.q_proj.weight", "blk.1.attn_q.weight", []int{32, 64}, Linear, 8),
		named(Key, 1, true, "model.layers.1.self_attn.k_proj.bias", "blk.1.attn_k.bias", []int{16}, Vector, 8),
		named(AttentionOutput, 0, false, "model.layers.0.self_attn.o_proj.weight", "blk.0.attn_output.weight", []int{64, 32}, Linear, 0),
		named(Down, 0, false, "model.layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight", []int{64, 96}, Linear, 0),
		named(FeedForwardNorm, 0, false, "model.layers.0.post_attention_layernorm.weight", "blk.0.ffn_norm.weight", []int{64}, Vector, 0),
		named(OutputNorm, 0, false, "model.norm.weight", "output_norm.weight", []int{64}, Vector, 0),
		named(Head, 0, false, "lm_head.weight", "output.weight", []int{100, 64}, Logits, 0),
	} {
		if !slices.ContainsFunc(list, func(w Tensor) bool {
			return w.Part == want.Part && w.Layer == want.Layer && w.Bias == want.Bias && w.HuggingFace == want.HuggingFace && w.GGUF == want.GGUF &&
				slices.Equal(w.Shape, want.Shape) && w.Role == want.Role && w.HeadDim == want.HeadDim
		}) {
			t.Errorf("%+v is not in the list", want)
		}
	}
	c.TiedEmbeddings, c.AttentionBias, c.MLPBias = true, false, false
	list = c.Tensors()
	if len(list) != 2+2*9 || list[0].Role != Logits || list[len(list)-1].Part != OutputNorm {
		t.Errorf("with tied embeddings and no biases: %+v", list)
	}
}

func TestRowsOfRotatedHeads(t *testing.T) {
	for _, c := range []struct {
		headDim int
		halved  []int // where Hugging Face has GGUF's rows
	}{
		{8, []int{0, 4, 1, 5, 2, 6, 3, 7}},
		{4, []int{0, 2, 1, 3, 4, 6, 5, 7}},
		{2, []int{0, 1, 2, 3, 4, 5, 6, 7}},
	} {
		for row, want := range c.halved {
			if got := HalvedRow(row, c.headDim); got != want {
				t.Errorf("heads of %d: GGUF's row %d is Hugging Face's row %d, want %d", c.headDim, row, got, want)
			}
		}
	}
	for headDim := 2; headDim <= 256; headDim += 2 {
		for row := range 3 * headDim {
			if got := PairedRow(HalvedRow(row, headDim), headDim); got != row {
				t.Fatalf("heads of %d: row %d comes back as %d", headDim, row, got)
			}
		}
	}
}

// TestPartialRows puts the rows of heads in order, half of each rotated, and finds every row once.
func TestPartialRows(t *testing.T) {
	var order []int
	for row := range 16 {
		order = append(order, Partial{8, 4}.Row(row))
	}
	if want := []int{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}; !slices.Equal(order, want) {
		t.Errorf("rows %v, want %v", order, want)
	}
	for _, p := range []Partial{{16, 12}, {16, 4}, {128, 96}, {128, 32}, {2, 2}} {
		seen := map[int]bool{}
		for row := range 3 * p.HeadDim {
			seen[p.Row(row)] = true
		}
		if len(seen) != 3*p.HeadDim || !seen[3*p.HeadDim-1] {
			t.Errorf("%+v: %d of %d rows", p, len(seen), 3*p.HeadDim)
		}
	}
}
