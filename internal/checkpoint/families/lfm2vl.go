package families

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// lfm2vl is the tower of LFM2-VL and LFM2.5-VL: SigLIP 2 of pictures in their own shape.
//
//   - Patches are read as [row, column, colour]; mmproj has their filter as [out, colour, row, column].
//   - The square table of positions is stretched or shrunk to the picture's patches, with antialiasing and without aligned corners.
//   - Large pictures become tiles, and the whole picture follows. Each tile's rows come after a token with its row and column.
//   - The norm before the network that makes features has PyTorch's epsilon, and is left out in some models.
//   - llama.cpp knows the number of soft tokens and the size of tiles by itself. The keys preproc_image_size, preproc_min_tiles and preproc_max_tiles,
//     image_min_pixels and image_max_pixels are for models with other numbers.
var lfm2vl = &Tower{
	Kind: "lfm2", Projector: "lfm2", Serves: []string{"lfm2", "lfm2moe"}, types: []string{"siglip2_vision_model"}, wrappers: []string{"lfm2_vl", "lfm2-vl"},
	models: "LFM2-VL and LFM2.5-VL",
	traits: model.TowerTraits{LayerNorm: true, Biased: true},
	keys:   lfm2vlKeys, facts: lfm2vlFacts, within: siglipWithin, colours: true,
	outer: []string{"downsample_factor", "projector_hidden_size", "projector_bias", "projector_use_layernorm", "projector_hidden_act", "vision_feature_layer"},
	names: siglipNames("vision_tower.", map[model.Part]towerName{
		model.MergeNorm: {"multi_modal_projector.layer_norm", "mm.input_norm"},
		model.MergeUp:   {"multi_modal_projector.linear_1", "mm.1"},
		model.MergeDown: {"multi_modal_projector.linear_2", "mm.2"},
	}),
	tokens: towerTokens{placeholder: "<image>"}, frame: lfm2vlFrame,
}

func lfm2vlKeys(k *keys.Walk, t *model.Tower) {
	siglipKeys(k, t, siglipSizes{768, 3072, 12, 16})
	k.Int("downsample_factor", "vision.projector.scale_factor", &t.Merge, 2)
	if k.ReadsFolder() {
		k.Int("projector_hidden_size", "", &t.MergeSize, 2560)
		k.Bool("projector_use_layernorm", "", &t.Traits.JoinNorm, true)
		biased, act, last := true, "gelu", -1
		if k.Bool("projector_bias", "", &biased, true); !biased {
			k.Fail(unsupported.Errorf("projector_bias is false, which is not implemented for this tower"))
		}
		if k.Text("projector_hidden_act", "", &act, act); act != "gelu" {
			k.Fail(unsupported.Errorf("projector_hidden_act is %.60q, and only gelu is implemented", act))
		}
		k.Decode("vision_feature_layer", &last)
		if last < 0 {
			t.Layers += max(last, -t.Layers-1) + 1
		} else {
			t.Layers = min(last+1, t.Layers)
		}
		if k.Int("num_patches", "", &t.Positions, 256); t.Positions < 1 {
			k.Fail(fmt.Errorf("num_patches is %d", t.Positions))
		}
		tableOfPositions(k, t)
		return
	}
	if k.ReadsFile() {
		tableOfPositions(k, t)
		t.Traits.JoinNorm = k.HasTensor("mm.input_norm.weight")
		if up, ok := k.Tensor("mm.1.weight"); ok && len(up.Shape) == 2 {
			t.MergeSize = up.Shape[0]
		}
	}
	size := 256 // whatever it is
	k.Int("", "vision.image_size", &size, size)
}

func lfm2vlFacts(k *keys.Walk, f *pixels.Facts) {
	unit := f.Patch * f.Patch * f.Merge * f.Merge
	least, most := min(f.LeastTokens*unit, keys.Most), min(f.MostTokens*unit, keys.Most)
	k.Int("", "vision.image_min_pixels", &least, least)
	k.Int("", "vision.image_max_pixels", &most, most)
	if k.Reads() && unit > 0 {
		f.LeastTokens, f.MostTokens = least/unit, most/unit
	}
	k.Int("", "vision.preproc_image_size", &f.Tile, f.Tile)
	k.Int("", "vision.preproc_min_tiles", &f.LeastTiles, f.LeastTiles)
	k.Int("", "vision.preproc_max_tiles", &f.MostTiles, f.MostTiles)
}

// lfm2vlFrame writes of a picture of 1×2 tiles:
//
//	<|image_start|><|img_row_1_col_1|> rows <|img_row_1_col_2|> rows <|img_thumbnail|> rows <|image_end|>
func lfm2vlFrame(p *pixels.Plan) (list []Stretch) {
	before := "<|image_start|>"
	for i, v := range p.Views {
		if tiles := p.TileRows * p.TileColumns; i < tiles {
			before += fmt.Sprintf("<|img_row_%d_col_%d|>", i/p.TileColumns+1, i%p.TileColumns+1)
		} else if tiles > 0 {
			before += "<|img_thumbnail|>"
		}
		list = append(list, Stretch{before, v.TokenRows * v.TokenColumns})
		before = ""
	}
	return append(list, Stretch{"<|image_end|>", 0})
}
