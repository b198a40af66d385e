package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// glm4v is the tower of GLM-OCR. That of GLM-4.1V has a table of positions and a norm of patches besides, and is not implemented.
//
//   - A patch is read as two frames, as in qwen3vl. There are no learned positions.
//   - Norms are RMSNorm. Queries and keys are normalised head by head, and all projections of layers have biases.
//   - A convolution makes one state of 2×2. It is a matrix, but files have it as [out, width, row, column].
//   - The network after it is down(silu(gate(y))·up(y)) of y = gelu(norm(projection(x))), three times as wide as the model of text if no tensor says otherwise. Its norm
//     subtracts the mean.
//   - A processor's bounds of pixels count both frames, those of mmproj one. mmproj need not say them.
var glm4v = &Tower{
	Kind: "glm4v", Projector: "glm4v", models: "GLM-OCR",
	Serves: []string{"glm4", "glmocr"},
	types:  []string{"glm_ocr_vision", "glm_ocr"},
	traits: model.TowerTraits{Biased: true, Gated: true, HeadNorms: true, Activation: model.SiLU},
	keys:   glm4vKeys, facts: glm4vFacts, fused: true,
	names: map[model.Part]towerName{
		model.PatchEmbedding:  {"visual.patch_embed.proj", "v.patch_embd"},
		model.FrameEmbedding:  {"visual.patch_embed.proj", "v.patch_embd"},
		model.AttentionNorm:   {"visual.blocks.#.norm1", "v.blk.#.ln1"},
		model.Query:           {"visual.blocks.#.attn.qkv", "v.blk.#.attn_qkv"},
		model.Key:             {"visual.blocks.#.attn.qkv", "v.blk.#.attn_qkv"},
		model.Value:           {"visual.blocks.#.attn.qkv", "v.blk.#.attn_qkv"},
		model.QueryNorm:       {"visual.blocks.#.attn.q_norm", "v.blk.#.attn_q_norm"},
		model.KeyNorm:         {"visual.blocks.#.attn.k_norm", "v.blk.#.attn_k_norm"},
		model.AttentionOutput: {"visual.blocks.#.attn.proj", "v.blk.#.attn_out"},
		model.FeedForwardNorm: {"visual.blocks.#.norm2", "v.blk.#.ln2"},
		model.Gate:            {"visual.blocks.#.mlp.gate_proj", "v.blk.#.ffn_gate"},
		model.Up:              {"visual.blocks.#.mlp.up_proj", "v.blk.#.ffn_up"},
		model.Down:            {"visual.blocks.#.mlp.down_proj", "v.blk.#.ffn_down"},
		model.MergeNorm:       {"visual.post_layernorm", "v.post_ln"},
		model.Downsample:      {"visual.downsample", "mm.patch_merger"},
		model.MergeProjection: {"visual.merger.proj", "mm.model.fc"},
		model.MergeInnerNorm:  {"visual.merger.post_projection_norm", "mm.post_norm"},
		model.MergeGate:       {"visual.merger.gate_proj", mergeGate},
		model.MergeUp:         {"visual.merger.up_proj", "mm.up"},
		model.MergeDown:       {"visual.merger.down_proj", "mm.down"},
	},
	published: func(f *pixels.Facts) { f.MostPixels = mostGLM * f.Patch * f.Patch * f.Merge * f.Merge * f.Frames },
	tokens:    towerTokens{placeholder: "<|image|>"}, // the template writes <|begin_of_image|> and <|end_of_image|>
}

// mergeGate is the name of a matrix in files that says how wide the merger's network is.
const mergeGate = "mm.gate"

// The soft tokens that a picture of GLM-OCR has.
const leastGLM, mostGLM = 8, 6144

func glm4vKeys(k *keys.Walk, t *model.Tower) {
	k.Int("hidden_size", "vision.embedding_length", &t.HiddenSize, 1024)
	k.Int("intermediate_size", "vision.feed_forward_length", &t.IntermediateSize, 4096)
	k.Int("depth", "vision.block_count", &t.Layers, 24)
	k.Int("num_heads", "vision.attention.head_count", &t.Heads, 16)
	k.Int("spatial_merge_size", "vision.spatial_merge_size", &t.Merge, 2)
	k.Float32("rms_norm_eps", "vision.attention.layer_norm_epsilon", &t.Eps, 1e-5)
	biased := true
	if k.Bool("attention_bias", "", &biased, true); !biased {
		k.Fail(unsupported.Errorf("attention_bias is false, which is not implemented for this tower"))
	}
	twoFrames(k, t)
	towerPatch(k, t, 14)
	towerWidth(k, t, "out_hidden_size")
	towerActivation(k, t, "hidden_act")
	towerRoPE(k, t, 10000)
	unusedSize(k, 336)
	if !k.Reads() {
		return
	}
	t.MergeSize = 3 * t.Out
	if gate, ok := k.Tensor(mergeGate + ".weight"); ok && len(gate.Shape) == 2 {
		t.MergeSize = gate.Shape[0]
	}
}

// glm4vFacts walks over the bounds of pixels, of one frame in files.
func glm4vFacts(k *keys.Walk, f *pixels.Facts) {
	frames, unit := max(f.Frames, 1), f.Patch*f.Patch*f.Merge*f.Merge
	least, most := f.LeastPixels/frames, f.MostPixels/frames
	k.Int("", "vision.image_min_pixels", &least, min(leastGLM*unit, keys.Most))
	k.Int("", "vision.image_max_pixels", &most, min(mostGLM*unit, keys.Most))
	if k.Reads() {
		f.LeastPixels, f.MostPixels = min(least, keys.Most/frames)*frames, min(most, keys.Most/frames)*frames
	}
}
