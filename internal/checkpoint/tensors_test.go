package checkpoint

import (
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
)

// biased is a small configuration with all that a Llama may have.
func biased() *model.Config {
	return &model.Config{
		HiddenSize: 64, IntermediateSize: 96, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 8, VocabSize: 100, ContextLength: 512,
		RMSNormEps: 1e-5, RoPE: model.RoPE{Theta: 10000, Scaling: "linear", Factor: 2}, AttentionBias: true, MLPBias: true, BOS: 1, EOS: []int32{2, 3},
	}
}

// named is a tensor of these names, without what else it may have.
func named(p model.Part, layer int, bias bool, huggingFace, gguf string, shape []int, role model.Role, headDim int) Tensor {
	inGGUF := storage.Layout{Name: gguf}
	if headDim != 0 {
		inGGUF.Rows = storage.Paired{HeadDim: headDim}
	}
	return Tensor{Tensor: model.Tensor{Part: p, Layer: layer, Bias: bias, Shape: shape, Role: role}, HuggingFace: storage.Layout{Name: huggingFace}, GGUF: inGGUF}
}

func TestTensors(t *testing.T) {
	c := biased()
	list := Tensors(c)
	if want := 3 + 2*(9+7); len(list) != want {
		t.Errorf("%d tensors, want %d", len(list), want)
	}
	seen := map[string]bool{}
	for i, w := range list {
		for _, name := range []string{w.HuggingFace.Name, w.GGUF.Name} {
			if seen[name] || !strings.HasSuffix(name, ".weight") && !strings.HasSuffix(name, ".bias") {
				t.Errorf("tensor %d is called %s: another one is, or the name has another ending", i, name)
			}
			seen[name] = true
		}
		if w.GGUF.Name != GGUF(w.Part, w.Layer, w.Bias) {
			t.Errorf("tensor %d, %v, is called %s", i, &w.Tensor, w.GGUF.Name)
		}
		if vector := len(w.Shape) == 1; vector != (w.Role == model.Vector) {
			t.Errorf("%s has the shape %v and the role %d", w.HuggingFace.Name, w.Shape, w.Role)
		}
		if w.GGUF.Rows != nil && (w.Part != model.Query && w.Part != model.Key || w.Shape[0]%c.HeadDim != 0) {
			t.Errorf("%s %v has its rows in the order %v", w.HuggingFace.Name, w.Shape, w.GGUF.Rows)
		}
		if before := max(i-1, 0); w.Layer == list[before].Layer && w.Part < list[before].Part {
			t.Errorf("%s comes after %s", w.HuggingFace.Name, list[before].HuggingFace.Name)
		}
	}
	for _, want := range []Tensor{
		named(model.Embedding, 0, false, "model.embed_tokens.weight", "token_embd.weight", []int{100, 64}, model.Lookup, 0),
		named(model.Query, 1, false, "model.layers.1.self_attn.q_proj.weight", "blk.1.attn_q.weight", []int{32, 64}, model.Linear, 8),
		named(model.Key, 1, true, "model.layers.1.self_attn.k_proj.bias", "blk.1.attn_k.bias", []int{16}, model.Vector, 8),
		named(model.AttentionOutput, 0, false, "model.layers.0.self_attn.o_proj.weight", "blk.0.attn_output.weight", []int{64, 32}, model.Linear, 0),
		named(model.Down, 0, false, "model.layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight", []int{64, 96}, model.Linear, 0),
		named(model.FeedForwardNorm, 0, false, "model.layers.0.post_attention_layernorm.weight", "blk.0.ffn_norm.weight", []int{64}, model.Vector, 0),
		named(model.OutputNorm, 0, false, "model.norm.weight", "output_norm.weight", []int{64}, model.Vector, 0),
		named(model.OutputHead, 0, false, "lm_head.weight", "output.weight", []int{100, 64}, model.Logits, 0),
	} {
		if !slices.ContainsFunc(list, func(w Tensor) bool {
			return w.Part == want.Part && w.Layer == want.Layer && w.Bias == want.Bias && w.HuggingFace.Name == want.HuggingFace.Name && w.GGUF.Name == want.GGUF.Name &&
				slices.Equal(w.Shape, want.Shape) && w.Role == want.Role && w.GGUF.Rows == want.GGUF.Rows
		}) {
			t.Errorf("%+v is not in the list", want)
		}
	}
	c.TiedEmbeddings, c.AttentionBias, c.MLPBias = true, false, false
	list = Tensors(c)
	if len(list) != 2+2*9 || list[0].Role != model.Logits || list[len(list)-1].Part != model.OutputNorm {
		t.Errorf("with tied embeddings and no biases: %+v", list)
	}
}
