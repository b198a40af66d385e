package families

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// pixtral is the tower of Mistral Small 3.1 and 3.2, and of Ministral 3.
//
//   - Patches are embedded without a bias and normalised before the first layer. There is no table of positions: even pairs of a head turn by the row, odd ones
//     by the column. mmproj has the rows of queries and keys in pairs, as Llama's.
//   - The merger reads 2×2 patches with the elements outermost: the first elements of all four, then the second ones. The norm before it has the epsilon of the
//     model of text; that of the tower is a constant.
//   - The activation is SiLU in the published files; transformers' default, of configurations without one, is GELU.
//   - Each line of rows is followed by [IMG_BREAK], the last one by [IMG_END]. mmproj has the embedding of the former for llama.cpp, which looks it up
//     there; it is the row of the model of text.
var pixtral = &Tower{
	Kind: "pixtral", Projector: "pixtral", Serves: []string{"mistral", "ministral3", "llama"}, types: []string{"pixtral"}, wrappers: []string{"mistral3"},
	models: "Mistral Small 3.1 and 3.2, Ministral 3",
	traits: model.TowerTraits{Gated: true, Activation: model.SiLU},
	keys:   pixtralKeys, facts: pixtralFacts, rows: pixtralRows,
	outer: []string{"spatial_merge_size", "multimodal_projector_bias", "projector_hidden_act", "vision_feature_layer"},
	names: map[model.Part]towerName{
		model.PatchEmbedding:  {"vision_tower.patch_conv", "v.patch_embd"},
		model.PatchSumNorm:    {"vision_tower.ln_pre", "v.pre_ln"},
		model.AttentionNorm:   {"vision_tower.transformer.layers.#.attention_norm", "v.blk.#.ln1"},
		model.Query:           {"vision_tower.transformer.layers.#.attention.q_proj", "v.blk.#.attn_q"},
		model.Key:             {"vision_tower.transformer.layers.#.attention.k_proj", "v.blk.#.attn_k"},
		model.Value:           {"vision_tower.transformer.layers.#.attention.v_proj", "v.blk.#.attn_v"},
		model.AttentionOutput: {"vision_tower.transformer.layers.#.attention.o_proj", "v.blk.#.attn_out"},
		model.FeedForwardNorm: {"vision_tower.transformer.layers.#.ffn_norm", "v.blk.#.ln2"},
		model.Gate:            {"vision_tower.transformer.layers.#.feed_forward.gate_proj", "v.blk.#.ffn_gate"},
		model.Up:              {"vision_tower.transformer.layers.#.feed_forward.up_proj", "v.blk.#.ffn_up"},
		model.Down:            {"vision_tower.transformer.layers.#.feed_forward.down_proj", "v.blk.#.ffn_down"},
		model.StateNorm:       {"multi_modal_projector.norm", "mm.input_norm"},
		model.PatchMerger:     {"multi_modal_projector.patch_merger.merging_layer", "mm.patch_merger"},
		model.MergeUp:         {"multi_modal_projector.linear_1", "mm.1"},
		model.MergeDown:       {"multi_modal_projector.linear_2", "mm.2"},
	},
	tokens: towerTokens{placeholder: "[IMG]"}, frame: pixtralFrame,
	copied:    Copied{"v.token_embd.img_break", "[IMG_BREAK]"},
	published: func(f *pixels.Facts) { f.Longest = 1540 },
}

func pixtralKeys(k *keys.Walk, t *model.Tower) {
	k.Int("hidden_size", "vision.embedding_length", &t.HiddenSize, 1024)
	k.Int("intermediate_size", "vision.feed_forward_length", &t.IntermediateSize, 4096)
	k.Int("num_hidden_layers", "vision.block_count", &t.Layers, 24)
	k.Int("num_attention_heads", "vision.attention.head_count", &t.Heads, 16)
	k.Float32("", "vision.attention.layer_norm_epsilon", &t.Eps, 1e-5)
	k.Int("spatial_merge_size", "vision.spatial_merge_size", &t.Merge, 2)
	same(k, "num_channels", "", 3)
	towerPatch(k, t, 16)
	towerWidth(k, t, "")
	towerActivation(k, t, "hidden_act", model.GELU)
	towerRoPE(k, t, 10000)
	if !k.ReadsFolder() {
		return
	}
	size := t.HeadDim
	if k.Int("head_dim", "", &size, size); size != t.HeadDim {
		k.Fail(unsupported.Errorf("head_dim is %d, and %d heads of a width of %d have %d", size, t.Heads, t.HiddenSize, t.HeadDim))
	}
	biased, act, last := false, "gelu", -1
	if k.Bool("multimodal_projector_bias", "", &biased, false); biased {
		k.Fail(unsupported.Errorf("multimodal_projector_bias is true, which is not implemented for this tower"))
	}
	if k.Text("projector_hidden_act", "", &act, act); act != "gelu" {
		k.Fail(unsupported.Errorf("projector_hidden_act is %.60q, and only gelu is implemented", act))
	}
	if k.Decode("vision_feature_layer", &last); last != -1 {
		k.Fail(fmt.Errorf("vision_feature_layer is %d, and only the last, -1, is implemented for this tower: %w", last, unsupported.Errorf("another layer")))
	}
}

func pixtralFacts(k *keys.Walk, f *pixels.Facts) {
	k.Int("", "vision.image_size", &f.Longest, 1540)
}

// pixtralRows puts the pairs of queries and keys in the order in which they turn.
func pixtralRows(t *model.Tower, p model.Part) (folder, file storage.Order) {
	if p == model.Query || p == model.Key {
		return nil, storage.Paired{HeadDim: t.HeadDim}
	}
	return nil, nil
}

// pixtralFrame ends lines.
func pixtralFrame(p *pixels.Plan) (list []Stretch) {
	before := ""
	for _, v := range p.Views {
		for range v.TokenRows {
			list = append(list, Stretch{before, v.TokenColumns})
			before = "[IMG_BREAK]"
		}
	}
	return append(list, Stretch{"[IMG_END]", 0})
}
