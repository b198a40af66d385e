package families

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
)

// idefics3 is the tower of SmolVLM and SmolVLM2, and of Idefics 3.
//
//   - A picture is cut into tiles of one size, and the whole picture follows as one more. Each is its rows after a token with the tile's row and column; lines of
//     tiles end with a line end.
//   - The states of 4×4 patches (2×2) in a row become a soft token by one matrix.
//   - mmproj has the size of tiles as that of pictures, and the long side of all tiles as preproc_image_size.
var idefics3 = &Tower{
	Kind: "idefics3", Projector: "idefics3", Serves: []string{"llama"}, types: []string{"idefics3", "idefics3_vision", "smolvlm", "smolvlm_vision"},
	models: "SmolVLM, SmolVLM2 and Idefics 3",
	traits: model.TowerTraits{LayerNorm: true, Biased: true},
	keys:   idefics3Keys, facts: idefics3Facts, outer: []string{"scale_factor"}, within: siglipWithin,
	names: siglipNames("vision_model.", map[model.Part]towerName{
		model.MergeDown: {"connector.modality_projection.proj", "mm.model.fc"},
	}),
	tokens: towerTokens{placeholder: "<image>"}, frame: idefics3Frame,
	published: func(f *pixels.Facts) { f.Longest, f.Tile = 2048, 512 },
}

func idefics3Keys(k *keys.Walk, t *model.Tower) {
	siglipKeys(k, t, siglipSizes{1152, 3072, 16, 32})
	siglipPositions(k, t, "image_size", 224)
	k.Int("scale_factor", "vision.projector.scale_factor", &t.Merge, 2)
}

func idefics3Facts(k *keys.Walk, f *pixels.Facts) {
	k.Int("", "vision.image_size", &f.Tile, 364)
	k.Int("", "vision.preproc_image_size", &f.Longest, 4*min(f.Tile, keys.Most/4))
}

// idefics3Frame writes of a picture of 1×2 tiles, with a fake token around each view:
//
//	<fake><row_1_col_1> rows <fake><row_1_col_2> rows ⏎⏎ <fake><global-img> rows <fake>
func idefics3Frame(p *pixels.Plan) (list []Stretch) {
	const fake = "<fake_token_around_image>"
	before := ""
	for i, v := range p.Views {
		name := "<global-img>"
		if tiles := p.TileRows * p.TileColumns; i < tiles {
			name = fmt.Sprintf("<row_%d_col_%d>", i/p.TileColumns+1, i%p.TileColumns+1)
			if i > 0 && i%p.TileColumns == 0 {
				before = "\n"
			}
		} else if tiles > 0 {
			before = "\n\n"
		}
		list = append(list, Stretch{before + fake + name, v.TokenRows * v.TokenColumns})
		before = ""
	}
	return append(list, Stretch{fake, 0})
}
