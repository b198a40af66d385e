package pixels

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// Files are the contents of a model folder's files that say how pictures are processed; nil if there is no such file.
type Files struct {
	Preprocessor []byte // preprocessor_config.json
	Processor    []byte // processor_config.json. Its image_processor, if it has one, counts instead of Preprocessor, as in transformers
	Config       []byte // config.json: the tower's patches, for processors that do not state them
}

// processorConfig is what counts of processor_config.json for pictures. The rest is about texts, sound and video.
type processorConfig struct {
	ImageProcessor    map[string]json.RawMessage `json:"image_processor"`
	SpatialMergeSize  int                        `json:"spatial_merge_size"`
	ImageSeqLength    int                        `json:"image_seq_length"`
	ImageSeqLen       int                        `json:"image_seq_len"`
	ProcessorPatching int                        `json:"patch_size"`
}

// towerConfig is what counts of config.json for pictures.
type towerConfig struct {
	MMTokens         int `json:"mm_tokens_per_image"`
	ScaleFactor      int `json:"scale_factor"`
	SpatialMergeSize int `json:"spatial_merge_size"`
	Vision           struct {
		PatchSize int `json:"patch_size"`
	} `json:"vision_config"`
}

// ErrNoProcessor is the error of a folder that does not say how pictures are processed.
var ErrNoProcessor = errors.New("there is neither preprocessor_config.json nor an image_processor in processor_config.json")

