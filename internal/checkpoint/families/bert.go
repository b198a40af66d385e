package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// berts are encoders. RoBERTa's positions begin after that of padding: folders have pad_token_id + 1 rows that nothing uses, GGUF has not. ModernBERT's
// first layer has no norm before attention; its Wi is the gate first. nomic-bert's fc12 is the gate, and fc11 is not.
var berts = []*Family{
	{
		Name: "bert", Type: "bert", Class: "BertModel", with: bertParts, without: bertLacks, huggingFace: bertNames, layers: "model.encoder.layer.", biased: true,
		unpaired: true, activation: gelu, encoding: bertEncoding, defaults: defaults{tied: true, eps: 1e-12},
	},
	{
		Name: "xlm-roberta", Type: "xlm-roberta", Class: "XLMRobertaModel", gguf: "bert", with: bertParts, without: bertLacks, huggingFace: bertNames,
		layers: "model.encoder.layer.", biased: true, unpaired: true, activation: gelu, encoding: robertaEncoding, defaults: defaults{tied: true, eps: 1e-5},
	},
	{
		Name: "roberta", Type: "roberta", Class: "RobertaModel", gguf: "bert", with: bertParts, without: bertLacks, huggingFace: bertNames,
		layers: "model.encoder.layer.", biased: true, unpaired: true, activation: gelu, encoding: robertaEncoding, defaults: defaults{tied: true, eps: 1e-5},
	},
	{
		Name: "distilbert", Type: "distilbert", Class: "DistilBertModel", gguf: "bert", without: bertLacks, layers: "model.transformer.layer.", biased: true,
		with: []model.Part{model.PositionEmbedding, model.EmbeddingNorm, model.AttentionSumNorm, model.FeedForwardSumNorm},
		huggingFace: map[model.Part]string{
			model.Embedding: "model.embeddings.word_embeddings", model.Query: "attention.q_lin", model.Key: "attention.k_lin", model.Value: "attention.v_lin",
			model.AttentionOutput: "attention.out_lin", model.AttentionSumNorm: "sa_layer_norm", model.Up: "ffn.lin1", model.Down: "ffn.lin2",
			model.FeedForwardSumNorm: "output_layer_norm",
		},
		unpaired: true, activation: gelu, keys: (*walking).distilled, defaults: defaults{tied: true, eps: 1e-12, context: 512, vocab: 30522},
		encoding: encoding{whole: true, centred: true, normBiased: true, plain: true, positions: true, heads: distilHeads},
	},
	{
		Name: "nomic-bert", Type: "nomic_bert", Class: "NomicBertModel", unpaired: true, layers: "model.encoder.layers.",
		with:    []model.Part{model.TypeEmbedding, model.EmbeddingNorm, model.AttentionSumNorm, model.FeedForwardSumNorm},
		without: []model.Part{model.AttentionNorm, model.FeedForwardNorm, model.OutputNorm},
		huggingFace: map[model.Part]string{
			model.Embedding: "model.embeddings.word_embeddings", model.EmbeddingNorm: "model.emb_ln", model.AttentionOutput: "attn.out_proj", model.AttentionSumNorm: "norm1",
			model.Gate: "mlp.fc12", model.Up: "mlp.fc11", model.Down: "mlp.fc2", model.FeedForwardSumNorm: "norm2",
		},
		fused:    map[model.Part]fusedPart{model.Query: oneQKV, model.Key: oneQKV, model.Value: oneQKV},
		encoding: encoding{whole: true, centred: true, normBiased: true}, keys: (*walking).nomic,
		rope: ropes{theta: 1000, thetaKeys: []string{"rotary_emb_base"}}, defaults: defaults{tied: true, eps: 1e-12},
	},
	{
		Name: "modern-bert", Type: "modernbert", Class: "ModernBertModel", unpaired: true, activation: gelu,
		with: []model.Part{model.EmbeddingNorm},
		huggingFace: map[model.Part]string{
			model.Embedding: "model.embeddings.tok_embeddings", model.EmbeddingNorm: "model.embeddings.norm", model.AttentionNorm: "attn_norm", model.AttentionOutput: "attn.Wo",
			model.FeedForwardNorm: "mlp_norm", model.Down: "mlp.Wo", model.OutputNorm: "model.final_norm",
		},
		fused:    map[model.Part]fusedPart{model.Query: oneQKV, model.Key: oneQKV, model.Value: oneQKV, model.Gate: modernMLP, model.Up: modernMLP},
		window:   windows{rule: exceptFirst, every: 3, types: true, key: "local_attention"},
		encoding: encoding{whole: true, centred: true, heads: modernHeads, firstWithout: []model.Part{model.AttentionNorm}},
		rope: ropes{theta: 160000, localTheta: 10000, thetaKeys: []string{"global_rope_theta"}, localKeys: []string{"local_rope_theta", "rope_local_base_freq"},
			scaledTypes: []string{wholeLayer, windowLayer}},
		defaults: defaults{tied: true, eps: 1e-5},
	},
}

