package families

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// gemma4v is the tower of Gemma 4: of E2B, E4B, 26B-A4B and 31B.
//
//   - Patches are read as [row, column, colour]; mmproj has their filter as [out, colour, row, column].
//   - Each half of a head is rotated as a head of its own: the first by the column, the second by the row (storage.Quarters).
//   - Scores are not divided, and values are normalised without weights. All projections of the layers have bounds in E2B and E4B (use_clipped_linears).
//   - 3×3 patches become a soft token by their mean. 26B and 31B move and scale the means (standardize).
//   - mmproj has no number of soft tokens: 280, as folders have it. Its use_gelu counts for nothing: the activation is GELU with the hyperbolic tangent.
var gemma4v = &Tower{
	Kind: "gemma4v", Projector: "gemma4v", Serves: []string{"gemma4"}, types: []string{"gemma4_vision"},
	models: "Gemma 4 (E2B, E4B, 26B-A4B, 31B)",
	traits: model.TowerTraits{Gated: true, HeadNorms: true, ValueNorms: true, PostNorms: true, Unscaled: true},
	keys:   gemma4vKeys, facts: gemma4Facts, rows: gemma4vRows, colours: true,
	unnamed: []model.Part{model.PatchPositions},
	names: map[model.Part]towerName{
		model.PatchEmbedding:      {"vision_tower.patch_embedder.input_proj", "v.patch_embd"},
		model.PatchPositions:      {"vision_tower.patch_embedder.position_embedding_table", patchPositions},
		model.AttentionNorm:       {"vision_tower.encoder.layers.#.input_layernorm", "v.blk.#.ln1"},
		model.Query:               {"vision_tower.encoder.layers.#.self_attn.q_proj.linear", "v.blk.#.attn_q"},
		model.Key:                 {"vision_tower.encoder.layers.#.self_attn.k_proj.linear", "v.blk.#.attn_k"},
		model.Value:               {"vision_tower.encoder.layers.#.self_attn.v_proj.linear", "v.blk.#.attn_v"},
		model.QueryNorm:           {"vision_tower.encoder.layers.#.self_attn.q_norm", "v.blk.#.attn_q_norm"},
		model.KeyNorm:             {"vision_tower.encoder.layers.#.self_attn.k_norm", "v.blk.#.attn_k_norm"},
		model.AttentionOutput:     {"vision_tower.encoder.layers.#.self_attn.o_proj.linear", "v.blk.#.attn_out"},
		model.AttentionPostNorm:   {"vision_tower.encoder.layers.#.post_attention_layernorm", "v.blk.#.attn_post_norm"},
		model.FeedForwardNorm:     {"vision_tower.encoder.layers.#.pre_feedforward_layernorm", "v.blk.#.ln2"},
		model.Gate:                {"vision_tower.encoder.layers.#.mlp.gate_proj.linear", "v.blk.#.ffn_gate"},
		model.Up:                  {"vision_tower.encoder.layers.#.mlp.up_proj.linear", "v.blk.#.ffn_up"},
		model.Down:                {"vision_tower.encoder.layers.#.mlp.down_proj.linear", "v.blk.#.ffn_down"},
		model.FeedForwardPostNorm: {"vision_tower.encoder.layers.#.post_feedforward_layernorm", "v.blk.#.ffn_post_norm"},
		model.StandardBias:        {"vision_tower.std_bias", "v.std_bias"},
		model.StandardScale:       {"vision_tower.std_scale", "v.std_scale"},
		model.MergeDown:           {"embed_vision.embedding_projection", "mm.input_projection"},
	},
	tokens: gemma4Tokens, frame: gemma4Frame,
}

var gemma4Tokens = towerTokens{placeholder: "<|image|>"}

// gemma4Frame: the processor puts two tokens around a picture's rows, the template does not.
func gemma4Frame(p *pixels.Plan) []Stretch {
	return []Stretch{{"<|image>", p.Tokens()}, {"<image|>", 0}}
}