// Read returns the processor that a model folder's files describe. Each key must be understood, or known not to matter; an error names
// the file and the key otherwise.
func Read(files Files) (*Processor, error) {
	var outer processorConfig
	var tower towerConfig
	if files.Processor != nil {
		if err := modeljson.Unmarshal(files.Processor, &outer); err != nil {
			return nil, fmt.Errorf("reading processor_config.json: %w", err)
		}
	}
	if files.Config != nil {
		if err := modeljson.Unmarshal(files.Config, &tower); err != nil {
			return nil, fmt.Errorf("reading config.json: %w", err)
		}
	}
	name, keys := "processor_config.json, image_processor", outer.ImageProcessor
	if keys == nil {
		name = "preprocessor_config.json"
		if files.Preprocessor == nil {
			return nil, fmt.Errorf("reading how pictures are processed: %w", ErrNoProcessor)
		}
		if err := modeljson.Unmarshal(files.Preprocessor, &keys); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	p, err := fromKeys(keys, &outer, &tower)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return p, nil
}

// fromKeys makes a processor of the keys of transformers' image processor.
func fromKeys(keys map[string]json.RawMessage, outer *processorConfig, tower *towerConfig) (*Processor, error) {
	class, err := classOf(keys)
	if err != nil {
		return nil, err
	}
	var k *kind
	for i := range kinds {
		if slices.Contains(kinds[i].processors, class) {
			k = &kinds[i]
		}
	}
	if k == nil {
		return nil, fmt.Errorf("image_processor_type: pictures for a %q are not known", class)
	}
	f, _ := Defaults(k.name)
	names := slices.Sorted(maps.Keys(keys))
	if at := slices.Index(names, "size"); at > 0 { // first: min_pixels and max_pixels count instead of it
		names = slices.Insert(slices.Delete(names, at, at+1), 0, "size")
	}
	for _, key := range names {
		value := keys[key]
		if string(value) == "null" || harmless[key] {
			continue
		}
		read := everyKey[key]
		if slices.Contains(k.keys, key) {
			read = ownKeys[key]
		}
		if read == nil {
			return nil, fmt.Errorf("the key %q is not understood in a %s", key, class)
		}
		if err := read(&f, value); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	switch k.name { // facts that other files have
	case "gemma3":
		f.Patch, f.SoftTokens = tower.Vision.PatchSize, outer.ImageSeqLength
		if tower.MMTokens > 0 && f.Patch > 0 {
			// A side has Width/Patch patches, and √MMTokens soft tokens.
			side := int(math.Sqrt(float64(tower.MMTokens)))
			if side*side != tower.MMTokens || f.Width/f.Patch%side != 0 {
				return nil, fmt.Errorf("config.json's mm_tokens_per_image of %d do not cover %d×%d patches", tower.MMTokens, f.Width/f.Patch, f.Height/f.Patch)
			}
			f.Merge = f.Width / f.Patch / side
		}
	case "idefics3":
		f.Patch, f.Merge, f.SoftTokens = tower.Vision.PatchSize, tower.ScaleFactor, outer.ImageSeqLen
	case "pixtral":
		if tower.SpatialMergeSize > 0 {
			f.Merge = tower.SpatialMergeSize
		}
		if outer.SpatialMergeSize > 0 {
			f.Merge = outer.SpatialMergeSize
		}
		if outer.ProcessorPatching > 0 { // counts instead of the image processor's
			f.Patch = outer.ProcessorPatching
		}
	}
	return New(k.name, f)
}

// classOf returns the class's name without what says how fast it is.
func classOf(keys map[string]json.RawMessage) (string, error) {
	for _, key := range []string{"image_processor_type", "feature_extractor_type"} { // the second is the older name
		if value, ok := keys[key]; ok {
			var class string
			if err := json.Unmarshal(value, &class); err != nil {
				return "", fmt.Errorf("%s: %w", key, err)
			}
			return strings.TrimSuffix(strings.TrimSuffix(class, "Fast"), "Pil"), nil
		}
	}
	return "", errors.New("there is no image_processor_type")
}

// harmless are keys that change no pixel.
var harmless = map[string]bool{
	"image_processor_type": true, "feature_extractor_type": true, "processor_class": true, "auto_map": true, "_valid_processor_keys": true,
	"data_format": true, "input_data_format": true, "return_tensors": true, "device": true, "disable_grouping": true,
	"return_row_col_info": true, "default_to_square": true, "crop_size": true, // read by do_center_crop only, which must be false
	"image_seq_length": true, "image_token": true, "max_num_patches": true, // follows from the tiles
	"do_pad": true, "pad_size": true, // views have the size that they have: towers here need no padding
	"pan_and_scan_min_crop_size": true, "pan_and_scan_max_num_crops": true, "pan_and_scan_min_ratio_to_activate": true, // read by do_pan_and_scan only
	"videos_kwargs": true, "transformers_version": true,
}

type reader func(f *Facts, value json.RawMessage) error

// everyKey are the keys that each kind reads.
var everyKey = map[string]reader{
	"do_convert_rgb":  must(true),
	"do_resize":       must(true),
	"do_rescale":      must(true),
	"do_center_crop":  must(false),
	"do_pan_and_scan": must(false),
	"do_normalize":    func(f *Facts, v json.RawMessage) error { return json.Unmarshal(v, &f.Normalize) },
	"rescale_factor":  func(f *Facts, v json.RawMessage) error { return json.Unmarshal(v, &f.Rescale) },
	"resample":        func(f *Facts, v json.RawMessage) error { return whole64(v, (*int)(&f.Filter)) },
	"image_mean":      func(f *Facts, v json.RawMessage) error { return colours(v, &f.Mean) },
	"image_std":       func(f *Facts, v json.RawMessage) error { return colours(v, &f.Std) },
	"size":            func(f *Facts, v json.RawMessage) error { return nil }, // of a kind that does not list it: Gemma 4's and LFM2's is not read
}

// ownKeys are the keys that kinds list.
var ownKeys = map[string]reader{
	"patch_size":           square(func(f *Facts) *int { return &f.Patch }),
	"encoder_patch_size":   number(func(f *Facts) *int { return &f.Patch }),
	"merge_size":           number(func(f *Facts) *int { return &f.Merge }),
	"pooling_kernel_size":  number(func(f *Facts) *int { return &f.Merge }),
	"downsample_factor":    number(func(f *Facts) *int { return &f.Merge }),
	"temporal_patch_size":  number(func(f *Facts) *int { return &f.Frames }),
	"max_soft_tokens":      number(func(f *Facts) *int { return &f.SoftTokens }),
	"min_pixels":           number(func(f *Facts) *int { return &f.LeastPixels }),
	"max_pixels":           number(func(f *Facts) *int { return &f.MostPixels }),
	"tile_size":            number(func(f *Facts) *int { return &f.Tile }),
	"min_tiles":            number(func(f *Facts) *int { return &f.LeastTiles }),
	"max_tiles":            number(func(f *Facts) *int { return &f.MostTiles }),
	"min_image_tokens":     number(func(f *Facts) *int { return &f.LeastTokens }),
	"max_image_tokens":     number(func(f *Facts) *int { return &f.MostTokens }),
	"max_pixels_tolerance": func(f *Facts, v json.RawMessage) error { return json.Unmarshal(v, &f.Tolerance) },
	"use_thumbnail":        func(f *Facts, v json.RawMessage) error { return json.Unmarshal(v, &f.Thumbnail) },
	"do_image_splitting":   func(f *Facts, v json.RawMessage) error { return json.Unmarshal(v, &f.Split) },
	"size":                 readSize,
	"max_image_size":       readTile,
}

// must returns the reader of a switch that has to stand as it is.
func must(want bool) reader {
	return func(_ *Facts, v json.RawMessage) error {
		var got bool
		if err := json.Unmarshal(v, &got); err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("it is %v, and only %v is understood", got, want)
		}
		return nil
	}
}

// number returns the reader of an integer.
func number(field func(*Facts) *int) reader {
	return func(f *Facts, v json.RawMessage) error { return whole64(v, field(f)) }
}

// mostNumber bounds the integers of a configuration: products of three stay below 2⁶³.
const mostNumber = 1 << 30

// whole64 reads an integer from 0 to mostNumber, which may be written 16.0.
func whole64(v json.RawMessage, to *int) error {
	var n float64
	if err := json.Unmarshal(v, &n); err != nil {
		return err
	}
	if n != math.Trunc(n) || n < 0 || n > mostNumber {
		return fmt.Errorf("%s is no whole number from 0 to %d", v, mostNumber)
	}
	*to = int(n)
	return nil
}

// square returns the reader of a side: a number, or an object with an equal height and width.
func square(field func(*Facts) *int) reader {
	return func(f *Facts, v json.RawMessage) error {
		if len(v) == 0 || v[0] != '{' {
			return whole64(v, field(f))
		}
		sides, err := sizes(v, "height", "width")
		if err != nil {
			return err
		}
		if sides["height"] != sides["width"] {
			return fmt.Errorf("%s is no square", v)
		}
		*field(f) = sides["height"]
		return nil
	}
}

// sizes reads an object of integers. It has no other keys than names; those that are null are left out.
func sizes(v json.RawMessage, names ...string) (map[string]int, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(v, &all); err != nil {
		return nil, err
	}
	read := map[string]int{}
	for key, value := range all {
		if string(value) == "null" {
			continue
		}
		if !slices.Contains(names, key) {
			return nil, fmt.Errorf("the key %q is not understood, only %s", key, strings.Join(names, ", "))
		}
		var n int
		if err := whole64(value, &n); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		read[key] = n
	}
	return read, nil
}

// readSize reads the size of pictures. Its keys mean different things: for Qwen and GLM shortest_edge and longest_edge are numbers of
// pixels of the whole picture.
func readSize(f *Facts, v json.RawMessage) error {
	s, err := sizes(v, "height", "width", "shortest_edge", "longest_edge", "min_pixels", "max_pixels")
	if err != nil {
		return err
	}
	for _, key := range []string{"shortest_edge", "min_pixels"} {
		if n, ok := s[key]; ok {
			f.LeastPixels = n
		}
	}
	for _, key := range []string{"longest_edge", "max_pixels"} {
		if n, ok := s[key]; ok {
			f.MostPixels, f.Longest = n, n
		}
	}
	if w, ok := s["width"]; ok {
		f.Width = w
	}
	if h, ok := s["height"]; ok {
		f.Height = h
	}
	return nil
}

// readTile reads the size of tiles.
func readTile(f *Facts, v json.RawMessage) error {
	s, err := sizes(v, "longest_edge")
	if n, ok := s["longest_edge"]; err == nil && ok {
		f.Tile = n
	}
	return err
}

// colours reads a number for each colour, or one for all.
func colours(v json.RawMessage, to *[3]float64) error {
	var one float64
	if json.Unmarshal(v, &one) == nil {
		*to = [3]float64{one, one, one}
		return nil
	}
	var list []float64
	if err := json.Unmarshal(v, &list); err != nil {
		return err
	}
	if len(list) != 3 {
		return fmt.Errorf("%d numbers for 3 colours", len(list))
	}
	*to = [3]float64(list)
	return nil
}
