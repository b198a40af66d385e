package families

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
)

// gemma3v is the tower of Gemma 3 (4B, 12B and 27B).
//
//   - Each picture has one size, 896×896, and 256 soft tokens: means of 4×4 patches. mmproj says the 4 only if it is another number.
//   - mm_soft_emb_norm is an RMSNorm that folders store less one. The matrix after it is stored as [vision, text] in both formats.
//   - The rows of a picture see each other in all layers of the model of text.
//   - The template writes <start_of_image>. The processor puts blank lines around it, which may become one token with the line ends of the template.
var gemma3v = &Tower{
	Kind: "gemma3", Projector: "gemma3", Serves: []string{"gemma3"}, types: []string{"siglip_vision_model"}, wrappers: []string{"gemma3"},
	models: "Gemma 3 (4B, 12B, 27B)",
	traits: model.TowerTraits{LayerNorm: true, Biased: true},
	keys:   gemma3vKeys, facts: gemma3vFacts, outer: []string{"mm_tokens_per_image"}, within: siglipWithin,
	unnamed: []model.Part{model.MergeDown}, plusOne: []model.Part{model.MergeNorm}, transposed: []model.Part{model.MergeDown},
	names: siglipNames("vision_tower.", map[model.Part]towerName{
		model.MergeNorm: {"multi_modal_projector.mm_soft_emb_norm", "mm.soft_emb_norm"},
		model.MergeDown: {"multi_modal_projector.mm_input_projection_weight", "mm.input_projection"},
	}),
	tokens: towerTokens{placeholder: "<start_of_image>", row: "<image_soft_token>"},
	frame: func(p *pixels.Plan) []Stretch {
		return []Stretch{{"\n\n<start_of_image>", p.Tokens()}, {"<end_of_image>\n\n", 0}}
	},
	published: func(f *pixels.Facts) { f.Width, f.Height = 896, 896 },
}

func gemma3vKeys(k *keys.Walk, t *model.Tower) {
	siglipKeys(k, t, siglipSizes{768, 3072, 12, 16})
	siglipPositions(k, t, "image_size", 224)
	if !k.ReadsFolder() {
		k.Int("", "vision.projector.scale_factor", &t.Merge, 4)
		return
	}
	many, side := 256, 0
	k.Int("mm_tokens_per_image", "", &many, many)
	for (side+1)*(side+1) <= min(many, t.Positions) {
		side++
	}
	for t.Merge = 1; t.Merge < 32 && (t.Merge*side)*(t.Merge*side) < t.Positions; t.Merge++ {
	}
	if side*side != many || (t.Merge*side)*(t.Merge*side) != t.Positions {
		k.Fail(fmt.Errorf("mm_tokens_per_image is %d: %d patches do not become as many soft tokens in a square", many, t.Positions))
	}
}

// gemma3vFacts walks over the size of pictures.
func gemma3vFacts(k *keys.Walk, f *pixels.Facts) {
	k.Int("", "vision.image_size", &f.Width, 896)
	f.Height = f.Width
}
