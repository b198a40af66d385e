package pixels

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Facts are what a model's files say of its pictures. A tower reads some of them; the others are 0.
type Facts struct {
	Patch  int // pixels of a patch's side
	Merge  int // patches of a soft token's side
	Frames int // frames of a patch

	LeastPixels, MostPixels int // of the resized picture. GLM counts each frame
	Width, Height           int // of each picture, or the frame that pictures lie in
	Longest                 int // pixels of the long side
	SoftTokens              int // of a picture (Gemma 3 and 4), of a tile (Idefics 3)

	Split                   bool    // large pictures are cut into tiles
	Tile                    int     // pixels of a tile's side
	LeastTiles, MostTiles   int     // of a picture
	LeastTokens, MostTokens int     // of a picture that is not cut
	Tolerance               float64 // by what factor a picture that is not cut may be larger than MostTokens
	Thumbnail               bool    // the whole picture follows its tiles

	Filter    Filter
	Rescale   float64 // what a byte is multiplied by
	Normalize bool    // Mean and Std count
	Mean, Std [3]float64
}

// kind is a tower's way with pictures.
type kind struct {
	name       string   // as clip.projector_type
	processors []string // names of transformers' classes, without "Fast" or "Pil" at their end
	defaults   Facts    // those of the classes
	keys       []string // the keys of preprocessor_config.json that it reads, besides those that all read
	make       func(f *Facts) (sizer, cut, error)
}

var (
	clipMean, clipStd = [3]float64{0.48145466, 0.4578275, 0.40821073}, [3]float64{0.26862954, 0.26130258, 0.27577711}
	halves            = [3]float64{0.5, 0.5, 0.5}
	ones              = [3]float64{1, 1, 1}
)

// gemmaBudgets are the numbers of soft tokens that Gemma 4 was trained with.
var gemmaBudgets = []int{70, 140, 280, 560, 1120}

