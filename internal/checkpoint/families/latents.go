package families

import (
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// latents are the models with latent attention: DeepSeek V2 and V3 and GLM 4.7 Flash, which GGUF has under one name. In folders queries are rows of one tensor,
// for each head those that meet the latent row and those that are rotated, and what makes keys and values of the row is one tensor, too. GGUF has the latter apart,
// keys transposed. RoPE rotates neighbours. If YaRN stretches it, all scores are multiplied by the square of its factor. GGUF files from before
// keys and values were apart are refused.
var latents = []*Family{
	{
		Name: "deepseek2", Type: "deepseek_v2", Class: "DeepseekV2ForCausalLM", paired: true, huggingFace: latentNames, rope: ropes{latent: true},
		experts:  latentExperts(model.Experts{Count: 64, Chosen: 6, Width: 1407, Scores: model.SoftmaxAll, Scale: 1}, 0),
		layersOf: latentSizes(model.Latent{Rank: 512, QueryRank: 1536, KeyDim: 128, RotatedDim: 64, ValueDim: 128}), keys: (*walking).latent, ahead: aheadLayers,
	},
	{
		Name: "deepseek_v3", Type: "deepseek_v3", Class: "DeepseekV3ForCausalLM", gguf: "deepseek2", paired: true, huggingFace: latentNames, rope: ropes{latent: true},
		experts:  latentExperts(model.Experts{Count: 256, Chosen: 8, Width: 2048, Scores: model.Sigmoid, Normalized: true, Corrected: true, Scale: 2.5}, 3),
		layersOf: latentSizes(model.Latent{Rank: 512, QueryRank: 1536, KeyDim: 128, RotatedDim: 64, ValueDim: 128}), keys: (*walking).latent, ahead: aheadLayers,
	},
	{
		Name: "glm4_moe_lite", Type: "glm4_moe_lite", Class: "Glm4MoeLiteForCausalLM", gguf: "deepseek2", paired: true, huggingFace: latentNames, rope: ropes{latent: true},
		experts:  latentExperts(model.Experts{Count: 64, Chosen: 4, Width: 1536, Scores: model.Sigmoid, Normalized: true, Corrected: true, Scale: 1.8}, 1),
		layersOf: latentSizes(model.Latent{Rank: 512, QueryRank: 768, KeyDim: 192, RotatedDim: 64, ValueDim: 256}), keys: (*walking).latent, ahead: aheadLayers,
		defaults: defaults{eps: 1e-5},
	},
}

// latentNames are the names of the network that all tokens share.
var latentNames = map[model.Part]string{
	model.SharedGate: "mlp.shared_experts.gate_proj", model.SharedUp: "mlp.shared_experts.up_proj", model.SharedDown: "mlp.shared_experts.down_proj",
}

// latentExperts is the rule of experts, without any in the first dense layers if nothing is said. DeepSeek V2's weights are not divided by their sum.
func latentExperts(usual model.Experts, dense int) *expertRule {
	return &expertRule{Experts: usual, each: eachQwen, stacked: stackedQwen, count: []string{"n_routed_experts"}, width: []string{"moe_intermediate_size"},
		perShared: "n_shared_experts", normalized: usual.Normalized, scale: "routed_scaling_factor", leading: "first_k_dense_replace", dense: dense, groups: true}
}

// The keys of GGUF's metadata for latent attention, after the architecture's name and a dot. Its key_length is the length of a row of the cache.
const (
	latentRankKey      = "attention.kv_lora_rank"
	latentQueryRankKey = "attention.q_lora_rank"
	latentKeyKey       = "attention.key_length_mla" // of a head's key, with the rotated elements
	latentValueKey     = "attention.value_length_mla"
)

// latentSizes returns a function that walks over the sizes of latent attention. usual are those that config.json need not say.
func latentSizes(usual model.Latent) func(*walking, *keys.Walk) {
	return func(c *walking, k *keys.Walk) {
		l := &c.Latent
		key := l.KeyDim + l.RotatedDim
		switch {
		case k.ReadsFolder():
			*l = usual
			k.Int("kv_lora_rank", "", &l.Rank, l.Rank)
			if k.Int("q_lora_rank", "", &l.QueryRank, l.QueryRank); k.Null("q_lora_rank") {
				l.QueryRank = 0
			}
			k.Int("qk_nope_head_dim", "", &l.KeyDim, l.KeyDim)
			k.Int("qk_rope_head_dim", "", &l.RotatedDim, l.RotatedDim)
			k.Int("v_head_dim", "", &l.ValueDim, l.ValueDim)
			c.HeadDim = min(l.Rank, model.MaxHeadDim+1) + min(l.RotatedDim, model.MaxHeadDim+1)
		case k.ReadsFile() && !k.Has("", latentKeyKey):
			k.Fail(unsupported.Errorf("there is no %s: the file is from before keys and values of latent attention were apart; convert the model anew", k.Key("", latentKeyKey)))
			return
		default:
			k.Int("", latentRankKey, &l.Rank, 0)
			if k.Reads() || l.QueryRank > 0 {
				k.Int("", latentQueryRankKey, &l.QueryRank, 0)
			}
			k.Int("", latentKeyKey, &key, 0)
			if k.Int("", latentValueKey, &l.ValueDim, 0); k.Reads() {
				l.RotatedDim = c.HeadDim - l.Rank
				l.KeyDim = key - l.RotatedDim
			}
		}
		if k.Reads() {
			c.KVHeads = 1
			c.Mixers = slices.Repeat([]model.Mixer{model.LatentAttention}, min(max(c.Layers, 0), model.MaxLayers))
			c.ScoreScale = 1 / math.Sqrt(float64(max(l.KeyDim+l.RotatedDim, 1)))
		}
	}
}

// latent walks over how experts are chosen, and refuses other ways than those that are implemented: DeepSeek V2 looks at a group's best expert, V3 at its best two.
func (c *walking) latent(k *keys.Walk) {
	e := &c.Experts
	switch {
	case k.ReadsFolder():
		interleaved, normalized, method, scores, every := true, e.Normalized, "", "", 1
		k.Bool("rope_interleave", "", &interleaved, true)
		k.Bool("norm_topk_prob", "", &normalized, e.Normalized)
		k.Text("topk_method", "", &method, "")
		k.Text("scoring_func", "", &scores, "")
		k.Int("moe_layer_freq", "", &every, 1)
		sigmoid, grouped := e.Scores == model.Sigmoid, "group_limited_greedy"
		if sigmoid {
			grouped = "noaux_tc"
		}
		switch {
		case !interleaved:
			k.Fail(unsupported.Errorf("rope_interleave is false; only true is implemented"))
		case c.AttentionBias:
			k.Fail(unsupported.Errorf("attention_bias is true; only false is implemented for the architecture %s", c.family.Name))
		case e.Count == 0:
		case normalized != e.Normalized:
			k.Fail(unsupported.Errorf("norm_topk_prob is %v; only %v is implemented for the architecture %s", normalized, e.Normalized, c.family.Name))
		case method != "" && method != "greedy" && method != "noaux_tc" && method != "group_limited_greedy":
			k.Fail(unsupported.Errorf("topk_method is %.100q, which is not implemented", method))
		case e.Groups > 1 && method != grouped && (method != "" || !sigmoid):
			k.Fail(unsupported.Errorf("topk_method is %.100q with n_group %d; the architecture %s chooses among groups in another way", method, e.Groups, c.family.Name))
		case scores != "" && (scores == "sigmoid") != sigmoid:
			k.Fail(unsupported.Errorf("scoring_func is %.100q, which is not implemented for the architecture %s", scores, c.family.Name))
		case every != 1:
			k.Fail(unsupported.Errorf("moe_layer_freq is %d; only 1 is implemented", every))
		}
	case k.ReadsFile() && e.Count > 0:
		first := max(slices.Index(c.FeedForwards, model.Routed), 0)
		if e.Corrected = k.HasTensor(GGUF(model.RouterCorrection, first, false)); e.Corrected && !k.Has("", expertScoresKey) {
			e.Scores = model.Sigmoid // as all models with corrections have it
		}
	}
}

// latentOfFolder notes how much of a row is rotated, and by how much YaRN multiplies scores. r is config.json's object, or nil.
func (c *walking) latentOfFolder(r *ropeJSON) error {
	c.RoPE.Rotated = c.Latent.RotatedDim
	if c.RoPE.Scaling != model.YaRN {
		return nil
	}
	if r.MScaleAll == 0 || r.MScale != r.MScaleAll || r.Attention != 0 {
		return unsupported.Errorf("mscale is %g, mscale_all_dim %g and attention_factor %g; for the architecture %s only two equal factors, and no third one, are implemented",
			r.MScale, r.MScaleAll, r.Attention, c.family.Name)
	}
	c.latentScale(r.MScaleAll)
	return nil
}

// latentOfFile does it for a GGUF file with a tenth of the factor.
func (c *walking) latentOfFile(tenth float64) error {
	r := &c.RoPE
	if usual := model.YaRNAttention(r.Factor, 1); tenth == 0 || r.Attention != usual {
		return unsupported.Errorf("%s is %g and %s %g; for the architecture %s the first must be there, and the second 1", ropeLogKey, tenth, ropeAttentionKey, r.Attention/usual, c.family.Name)
	}
	c.latentScale(10 * tenth)
	return nil
}

func (c *walking) latentScale(all float64) {
	c.RoPE.Attention = 1
	factor := model.YaRNAttention(c.RoPE.Factor, all)
	c.ScoreScale *= factor * factor
}

// latentToFile is the inverse of latentOfFile.
func (c *walking) latentToFile(k *keys.Walk) {
	l := &c.Latent
	factor := math.Sqrt(c.ScoreScale * math.Sqrt(float64(l.KeyDim+l.RotatedDim)))
	tenth := (factor - 1) / math.Log(c.RoPE.Factor)
	k.Float("", ropeLogKey, &tenth, 0)
}

// ofLatent completes the layouts of a tensor of latent attention.
func (f *Family) ofLatent(c *model.Config, of *model.Tensor, folder, file *storage.Layout) {
	l, queries := &c.Latent, [...]string{"self_attn.q_proj", "attn_q"}
	if l.QueryRank > 0 {
		queries = [...]string{"self_attn.q_b_proj", "attn_q_b"}
	}
	in := func(names [2]string, w storage.Within) {
		folder.Within, file.Within = w, w
		folder.Within.Name, file.Within.Name = nameOf(of.Part, layersHuggingFace, of.Layer, names[0], false), nameOf(of.Part, layersGGUF, of.Layer, names[1], false)
	}
	up := func(first int, transposed bool) {
		rows := l.KeyDim + l.ValueDim
		folder.Forms = []storage.Form{{Name: nameOf(of.Part, layersHuggingFace, of.Layer, "self_attn.kv_b_proj", false), Rows: rows, First: first, Step: 1, Flat: true, Transposed: transposed}}
		folder.Name = folder.Forms[0].Name
		file.Forms = []storage.Form{{Name: file.Name, Rows: of.Shape[1], Step: 1}}
	}
	rotated := func() {
		folder.Rows = storage.Paired{HeadDim: l.RotatedDim}
		file.Rows = folder.Rows
	}
	key, row := l.KeyDim+l.RotatedDim, [...]string{"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"}
	switch of.Part {
	case model.LatentQuery:
		in(queries, storage.Within{Rows: c.Heads * key, Every: key, Size: l.KeyDim})
	case model.RotatedQuery:
		in(queries, storage.Within{Rows: c.Heads * key, First: l.KeyDim, Every: key, Size: l.RotatedDim})
		rotated()
	case model.LatentRow:
		in(row, storage.Within{Rows: l.Rank + l.RotatedDim})
	case model.RotatedKey:
		in(row, storage.Within{Rows: l.Rank + l.RotatedDim, First: l.Rank})
		rotated()
	case model.KeyUp:
		up(0, true)
	case model.ValueUp:
		up(l.KeyDim, false)
	}
}
