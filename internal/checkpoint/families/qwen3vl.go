package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
)

// qwen3vl is the tower of Qwen3-VL, of Qwen 3.5 and of those after it.
//
//   - A patch is read as two frames, since the tower sees films. The filter has a part for each frame, which mmproj has as two tensors; a picture is both.
//   - Queries, keys and values are one projection. The network is gelu(up(x)) with the hyperbolic tangent, that of mergers with the error function.
//   - Deepstack's mergers norm the states of four patches together, the last one those of each patch. mmproj numbers the former by their layers.
//   - mmproj need not say how many pixels a picture has. Then it is what Qwen3-VL's processor has: 64 to 16384 soft tokens.
var qwen3vl = &Tower{
	Kind: "qwen3vl", Projector: "qwen3vl_merger", models: "Qwen 3 VL, Qwen 3.5, with experts or not",
	Serves: []string{"qwen3", "qwen3vl", "qwen3moe", "qwen3vlmoe", "qwen35", "qwen35moe"},
	types:  []string{"qwen3_vl", "qwen3_vl_vision", "qwen3_vl_moe", "qwen3_vl_moe_vision", "qwen3_5", "qwen3_5_vision", "qwen3_5_moe", "qwen3_5_moe_vision"},
	traits: model.TowerTraits{LayerNorm: true, Biased: true},
	keys:   qwen3vlKeys, facts: qwen3vlFacts, fused: true,
	names: map[model.Part]towerName{
		model.PatchEmbedding:  {"visual.patch_embed.proj", "v.patch_embd"},
		model.FrameEmbedding:  {"visual.patch_embed.proj", "v.patch_embd"},
		model.PatchPositions:  {"visual.pos_embed", patchPositions},
		model.AttentionNorm:   {"visual.blocks.#.norm1", "v.blk.#.ln1"},
		model.Query:           {"visual.blocks.#.attn.qkv", "v.blk.#.attn_qkv"},
		model.Key:             {"visual.blocks.#.attn.qkv", "v.blk.#.attn_qkv"},
		model.Value:           {"visual.blocks.#.attn.qkv", "v.blk.#.attn_qkv"},
		model.AttentionOutput: {"visual.blocks.#.attn.proj", "v.blk.#.attn_out"},
		model.FeedForwardNorm: {"visual.blocks.#.norm2", "v.blk.#.ln2"},
		model.Up:              {"visual.blocks.#.mlp.linear_fc1", "v.blk.#.ffn_up"},
		model.Down:            {"visual.blocks.#.mlp.linear_fc2", "v.blk.#.ffn_down"},
		model.DeepNorm:        {"visual.deepstack_merger_list.#.norm", "v.deepstack.#.norm"},
		model.DeepUp:          {"visual.deepstack_merger_list.#.linear_fc1", "v.deepstack.#.fc1"},
		model.DeepDown:        {"visual.deepstack_merger_list.#.linear_fc2", "v.deepstack.#.fc2"},
		model.MergeNorm:       {"visual.merger.norm", "v.post_ln"},
		model.MergeUp:         {"visual.merger.linear_fc1", "mm.0"},
		model.MergeDown:       {"visual.merger.linear_fc2", "mm.2"},
	},
	published: func(f *pixels.Facts) {
		unit := f.Patch * f.Patch * f.Merge * f.Merge
		f.LeastPixels, f.MostPixels, f.Mean, f.Std = 64*unit, 16384*unit, [3]float64{0.5, 0.5, 0.5}, [3]float64{0.5, 0.5, 0.5}
	},
	tokens: towerTokens{placeholder: "<|image_pad|>"}, // the template writes <|vision_start|> and <|vision_end|>
}

func qwen3vlKeys(k *keys.Walk, t *model.Tower) {
	k.Int("hidden_size", "vision.embedding_length", &t.HiddenSize, 1152)
	k.Int("intermediate_size", "vision.feed_forward_length", &t.IntermediateSize, 4304)
	k.Int("depth", "vision.block_count", &t.Layers, 27)
	k.Int("num_heads", "vision.attention.head_count", &t.Heads, 16)
	k.Int("spatial_merge_size", "vision.spatial_merge_size", &t.Merge, 2)
	k.Float32("", "vision.attention.layer_norm_epsilon", &t.Eps, 1e-6)
	twoFrames(k, t)
	towerPatch(k, t, 16)
	towerWidth(k, t, "out_hidden_size")
	towerActivation(k, t, "hidden_act")
	towerRoPE(k, t, 10000)
	towerPositions(k, t, "num_position_embeddings", 2304)
	towerDeepstack(k, t)
}

func qwen3vlFacts(k *keys.Walk, f *pixels.Facts) {
	unit := f.Patch * f.Patch * f.Merge * f.Merge
	k.Int("", "vision.image_min_pixels", &f.LeastPixels, min(64*unit, keys.Most))
	k.Int("", "vision.image_max_pixels", &f.MostPixels, min(16384*unit, keys.Most))
}