// kinds is the table of towers.
var kinds = []kind{
	{
		name: "qwen3vl", processors: []string{"Qwen2VLImageProcessor", "Qwen3VLImageProcessor"},
		defaults: Facts{Patch: 14, Merge: 2, Frames: 2, LeastPixels: 56 * 56, MostPixels: 28 * 28 * 1280, Filter: Bicubic, Normalize: true, Mean: clipMean, Std: clipStd},
		keys:     []string{"patch_size", "merge_size", "temporal_patch_size", "size", "min_pixels", "max_pixels"},
		make: func(f *Facts) (sizer, cut, error) {
			s := multiples{unit: f.Patch * f.Merge, least: f.LeastPixels, most: f.MostPixels, frames: 1, steep: 200}
			return s, cut{f.Patch, f.Merge, f.Frames, true, false}, s.check()
		},
	}, {
		name: "glm4v", processors: []string{"Glm46VImageProcessor", "Glm4vImageProcessor"},
		defaults: Facts{Patch: 14, Merge: 2, Frames: 2, LeastPixels: 112 * 112, MostPixels: 28 * 28 * 15000, Filter: Bicubic, Normalize: true, Mean: clipMean, Std: clipStd},
		keys:     []string{"patch_size", "merge_size", "temporal_patch_size", "size"},
		make: func(f *Facts) (sizer, cut, error) {
			s := multiples{unit: f.Patch * f.Merge, least: f.LeastPixels, most: f.MostPixels, frames: f.Frames, raise: true, steep: 200}
			return s, cut{f.Patch, f.Merge, f.Frames, true, false}, s.check()
		},
	}, {
		name: "gemma4v", processors: []string{"Gemma4ImageProcessor"},
		defaults: Facts{Patch: 16, Merge: 3, SoftTokens: 280, Filter: Bicubic, Std: ones},
		keys:     []string{"patch_size", "pooling_kernel_size", "max_soft_tokens"},
		make: func(f *Facts) (sizer, cut, error) {
			return fill{f.Patch * f.Merge, f.Patch, f.SoftTokens, gemmaBudgets}, cut{f.Patch, f.Merge, 1, false, true}, checkBudget(f)
		},
	}, {
		name: "gemma4uv", processors: []string{"Gemma4UnifiedImageProcessor"}, // its patch is a soft token
		defaults: Facts{Patch: 16, Merge: 3, SoftTokens: 280, Filter: Bicubic, Std: ones},
		keys:     []string{"patch_size", "pooling_kernel_size", "max_soft_tokens"},
		make: func(f *Facts) (sizer, cut, error) {
			return fill{f.Patch * f.Merge, f.Patch, f.SoftTokens, gemmaBudgets}, cut{f.Patch * f.Merge, 1, 1, false, true}, checkBudget(f)
		},
	}, {
		name: "gemma3", processors: []string{"Gemma3ImageProcessor"},
		defaults: Facts{Width: 224, Height: 224, Filter: Bilinear, Normalize: true, Mean: halves, Std: halves},
		keys:     []string{"size"},
		make: func(f *Facts) (sizer, cut, error) {
			tokens, err := f.sideTokens(f.Width, f.Height)
			return fixed{f.Width, f.Height, tokens}, cut{f.Patch, f.Merge, 1, false, false}, err
		},
	}, {
		name: "pixtral", processors: []string{"PixtralImageProcessor"},
		defaults: Facts{Patch: 16, Merge: 1, Width: 1024, Height: 1024, Filter: Bicubic, Normalize: true, Mean: clipMean, Std: clipStd},
		keys:     []string{"patch_size", "size"},
		make: func(f *Facts) (sizer, cut, error) {
			if f.Longest > 0 {
				f.Width, f.Height = f.Longest, f.Longest
			}
			return within{f.Width, f.Height, f.Patch * f.Merge}, cut{f.Patch, f.Merge, 1, false, false}, positive("the frame of pictures", f.Width, f.Height)
		},
	}, {
		name: "lfm2", processors: []string{"Lfm2VlImageProcessor"},
		defaults: Facts{Patch: 16, Merge: 2, Split: true, Tile: 512, LeastTiles: 2, MostTiles: 10, LeastTokens: 64, MostTokens: 256, Tolerance: 2, Thumbnail: true,
			Filter: Bilinear, Normalize: true, Mean: halves, Std: halves},
		keys: []string{"encoder_patch_size", "downsample_factor", "do_image_splitting", "tile_size", "min_tiles", "max_tiles", "min_image_tokens", "max_image_tokens",
			"max_pixels_tolerance", "use_thumbnail"},
		make: func(f *Facts) (sizer, cut, error) {
			unit := f.Patch * f.Merge
			if most := mostPixels / (unit * unit); f.LeastTokens > most || f.MostTokens > most {
				return nil, cut{}, fmt.Errorf("a picture has %d to %d soft tokens of %d×%d pixels, at most %d are possible", f.LeastTokens, f.MostTokens, unit, unit, most)
			}
			s := multiples{unit: unit, least: f.LeastTokens * unit * unit, most: f.MostTokens * unit * unit, frames: 1, full: true}
			m := mosaic{small: s, patch: f.Patch, tile: f.Tile, least: f.LeastTiles, most: f.MostTiles, tolerance: f.Tolerance, thumbnail: f.Thumbnail}
			err := s.check()
			if !f.Split {
				m.most = 1
			} else if err == nil {
				if m.tokens, err = f.sideTokens(f.Tile, f.Tile); err == nil && (f.LeastTiles < 1 || f.MostTiles < f.LeastTiles || f.MostTiles > 1024) {
					err = fmt.Errorf("a picture has %d to %d tiles", f.LeastTiles, f.MostTiles)
				}
			}
			return m, cut{f.Patch, f.Merge, 1, false, true}, err
		},
	}, {
		name: "idefics3", processors: []string{"Idefics3ImageProcessor", "SmolVLMImageProcessor"},
		defaults: Facts{Longest: 4 * 364, Split: true, Tile: 364, Filter: Lanczos, Normalize: true, Mean: halves, Std: halves},
		keys:     []string{"size", "max_image_size", "do_image_splitting"},
		make: func(f *Facts) (sizer, cut, error) {
			tokens, err := f.sideTokens(f.Tile, f.Tile)
			if err == nil && (f.Longest < 1 || f.Longest > mostSide || f.Tile < mostSide/1024) {
				err = fmt.Errorf("pictures have a long side of %d pixels and tiles of %d, 1 to %d are possible", f.Longest, f.Tile, mostSide)
			}
			return squares{f.Longest, f.Tile, f.Split, tokens}, cut{f.Patch, f.Merge, 1, false, false}, err
		},
	},
}

// check holds the bounds of pixels against each other.
func (m multiples) check() error {
	if m.least < 1 || m.most < m.least || m.most < m.unit*m.unit*m.frames || m.most > mostPixels {
		return fmt.Errorf("a picture has %d to %d pixels, from 1 to %d are possible, and a soft token has %d", m.least, m.most, mostPixels, m.unit*m.unit*m.frames)
	}
	return nil
}

// checkBudget looks for the soft tokens among Gemma's.
func checkBudget(f *Facts) error {
	if !slices.Contains(gemmaBudgets, f.SoftTokens) {
		return fmt.Errorf("a picture has %d soft tokens, there are %v", f.SoftTokens, gemmaBudgets)
	}
	return nil
}

