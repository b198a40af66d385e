package families

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// qwen2vl is the tower of Qwen2-VL, and qwen25vl that of Qwen2.5-VL. Pictures are processed as for qwen3vl, with other bounds of pixels and other colours.
//
//   - There are no learned positions, and the filter of patches has no bias.
//   - Folders have queries, keys and values in one projection, mmproj has them apart.
//   - The layers of Qwen2-VL have LayerNorm and the quick form of GELU, those of 2.5 RMSNorm and a gate. The merger's GELU has the error function in both.
//   - In 2.5 a patch sees a window of 8×8 patches in most layers (fullatt_block_indexes lists the others). mmproj has every n-th layer without windows.
//   - hidden_size of Qwen2-VL is the width of the model of text, and embed_dim that of the tower. Some mmproj files say a feed_forward_length that is not the tensors', and
//     some have the matrices of the network with each other's names: see Swapped.
var (
	qwen2vl = &Tower{
		Kind: "qwen2vl", Projector: "qwen2vl_merger", models: "Qwen 2 VL", processed: "qwen3vl",
		Serves: []string{"qwen2"},
		types:  []string{"qwen2_vl", "qwen2_vl_vision"},
		traits: model.TowerTraits{LayerNorm: true, Biased: true, Activation: model.GELUQuick},
		keys:   qwen2vlKeys, facts: qwen2vlFacts, fused: true, apart: true, published: publishedQwen2,
		names: qwen2Names("mlp.fc1", "mlp.fc2"), tokens: qwen3vl.tokens,
	}
	qwen25vl = &Tower{
		Kind: "qwen2.5vl", Projector: "qwen2.5vl_merger", models: "Qwen 2.5 VL", processed: "qwen3vl",
		Serves: []string{"qwen2"},
		types:  []string{"qwen2_5_vl", "qwen2_5_vl_vision"},
		traits: model.TowerTraits{Biased: true, Gated: true, Activation: model.SiLU},
		keys:   qwen25vlKeys, facts: qwen2vlFacts, fused: true, apart: true, published: publishedQwen2,
		names: qwen2Names("mlp.up_proj", "mlp.down_proj"), tokens: qwen3vl.tokens,
	}
)

// qwen2Names returns the names of parts, with those of the network in a folder.
func qwen2Names(up, down string) map[model.Part]towerName {
	const block = "visual.blocks.#."
	return map[model.Part]towerName{
		model.PatchEmbedding:  {"visual.patch_embed.proj", "v.patch_embd"},
		model.FrameEmbedding:  {"visual.patch_embed.proj", "v.patch_embd"},
		model.AttentionNorm:   {block + "norm1", "v.blk.#.ln1"},
		model.Query:           {block + "attn.qkv", "v.blk.#.attn_q"},
		model.Key:             {block + "attn.qkv", "v.blk.#.attn_k"},
		model.Value:           {block + "attn.qkv", "v.blk.#.attn_v"},
		model.AttentionOutput: {block + "attn.proj", "v.blk.#.attn_out"},
		model.FeedForwardNorm: {block + "norm2", "v.blk.#.ln2"},
		model.Gate:            {block + "mlp.gate_proj", "v.blk.#.ffn_gate"},
		model.Up:              {block + up, networkUp},
		model.Down:            {block + down, "v.blk.#.ffn_down"},
		model.MergeNorm:       {"visual.merger.ln_q", "v.post_ln"},
		model.MergeUp:         {"visual.merger.mlp.0", "mm.0"},
		model.MergeDown:       {"visual.merger.mlp.2", "mm.2"},
	}
}

func qwen2vlKeys(k *keys.Walk, t *model.Tower) {
	k.Int("embed_dim", "vision.embedding_length", &t.HiddenSize, 1280)
	ratio := 4.0
	if k.Float("mlp_ratio", "", &ratio, 4); k.ReadsFolder() {
		t.IntermediateSize = int(min(max(float64(t.HiddenSize)*ratio, 0), keys.Most))
	}
	k.Int("", "vision.feed_forward_length", &t.IntermediateSize, t.IntermediateSize)
	qwen2Keys(k, t)
	towerWidth(k, t, "hidden_size")
}

func qwen25vlKeys(k *keys.Walk, t *model.Tower) {
	k.Int("hidden_size", "vision.embedding_length", &t.HiddenSize, 3584)
	k.Int("intermediate_size", "vision.feed_forward_length", &t.IntermediateSize, 3420)
	qwen2Keys(k, t)
	towerWidth(k, t, "out_hidden_size")
	side, pixels := 112, t.Side()*t.Merge
	if !k.Reads() {
		side = t.Window * pixels
	}
	k.Int("window_size", "vision.window_size", &side, 112)
	if k.Reads() && pixels > 0 {
		if t.Window = side / pixels; t.Window < 1 {
			k.Fail(fmt.Errorf("%s is %d pixels, and a soft token of a picture has %d: a window must have one at least", k.Key("window_size", "vision.window_size"), side, pixels))
		}
	}
	every := 8
	switch {
	case k.ReadsFolder():
		t.Unwindowed = []int{7, 15, 23, 31}
		k.Decode("fullatt_block_indexes", &t.Unwindowed)
	case k.ReadsFile():
		if k.Int("", "vision.n_wa_pattern", &every, 0); every == 0 {
			t.Window = 0
		}
		for layer := every - 1; every > 0 && layer < min(t.Layers, model.MaxLayers); layer += every {
			t.Unwindowed = append(t.Unwindowed, layer)
		}
	default:
		if every = 0; len(t.Unwindowed) > 0 {
			every = t.Unwindowed[0] + 1
		}
		for i, layer := range t.Unwindowed {
			if layer != every*(i+1)-1 || len(t.Unwindowed) != t.Layers/every {
				k.Fail(unsupported.Errorf("the layers %v see all of a picture: GGUF has every n-th alone", t.Unwindowed))
			}
		}
		k.Int("", "vision.n_wa_pattern", &every, 0)
	}
	if k.Reads() && t.Window == 0 {
		t.Unwindowed = nil
	}
}

// qwen2Keys are the keys that the two towers share.
func qwen2Keys(k *keys.Walk, t *model.Tower) {
	k.Int("depth", "vision.block_count", &t.Layers, 32)
	k.Int("num_heads", "vision.attention.head_count", &t.Heads, 16)
	k.Int("spatial_merge_size", "vision.spatial_merge_size", &t.Merge, 2)
	k.Float32("", "vision.attention.layer_norm_epsilon", &t.Eps, 1e-6)
	networkSize(k, t)
	twoFrames(k, t)
	towerPatch(k, t, 14)
	towerActivation(k, t, "hidden_act")
	towerRoPE(k, t, 10000)
	unusedSize(k, 560)
}

// The soft tokens that a picture of Qwen2-VL and 2.5-VL has.
const leastQwen2, mostQwen2 = 4, 16384

func qwen2vlFacts(k *keys.Walk, f *pixels.Facts) {
	unit := f.Patch * f.Patch * f.Merge * f.Merge
	k.Int("", "vision.image_min_pixels", &f.LeastPixels, min(leastQwen2*unit, keys.Most))
	k.Int("", "vision.image_max_pixels", &f.MostPixels, min(mostQwen2*unit, keys.Most))
}

func publishedQwen2(f *pixels.Facts) {
	unit := f.Patch * f.Patch * f.Merge * f.Merge
	f.LeastPixels, f.MostPixels = leastQwen2*unit, mostQwen2*unit
}
