package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
)

// gemma4uv is the tower of Gemma 4 12B, which has no layers: a patch of 48×48 pixels is a soft token.
//
//   - Folders say a patch of 16 pixels and 3×3 of them in a soft token, and so do files.
//   - The three norms are LayerNorm with PyTorch's epsilon; rms_norm_eps is that of the norm before the projection.
//   - Folders have the two tables of positions as one, [positions, 2, width], files as [2, positions, width].
var gemma4uv = &Tower{
	Kind: "gemma4uv", Projector: "gemma4uv", Serves: []string{"gemma4", "gemma4-unified"}, types: []string{"gemma4_unified_vision"},
	models: "Gemma 4 (12B)",
	traits: model.TowerTraits{LayerNorm: true, Entirely: true},
	keys:   gemma4uvKeys, facts: gemma4Facts, rows: gemma4uvRows, colours: true,
	unnamed: []model.Part{model.PatchPositions},
	names: map[model.Part]towerName{
		model.PatchNorm:      {"vision_embedder.patch_ln1", "v.patch_norm.1"},
		model.PatchEmbedding: {"vision_embedder.patch_dense", "v.patch_embd"},
		model.PatchStateNorm: {"vision_embedder.patch_ln2", "v.patch_norm.2"},
		model.PatchPositions: {"vision_embedder.pos_embedding", patchPositions},
		model.PatchSumNorm:   {"vision_embedder.pos_norm", "v.patch_norm.3"},
		model.MergeDown:      {"embed_vision.embedding_projection", "mm.input_projection"},
	},
	tokens: gemma4Tokens, frame: gemma4Frame, joined: gemma4Pool,
}

// gemma4Pool is how many patches of a side become a soft token.
const gemma4Pool = 3

func gemma4uvKeys(k *keys.Walk, t *model.Tower) {
	k.Int("mm_embed_dim", "vision.embedding_length", &t.HiddenSize, 3840)
	k.Float32("rms_norm_eps", "vision.attention.layer_norm_epsilon", &t.Eps, 1e-6)
	same(k, "pooling_kernel_size", "vision.projector.scale_factor", gemma4Pool)
	small := model.Tower{Patch: t.Patch / (gemma4Pool * gemma4Pool)}
	towerPatch(k, &small, 16)
	t.Patch = small.Patch * gemma4Pool * gemma4Pool
	towerWidth(k, t, "")
	gemma4Positions(k, t, "mm_posemb_size", 1120)
	layers, heads := 0, 1 // of no layer: llama.cpp asks for them
	k.Int("", "vision.block_count", &layers, 0)
	k.Int("", "vision.feed_forward_length", &layers, 0)
	k.Int("", "vision.attention.head_count", &heads, 1)
	unusedSize(k, 224)
}

// gemma4uvRows says how folders have the tables.
func gemma4uvRows(t *model.Tower, p model.Part) (folder, file storage.Order) {
	if p == model.PatchPositions {
		return storage.Alternating{Rows: t.Positions}, nil
	}
	return nil, nil
}
