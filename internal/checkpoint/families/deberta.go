package families

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// debertas are DeBERTa v2 and v3: a BERT in which scores also depend on the distance of tokens (model.Relative). Tokens are mostly without positions.
var debertas = []*Family{
	{
		Name: "deberta-v2", Type: "deberta-v2", Class: "DebertaV2Model", folderOnly: true, layers: "model.encoder.layer.", biased: true, unpaired: true, activation: gelu,
		with:    []model.Part{model.PositionEmbedding, model.TypeEmbedding, model.EmbeddingNorm, model.RelativeEmbedding, model.RelativeNorm, model.AttentionSumNorm, model.FeedForwardSumNorm},
		without: bertLacks,
		huggingFace: map[model.Part]string{
			model.Embedding: "model.embeddings.word_embeddings", model.Query: "attention.self.query_proj", model.Key: "attention.self.key_proj", model.Value: "attention.self.value_proj",
			model.AttentionOutput: "attention.output.dense", model.Up: "intermediate.dense", model.Down: "output.dense",
		},
		keys:     (*walking).deberta,
		encoding: encoding{whole: true, centred: true, normBiased: true, plain: true, positions: true, heads: debertaHeads},
		defaults: defaults{tied: true, eps: 1e-7, context: 512, vocab: 128100},
	},
}

var debertaHeads = headRules{
	&headRule{dense: "pooler.dense", output: "classifier", activation: gelu, activationKey: "pooler_hidden_act", pooling: model.FirstPooling}, eachClassifier,
}

// deberta walks over the keys of distances, and refuses what models of the family may have and is not here.
func (c *walking) deberta(k *keys.Walk) {
	if !k.ReadsFolder() {
		return
	}
	var relative, shared, biasedInput bool
	farthest, buckets, kernel, embedding := -1, -1, 0, 0
	norm := ""
	k.Bool("relative_attention", "", &relative, false)
	k.Bool("share_att_key", "", &shared, false)
	k.Int("type_vocab_size", "", &c.Types, 0)
	k.Bool("position_biased_input", "", &biasedInput, true)
	k.Int("max_relative_positions", "", &farthest, -1)
	k.Int("position_buckets", "", &buckets, -1)
	k.Int("conv_kernel_size", "", &kernel, 0)
	k.Int("embedding_size", "", &embedding, c.HiddenSize)
	k.Text("norm_rel_ebd", "", &norm, "none")
	if !biasedInput {
		c.Positions, c.Parts = 0, c.Parts.Without(model.PositionEmbedding)
	}
	if c.Types == 0 {
		c.Parts = c.Parts.Without(model.TypeEmbedding)
	}
	c.NoRoPE = everyNth(c.Layers, 1)
	for key, wrong := range map[string]bool{"relative_attention": !relative, "share_att_key": !shared, "conv_kernel_size": kernel > 0, "embedding_size": embedding != c.HiddenSize} {
		if wrong {
			c.refuse(k, key)
		}
	}
	if farthest < 1 {
		farthest = c.ContextLength
	}
	r := &c.Relative
	r.Signed, r.Buckets = true, 2*min(farthest, model.MaxContext)
	if buckets > 0 {
		r.Buckets, r.Farthest = 2*min(buckets, model.MaxContext), farthest
	}
	switch norms := strings.Split(norm, "|"); {
	case slices.Equal(norms, []string{"none"}):
		c.Parts = c.Parts.Without(model.RelativeNorm)
	case !slices.Equal(norms, []string{"layer_norm"}):
		c.refuse(k, "norm_rel_ebd")
	}
	added := 0
	for _, kind := range c.attentionKinds(k) {
		switch strings.TrimSpace(kind) {
		case "c2p":
			r.ToKeys = true
		case "p2c":
			r.ToQueries = true
		default:
			c.refuse(k, "pos_att_type")
		}
		added++
	}
	c.ScoreScale = 1 / math.Sqrt(float64((1+added)*c.HeadDim))
}

// attentionKinds reads pos_att_type, a list or a text with bars.
func (c *walking) attentionKinds(k *keys.Walk) (list []string) {
	var raw json.RawMessage
	if !k.Decode("pos_att_type", &raw) || raw == nil {
		return nil
	}
	text := ""
	if modeljson.Unmarshal(raw, &text) == nil {
		return strings.Split(text, "|")
	}
	if err := modeljson.Unmarshal(raw, &list); err != nil {
		k.Fail(err)
	}
	return list
}
