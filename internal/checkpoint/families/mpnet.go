package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
)

// mpnets are encoders with learned positions and, in attention, numbers by distances which all layers share. There are always 32 of them, whatever
// relative_attention_num_buckets says.
var mpnets = []*Family{
	{
		Name: "mpnet", Type: "mpnet", Class: "MPNetModel", folderOnly: true, layers: "model.encoder.layer.", biased: true, unpaired: true, activation: gelu,
		with: []model.Part{model.PositionEmbedding, model.EmbeddingNorm, model.RelativeBias, model.AttentionSumNorm, model.FeedForwardSumNorm}, without: bertLacks,
		huggingFace: map[model.Part]string{
			model.Embedding: "model.embeddings.word_embeddings", model.Query: "attention.attn.q", model.Key: "attention.attn.k", model.Value: "attention.attn.v",
			model.AttentionOutput: "attention.attn.o", model.AttentionSumNorm: "attention.LayerNorm", model.Up: "intermediate.dense", model.Down: "output.dense",
		},
		keys: func(c *walking, k *keys.Walk) {
			c.Relative = model.Relative{Buckets: 32, Farthest: 128}
		},
		encoding: encoding{whole: true, centred: true, normBiased: true, plain: true, positions: true, padded: true, heads: robertaHeads},
		defaults: defaults{tied: true, eps: 1e-12, context: 512, vocab: 30527},
	},
}
