package families

import (
	"fmt"
	"maps"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
)

// Several towers are SigLIP's layers, with another way from states to features in each. What they have in common:
//
//   - Published folders have "vision_model." after "vision_tower.", and those that transformers 5 writes have not.
//   - Files of 2025 have ffn_up and ffn_down the wrong way round (Gemma 3, SmolVLM): the shape says which is which.
//   - The head that SigLIP pools with is of another task.

// siglipWithin is what names of folders may have after "vision_tower.".
const siglipWithin = "vision_model."

// siglipNames returns the names of SigLIP's parts, which begin with a tower's own name in folders, and others.
func siglipNames(tower string, others map[model.Part]towerName) map[model.Part]towerName {
	layer := tower + "encoder.layers.#."
	names := map[model.Part]towerName{
		model.PatchEmbedding:  {tower + "embeddings.patch_embedding", "v.patch_embd"},
		model.PatchPositions:  {tower + "embeddings.position_embedding", patchPositions},
		model.AttentionNorm:   {layer + "layer_norm1", "v.blk.#.ln1"},
		model.Query:           {layer + "self_attn.q_proj", "v.blk.#.attn_q"},
		model.Key:             {layer + "self_attn.k_proj", "v.blk.#.attn_k"},
		model.Value:           {layer + "self_attn.v_proj", "v.blk.#.attn_v"},
		model.AttentionOutput: {layer + "self_attn.out_proj", "v.blk.#.attn_out"},
		model.FeedForwardNorm: {layer + "layer_norm2", "v.blk.#.ln2"},
		model.Up:              {layer + "mlp.fc1", "v.blk.#.ffn_up"},
		model.Down:            {layer + "mlp.fc2", "v.blk.#.ffn_down"},
		model.StateNorm:       {tower + "post_layernorm", "v.post_ln"},
	}
	maps.Copy(names, others)
	return names
}

// siglipSizes are what a folder need not say.
type siglipSizes struct{ hidden, intermediate, heads, patch int }

// siglipKeys walks over the sizes of layers.
func siglipKeys(k *keys.Walk, t *model.Tower, otherwise siglipSizes) {
	k.Int("hidden_size", "vision.embedding_length", &t.HiddenSize, otherwise.hidden)
	k.Int("intermediate_size", "vision.feed_forward_length", &t.IntermediateSize, otherwise.intermediate)
	k.Int("num_hidden_layers", "vision.block_count", &t.Layers, 12)
	k.Int("num_attention_heads", "vision.attention.head_count", &t.Heads, otherwise.heads)
	k.Float32("layer_norm_eps", "vision.attention.layer_norm_epsilon", &t.Eps, 1e-6)
	same(k, "num_channels", "", 3)
	towerPatch(k, t, otherwise.patch)
	towerWidth(k, t, "")
	towerActivation(k, t, "hidden_act")
	towerHeads(k, t)
}

// siglipPositions walks over the rows of the square table of positions: as many as a picture of a size has patches. Files have the table alone.
func siglipPositions(k *keys.Walk, t *model.Tower, folder string, otherwise int) {
	if !k.Reads() {
		return
	}
	if k.ReadsFolder() {
		size := 0
		if k.Int(folder, "", &size, otherwise); t.Side() > 0 {
			side := min(size, keys.Most) / t.Side()
			t.Positions = min(side, 1<<12) * min(side, 1<<12)
		}
		if t.Positions < 1 {
			k.Fail(fmt.Errorf("%s is %d, less than a patch of %d pixels", folder, size, t.Side()))
		}
		return
	}
	tableOfPositions(k, t)
}