// The names of BERT's tensors.
var bertNames = map[model.Part]string{
	model.Embedding: "model.embeddings.word_embeddings", model.Query: "attention.self.query", model.Key: "attention.self.key", model.Value: "attention.self.value",
	model.AttentionOutput: "attention.output.dense", model.Up: "intermediate.dense", model.Down: "output.dense",
}

var (
	bertParts       = []model.Part{model.PositionEmbedding, model.TypeEmbedding, model.EmbeddingNorm, model.AttentionSumNorm, model.FeedForwardSumNorm}
	bertLacks       = []model.Part{model.AttentionNorm, model.FeedForwardNorm, model.OutputNorm}
	bertEncoding    = encoding{whole: true, centred: true, normBiased: true, plain: true, positions: true, heads: bertHeads}
	robertaEncoding = encoding{whole: true, centred: true, normBiased: true, plain: true, positions: true, heads: robertaHeads, padded: true}
	oneQKV          = fusedPart{"attn.Wqkv", "attn_qkv", []model.Part{model.Query, model.Key, model.Value}, nil}
	modernMLP       = fusedPart{"mlp.Wi", "ffn_up", []model.Part{model.Gate, model.Up}, nil}
)

// distilled walks over DistilBERT's keys, which has others for sizes.
func (c *walking) distilled(k *keys.Walk) {
	if !k.ReadsFolder() {
		return
	}
	k.Int("dim", "", &c.HiddenSize, 768)
	k.Int("n_heads", "", &c.Heads, 12)
	k.Int("n_layers", "", &c.Layers, 6)
	k.Int("hidden_dim", "", &c.IntermediateSize, 4*768)
	if c.KVHeads = c.Heads; c.Heads > 0 {
		c.HeadDim = c.HiddenSize / c.Heads
	}
	activation := ""
	if k.Text("activation", "", &activation, gelu); activation != gelu {
		c.refuse(k, "activation")
	}
}

// nomic walks over the keys that nomic-bert's own program calls otherwise, and refuses what it may be and is not here.
func (c *walking) nomic(k *keys.Walk) {
	if !k.ReadsFolder() || !k.Has("n_embd", "") {
		return
	}
	k.Int("n_embd", "", &c.HiddenSize, 0)
	k.Int("n_head", "", &c.Heads, 0)
	k.Int("n_layer", "", &c.Layers, 0)
	k.Int("n_inner", "", &c.IntermediateSize, 0)
	k.Int("n_positions", "", &c.ContextLength, 0)
	if c.KVHeads = c.Heads; c.Heads > 0 {
		c.HeadDim = c.HiddenSize / c.Heads
	}
	for _, key := range []string{"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "prenorm", "parallel_block", "use_rms_norm", "rotary_emb_interleaved"} {
		var wrong bool
		if k.Bool(key, "", &wrong, false); wrong {
			c.refuse(k, key)
		}
	}
	experts, fraction, activation := 0, 1.0, ""
	if k.Int("moe_every_n_layers", "", &experts, 0); experts > 0 {
		c.refuse(k, "moe_every_n_layers")
	}
	if k.Float("rotary_emb_fraction", "", &fraction, 1); fraction != 1 {
		c.refuse(k, "rotary_emb_fraction")
	}
	if k.Text("activation_function", "", &activation, ""); activation != "swiglu" {
		c.refuse(k, "activation_function")
	}
}

func (c *walking) refuse(k *keys.Walk, key string) {
	k.Fail(unsupported.Errorf("%s has a value that is not implemented for the architecture %s", key, c.family.Name))
}