// positive returns an error unless the sides are positive and have at most mostPixels pixels.
func positive(what string, width, height int) error {
	if width < 1 || height < 1 || width > mostPixels/height {
		return fmt.Errorf("%s is %d×%d pixels, at most %d pixels are possible", what, width, height, mostPixels)
	}
	return nil
}

// sideTokens returns how many soft tokens a picture of width×height pixels is, which must be whole ones. It is held against SoftTokens,
// if that is known.
func (f *Facts) sideTokens(width, height int) (int, error) {
	if err := positive("a picture or tile", width, height); err != nil {
		return 0, err
	}
	unit := f.Patch * f.Merge
	if width%unit != 0 || height%unit != 0 {
		return 0, fmt.Errorf("a picture or tile of %d×%d pixels is not made of soft tokens of %d×%d", width, height, unit, unit)
	}
	n := width / unit * (height / unit)
	if f.SoftTokens != 0 && f.SoftTokens != n {
		return 0, fmt.Errorf("a picture or tile of %d×%d pixels in patches of %d, %d×%d of them a soft token, has %d soft tokens, and the files say %d",
			width, height, f.Patch, f.Merge, f.Merge, n, f.SoftTokens)
	}
	return n, nil
}

// kindNamed returns the row of kinds with that name, or nil.
func kindNamed(name string) *kind {
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i]
		}
	}
	return nil
}

// Defaults returns what transformers' classes take for facts that a file of that kind does not state; false if there is no such kind.
func Defaults(name string) (Facts, bool) {
	k := kindNamed(name)
	if k == nil {
		return Facts{}, false
	}
	f := k.defaults
	f.Rescale = 1.0 / 255
	return f, true
}

// New returns the processor of a kind of tower, or an error that names the fact that cannot be. Whatever reads a format of files fills
// Facts in and calls New: the keys clip.vision.* of a GGUF file have the same facts as preprocessor_config.json.
func New(name string, facts Facts) (*Processor, error) {
	k := kindNamed(name)
	if k == nil {
		names := make([]string, len(kinds))
		for i := range kinds {
			names[i] = kinds[i].name
		}
		return nil, fmt.Errorf("no pictures are made for towers of kind %q, only for %s", name, strings.Join(names, ", "))
	}
	f := facts
	f.Frames = max(f.Frames, 1)
	switch {
	case f.Patch < 1 || f.Patch > 256:
		return nil, fmt.Errorf("%s: a patch has a side of %d pixels, 1 to 256 are possible", name, f.Patch)
	case f.Merge < 1 || f.Merge > 32:
		return nil, fmt.Errorf("%s: a soft token has a side of %d patches, 1 to 32 are possible", name, f.Merge)
	case f.Frames > 2:
		return nil, fmt.Errorf("%s: a patch has %d frames, 1 and 2 are possible", name, f.Frames)
	case !f.Filter.valid():
		return nil, fmt.Errorf("%s: pictures are resized with filter %d, there are 1 (lanczos), 2 (bilinear) and 3 (bicubic)", name, f.Filter)
	}
	s, c, err := k.make(&f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &Processor{kind: name, facts: f, sizer: s, filter: f.Filter, cut: c}
	if err := p.setLevels(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// setLevels computes the value of each byte, in the float32 operations of transformers: (x − mean/rescale) / (std/rescale), or x·rescale
// without normalisation. Lanczos is Pillow's, and so is the rest then: (x·rescale − mean) / std.
func (p *Processor) setLevels(f *Facts) error {
	if !(f.Rescale > 0 && f.Rescale <= 1) {
		return fmt.Errorf("a byte is multiplied by %v, above 0 and up to 1 is possible", f.Rescale)
	}
	for c := range 3 {
		if f.Normalize && !(math.Abs(f.Mean[c]) <= 1e4 && f.Std[c] >= 1e-6 && f.Std[c] <= 1e6) {
			return errors.New("the mean or the standard deviation of pictures is no number, too great or too small")
		}
		for x := range 256 {
			v := float32(x)
			mean, std := float32(f.Mean[c]), float32(f.Std[c])
			switch {
			case !f.Normalize:
				v *= float32(f.Rescale)
			case filters[f.Filter].adaptive:
				back := float32(1 / f.Rescale)
				v = float32(v-float32(mean*back)) / float32(std*back)
			default:
				v = float32(float64(x) * f.Rescale)
				v = float32(v-mean) / std
			}
			p.levels[c][x] = v
		}
	}
	return nil
}
