package families

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// berts are encoders. RoBERTa's positions begin after that of padding: folders have pad_token_id + 1 rows that nothing uses, GGUF has not. ModernBERT's
// first layer has no norm before attention; its Wi is the gate first. nomic-bert's fc12 is the gate, and fc11 is not. nomic-bert-moe (nomic-embed-text-v2-moe)
// has the same name in config.json, and biases, no gate, and experts in every second layer, the second one first. Their weights are those of a softmax of all, not
// divided by their sum. One bias is added to the sum; llama.cpp's converter leaves it out, and such files are taken as they are.
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
		layersOf: (*walking).nomicSizes,
		rope:     ropes{theta: 1000, thetaKeys: []string{"rotary_emb_base"}}, defaults: defaults{tied: true, eps: 1e-12},
	},
	{
		Name: "nomic-bert-moe", Type: "nomic_bert", Class: "NomicBertModel", unpaired: true, layers: "model.encoder.layers.", biased: true, activation: gelu,
		with:    []model.Part{model.TypeEmbedding, model.EmbeddingNorm, model.AttentionSumNorm, model.FeedForwardSumNorm, model.ExpertSumBias},
		without: []model.Part{model.AttentionNorm, model.FeedForwardNorm, model.OutputNorm},
		huggingFace: map[model.Part]string{
			model.Embedding: "model.embeddings.word_embeddings", model.EmbeddingNorm: "model.emb_ln", model.AttentionOutput: "attn.out_proj", model.AttentionSumNorm: "norm1",
			model.Up: "mlp.fc1", model.Down: "mlp.fc2", model.Router: "mlp.router.layer", model.FeedForwardSumNorm: "norm2",
		},
		fused:    map[model.Part]fusedPart{model.Query: oneQKV, model.Key: oneQKV, model.Value: oneQKV},
		encoding: encoding{whole: true, centred: true, normBiased: true, plain: true},
		experts: &expertRule{Experts: model.Experts{Count: 8, Chosen: 2, Ungated: true}, count: []string{"num_experts"},
			stacked: stackedRule{gateUp: "mlp.experts.mlp.w1", down: "mlp.experts.mlp.w2", flat: true}},
		layersOf: (*walking).nomicLayers, keys: (*walking).nomicExperts,
		rope: ropes{theta: 10000, thetaKeys: []string{"rotary_emb_base"}}, defaults: defaults{tied: true, eps: 1e-5},
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

// nomicSizes reads the sizes that nomic-bert's own program calls otherwise.
func (c *walking) nomicSizes(k *keys.Walk) {
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
}

// nomic refuses what a model of nomic-bert's own program may be and is not here.
func (c *walking) nomic(k *keys.Walk) {
	if k.ReadsFolder() && k.Has("n_embd", "") {
		c.nomicKeys(k, false, "swiglu")
	}
}

// nomicKeys reads the keys of nomic-bert's own program: whether projections have biases, and the activation, are as wanted.
func (c *walking) nomicKeys(k *keys.Walk, biased bool, wanted string) {
	flag := func(key string, right bool) {
		var is bool
		if k.Bool(key, "", &is, right); is != right {
			c.refuse(k, key)
		}
	}
	for _, key := range []string{"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"} {
		flag(key, biased)
	}
	for _, key := range []string{"prenorm", "parallel_block", "use_rms_norm", "rotary_emb_interleaved"} {
		flag(key, false)
	}
	fraction, activation := 1.0, ""
	if k.Float("rotary_emb_fraction", "", &fraction, 1); fraction != 1 {
		c.refuse(k, "rotary_emb_fraction")
	}
	if k.Text("activation_function", "", &activation, ""); activation != wanted {
		c.refuse(k, "activation_function")
	}
}

// nomicEveryKey is a key of both formats: with n, the layers 1, n + 1, 2n + 1 and so on have experts, counted from 0.
const nomicEveryKey = "moe_every_n_layers"

// nomicLayers walks over the sizes, and over which layers have experts.
func (c *walking) nomicLayers(k *keys.Walk) {
	c.nomicSizes(k)
	every := 2
	if !k.Reads() {
		if every = len(c.FeedForwards); every > 1 {
			if next := slices.Index(c.FeedForwards[2:], model.Routed); next >= 0 {
				every = next + 1
			}
		}
		if k.WritesFile() {
			k.Int("", nomicEveryKey, &every, 0)
		}
		return
	}
	if k.Int(nomicEveryKey, nomicEveryKey, &every, 2); every < 2 {
		k.Fail(unsupported.Errorf("%s is %d; for the architecture %s it is implemented from 2 on", k.Key(nomicEveryKey, nomicEveryKey), every, c.family.Name))
		return
	}
	c.FeedForwards = make([]model.FeedForward, min(max(c.Layers, 0), model.MaxLayers))
	for i := range c.FeedForwards {
		if c.FeedForwards[i] = model.Ungated; i%every == 1 {
			c.FeedForwards[i] = model.Routed
		}
	}
}

// nomicExperts walks over what distinguishes nomic-bert's experts.
func (c *walking) nomicExperts(k *keys.Walk) {
	switch {
	case k.ReadsFolder():
		c.nomicKeys(k, true, gelu)
		divisor, shared := 1, 0
		for _, key := range []string{"moe_normalize_expert_weights", "expert_choice_router"} {
			var wrong bool
			if k.Bool(key, "", &wrong, false); wrong {
				c.refuse(k, key)
			}
		}
		if k.Int("ffn_div", "", &divisor, 1); divisor != 1 {
			c.refuse(k, "ffn_div")
		}
		if k.Int("num_shared_experts", "", &shared, 0); shared != 0 {
			c.refuse(k, "num_shared_experts")
		}
	case k.ReadsFile():
		e := &c.Experts
		if !k.Has("", expertWidthKey) {
			e.Width = c.IntermediateSize
		}
		if !k.Has("", expertNormKey) {
			e.Normalized = false
		}
		if at := slices.Index(c.FeedForwards, model.Routed); at >= 0 && !k.HasTensor(GGUF(model.ExpertSumBias, at, false)) {
			c.Parts = c.Parts.Without(model.ExpertSumBias)
		}
	}
}

func (c *walking) refuse(k *keys.Walk, key string) {
	k.Fail(unsupported.Errorf("%s has a value that is not implemented for the architecture %s", key, c.family.Name))
}