func gemma4vKeys(k *keys.Walk, t *model.Tower) {
	k.Int("hidden_size", "vision.embedding_length", &t.HiddenSize, 768)
	k.Int("intermediate_size", "vision.feed_forward_length", &t.IntermediateSize, 3072)
	k.Int("num_hidden_layers", "vision.block_count", &t.Layers, 16)
	k.Int("num_attention_heads", "vision.attention.head_count", &t.Heads, 12)
	kvHeads := t.Heads
	if k.Int("num_key_value_heads", "vision.attention.head_count_kv", &kvHeads, t.Heads); kvHeads != t.Heads {
		k.Fail(unsupported.Errorf("%s is %d, and there are %d heads: shared keys and values are not implemented for towers", k.Key("num_key_value_heads", "vision.attention.head_count_kv"), kvHeads, t.Heads))
	}
	k.Int("pooling_kernel_size", "vision.projector.scale_factor", &t.Merge, 3)
	k.Float32("rms_norm_eps", "vision.attention.layer_norm_epsilon", &t.Eps, 1e-6)
	bias := false
	if k.Bool("attention_bias", "", &bias, false); bias {
		k.Fail(unsupported.Errorf("attention_bias is true, which is not implemented for this tower"))
	}
	towerPatch(k, t, 16)
	towerWidth(k, t, "")
	activation := geluTanh
	if k.Text("hidden_activation", "", &activation, geluTanh); activation != geluTanh {
		k.Fail(unsupported.Errorf("hidden_activation is %.60q, and only %q is implemented for this tower", activation, geluTanh))
	}
	towerRoPE(k, t, 100)
	if k.ReadsFolder() {
		k.Int("head_dim", "", &t.HeadDim, t.HeadDim)
	}
	gemma4Positions(k, t, "position_embedding_size", 10240)
	if k.ReadsFolder() {
		k.Bool("use_clipped_linears", "", &t.Traits.Clipped, false)
		k.Bool("standardize", "", &t.Traits.Standardized, false)
	} else if k.ReadsFile() {
		t.Traits.Clipped, t.Traits.Standardized = k.HasTensor("v.blk.0.attn_q.input_max"), k.HasTensor("v.std_bias.weight") || k.HasTensor("v.std_bias")
		if table, ok := k.Tensor("v.blk.0.attn_q.weight"); ok && t.Heads > 0 && len(table.Shape) == 2 && table.Shape[0]%t.Heads == 0 {
			t.HeadDim = table.Shape[0] / t.Heads
		}
	}
	unusedSize(k, 224)
}

// gemma4Positions walks over the rows of the tables of positions, of columns and of rows. Files have the tables alone.
func gemma4Positions(k *keys.Walk, t *model.Tower, folder string, otherwise int) {
	k.Int(folder, "", &t.Positions, otherwise)
	if table, ok := k.Tensor(patchPositions + ".weight"); ok {
		if len(table.Shape) != 3 || table.Shape[0] != 2 {
			k.Fail(fmt.Errorf("%s.weight is %v, and must be two tables, [2 positions width]", patchPositions, table.Shape))
			return
		}
		t.Positions = table.Shape[1]
	}
}

// gemma4Facts walks over the number of soft tokens, which a file has as pixels.
func gemma4Facts(k *keys.Walk, f *pixels.Facts) {
	unit := f.Patch * f.Patch * f.Merge * f.Merge
	most := f.SoftTokens * unit
	if k.Int("", "vision.image_max_pixels", &most, most); k.Reads() && unit > 0 {
		f.SoftTokens = most / unit
	}
}

// gemma4vRows puts the pairs of queries and keys in the order in which they turn.
func gemma4vRows(t *model.Tower, p model.Part) (folder, file storage.Order) {
	switch p {
	case model.Query, model.Key, model.QueryNorm, model.KeyNorm:
		return storage.Quarters{HeadDim: t.HeadDim}, storage.Quarters{HeadDim: t.HeadDim}
	}
	return nil, nil
}
