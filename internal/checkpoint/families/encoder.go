package families

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// The keys of families that read a text as a whole. config.json says with keys what GGUF says by the tensors that there are. For example, these keys of
// an xlm-roberta become
//
//	"max_position_embeddings": 514, "pad_token_id": 1   Positions 512, PositionOffset 2; ContextLength 512
//	"type_vocab_size": 1                                Types 1
//	"layer_norm_eps": 1e-5                              Config.RMSNormEps 1e-5
//
// The first two rows of its table of positions belong to padding, and are skipped.

// The keys of GGUF's metadata for encoders, after the architecture's name and a dot.
const (
	layerNormEpsKey = "attention.layer_norm_epsilon"
	causalKey       = "attention.causal"
	PoolingKey      = "pooling_type" // how states become a vector
	embeddingOutKey = "embedding_length_out"
)

// tokenTypesKey is the key of GGUF's metadata for the number of token types, without which llama.cpp loads no bert. It is not read: the table has as many rows.
const tokenTypesKey = "tokenizer.ggml.token_type_count"

// encoder walks over the keys of encoders.
func (c *walking) encoder(k *keys.Walk) {
	f := c.family
	if f.whole || k.ReadsFile() {
		causal := !f.whole
		k.Bool("", causalKey, &causal, causal)
		if causal == f.whole {
			k.Fail(unsupported.Errorf("%s is %v, which is not implemented for the architecture %s", k.Key("", causalKey), causal, f.architecture()))
		}
	}
	if k.Err() != nil {
		return
	}
	if !f.whole {
		c.layerNorms(k)
		return
	}
	e := &c.Encoder
	if k.Reads() {
		e.Whole, e.LayerNorm = true, f.centred
		c.TiedEmbeddings, c.BOS, c.EOS = true, -1, nil // there is no head, and no answer that could end
	}
	if f.centred {
		c.layerNormEps(k)
	} else if k.ReadsFolder() {
		k.Float32(k.First("layer_norm_eps", "layer_norm_epsilon", "norm_eps", "rms_norm_eps"), "", &c.RMSNormEps, c.RMSNormEps)
	}
	switch {
	case k.ReadsFolder():
		c.encoderOfFolder(k)
	case k.ReadsFile():
		c.encoderOfFile(k)
	default:
		dense := c.Dense
		if f.projects && len(dense) > 0 {
			k.Int("", embeddingOutKey, &dense[0].Out, 0)
			dense = dense[1:]
		}
		for i, d := range dense { // llama.cpp asks for these sizes
			k.Int("", fmt.Sprintf("dense_%d_feat_in", i+2), &d.In, 0)
			k.Int("", fmt.Sprintf("dense_%d_feat_out", i+2), &d.Out, 0)
		}
		if c.Types > 0 {
			k.PutPlain(tokenTypesKey, gguf.ValueOf(uint32(c.Types)))
		}
	}
}

// layerNorms walks over the norms of a decoder that subtract the mean.
func (c *walking) layerNorms(k *keys.Walk) {
	if !c.family.centred {
		return
	}
	if k.Reads() {
		c.LayerNorm, c.NormBias = true, c.family.normBiased
	}
	c.layerNormEps(k)
}

func (c *walking) layerNormEps(k *keys.Walk) {
	eps := c.family.defaults.eps
	if k.ReadsFile() {
		eps = cmp.Or(eps, 1e-5)
	}
	k.Float32(k.First("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps", "rms_norm_eps"), layerNormEpsKey, &c.RMSNormEps, cmp.Or(eps, 1e-6))
}

// encoderOfFolder reads config.json.
func (c *walking) encoderOfFolder(k *keys.Walk) {
	f, e := c.family, &c.Encoder
	decoder, position, normBias := false, "", false
	k.Bool("norm_bias", "", &normBias, false)
	e.NormBias = f.normBiased || normBias
	c.MLPBias = c.MLPBias || f.biased && f.plain
	if k.Bool("is_decoder", "", &decoder, false); decoder {
		k.Fail(unsupported.Errorf("is_decoder is true; the architecture %s is implemented as an encoder", f.Name))
	}
	if k.Text("position_embedding_type", "", &position, ""); position != "" && position != "absolute" && f.positions {
		k.Fail(unsupported.Errorf("position_embedding_type is %.100q; only absolute is implemented", position))
	}
	if slices.Contains(f.with, model.TypeEmbedding) {
		k.Int("type_vocab_size", "", &e.Types, 2)
	}
	if f.positions {
		if f.padded {
			padding := 0
			k.Int("pad_token_id", "", &padding, 1)
			e.PositionOffset = padding + 1
			c.ContextLength -= e.PositionOffset
		}
		e.Positions = c.ContextLength
	}
}

// maxPooled is the most layers that follow pooling that are looked for in a file: one more than a model may have.
const maxPooled = model.MaxDense + 1

// firstPooling is GGUF's number for taking the first state as a text's vector.
const firstPooling = 2

// encoderOfFile reads what a GGUF file says by its tensors.
func (c *walking) encoderOfFile(k *keys.Walk) {
	f, e := c.family, &c.Encoder
	rows := func(p model.Part) int {
		if t, ok := k.Tensor(GGUF(p, 0, false)); ok && len(t.Shape) == 2 {
			return t.Shape[0]
		}
		return 0
	}
	has := func(p model.Part, bias bool) bool { return k.HasTensor(GGUF(p, 0, bias)) }
	e.NormBias, e.Types, e.Positions = has(model.EmbeddingNorm, true), rows(model.TypeEmbedding), rows(model.PositionEmbedding)
	if whole, ok := f.fused[model.Query]; ok {
		c.AttentionBias = c.AttentionBias || k.HasTensor(nameOf(model.Query, layersGGUF, 0, whole.gguf, true))
	}
	if f.plain {
		c.MLPBias = has(model.Up, true)
	}
	if e.Types == 0 { // llama.cpp has DistilBERT as a bert without types
		c.Parts = c.Parts.Without(model.TypeEmbedding)
	}
	if t, ok := k.Tensor(f.FileName(model.PooledDense, 0, false)); ok && f.projects && len(t.Shape) == 2 {
		e.Dense = append(e.Dense, model.Dense{In: t.Shape[1], Out: t.Shape[0]})
	}
	for n := range maxPooled {
		t, ok := k.Tensor(denseGGUF(n, false))
		if !ok || len(t.Shape) != 2 {
			break
		}
		e.Dense = append(e.Dense, model.Dense{In: t.Shape[1], Out: t.Shape[0], Bias: k.HasTensor(denseGGUF(n, true))})
	}
}
