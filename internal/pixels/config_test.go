package pixels

import (
	"fmt"
	"strings"
	"testing"
)

// TestConfigurationsAreReadStrictly reads configurations as they are published, and some that cannot be.
func TestConfigurationsAreReadStrictly(t *testing.T) {
	qwen := `"image_processor_type": "Qwen2VLImageProcessorFast", "patch_size": 16, "temporal_patch_size": 2, "merge_size": 2, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]`
	for _, c := range []struct{ name, preprocessor, processor, config, want string }{
		{"Qwen3-VL", `{` + qwen + `, "size": {"longest_edge": 16777216, "shortest_edge": 65536}, "processor_class": "Qwen3VLProcessor"}`, "", "", "640×416, 260 soft tokens"},
		{"Qwen2-VL's keys", `{` + qwen + `, "min_pixels": 3136, "max_pixels": 65536, "size": {"max_pixels": 12845056, "min_pixels": 3136}, "do_resize": true, "do_pad": null}`, "", "", "288×192, 54 soft tokens"},
		{"the processor's file counts", `{"image_processor_type": "Unheard"}`, `{"image_processor": {` + qwen + `, "size": {"longest_edge": 65536, "shortest_edge": 1024.0}}}`, "", "288×192, 54 soft tokens"},
		{"Gemma 3", `{"image_processor_type": "Gemma3ImageProcessor", "do_convert_rgb": null, "do_pan_and_scan": null, "do_resize": true, "do_rescale": true, "do_normalize": true, "image_mean": [0.5, 0.5, 0.5], "image_seq_length": 256, "image_std": 0.5, "pan_and_scan_max_num_crops": null, "resample": 2, "rescale_factor": 0.00392156862745098, "size": {"height": 896, "width": 896}}`,
			`{"image_seq_length": 256, "processor_class": "Gemma3Processor"}`, `{"mm_tokens_per_image": 256, "vision_config": {"patch_size": 14}}`, "896×896, 256 soft tokens"},
		{"Mistral 3", `{"image_processor_type": "PixtralImageProcessor", "patch_size": 14, "size": {"longest_edge": 1540}, "image_mean": [0.48, 0.45, 0.4], "image_std": [0.26, 0.26, 0.27]}`, `{"patch_size": 14, "spatial_merge_size": 2}`, "", "644×448, 368 soft tokens"},
		{"Gemma 4", `{"image_processor_type": "Gemma4ImageProcessor", "max_soft_tokens": 280, "patch_size": 16, "pooling_kernel_size": 3, "do_normalize": false}`, "", "", "960×624, 260 soft tokens"},
		{"an unknown class", `{"image_processor_type": "UnheardImageProcessor"}`, "", "", `image_processor_type: pictures for a "UnheardImageProcessor" are not known`},
		{"no class", `{}`, "", "", "there is no image_processor_type"},
		{"no files", "", "{}", "", "there is neither preprocessor_config.json nor an image_processor"},
		{"an unknown key", `{` + qwen + `, "do_flip": true}`, "", "", `the key "do_flip" is not understood in a Qwen2VLImageProcessor`},
		{"another tower's key", `{` + qwen + `, "max_soft_tokens": 280}`, "", "", `the key "max_soft_tokens" is not understood`},
		{"pan and scan", `{"image_processor_type": "Gemma3ImageProcessor", "do_pan_and_scan": true}`, "", "", "do_pan_and_scan: it is true, and only false is understood"},
		{"no resizing", `{` + qwen + `, "do_resize": false}`, "", "", "do_resize: it is false"},
		{"nearest", `{` + qwen + `, "resample": 0}`, "", "", "filter 0"},
		{"half a pixel", `{` + qwen + `, "patch_size": 13.5}`, "", "", "patch_size: 13.5 is no whole number"},
		{"a rectangular patch", `{"image_processor_type": "PixtralImageProcessor", "patch_size": {"height": 14, "width": 16}}`, "", "", "is no square"},
		{"no deviation", `{"image_processor_type": "Qwen2VLImageProcessor", "image_std": [0, 0.5, 0.5]}`, "", "", "standard deviation"},
		{"a mean that is no number", `{"image_processor_type": "Qwen2VLImageProcessor", "image_mean": [NaN, 0.5, 0.5]}`, "", "", "image_mean"},
		{"huge pictures", `{"image_processor_type": "Qwen2VLImageProcessor", "max_pixels": 1000000000}`, "", "", "to 1000000000 pixels"},
		{"no pixels", `{"image_processor_type": "Qwen2VLImageProcessor", "min_pixels": 10, "max_pixels": 5}`, "", "", "10 to 5 pixels"},
		{"another budget", `{"image_processor_type": "Gemma4ImageProcessor", "max_soft_tokens": 100}`, "", "", "100 soft tokens, there are [70 140 280 560 1120]"},
		{"files that differ", `{"image_processor_type": "SmolVLMImageProcessor", "max_image_size": {"longest_edge": 512}}`, `{"image_seq_len": 81}`, `{"scale_factor": 4, "vision_config": {"patch_size": 16}}`, "has 64 soft tokens, and the files say 81"},
		{"no patches", `{"image_processor_type": "SmolVLMImageProcessor"}`, "", "", "a patch has a side of 0 pixels"},
	} {
		file := func(s string) []byte {
			if s == "" {
				return nil
			}
			return []byte(s)
		}
		p, err := Read(Files{file(c.preprocessor), file(c.processor), file(c.config)})
		got := ""
		if err != nil {
			got = err.Error()
		} else if plan, err := p.Plan(640, 426, 0); err != nil {
			got = err.Error()
		} else {
			got = sizeOf(&plan)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// sizeOf writes a plan's first size and its soft tokens.
func sizeOf(p *Plan) string {
	return fmt.Sprintf("%d×%d, %d soft tokens", p.Resizes[0].Width, p.Resizes[0].Height, p.Tokens())
}

// TestPageIsRight computes the figures of the package's page.
func TestPageIsRight(t *testing.T) {
	f, _ := Defaults("qwen3vl")
	f.Patch, f.LeastPixels, f.MostPixels, f.Mean, f.Std = 16, 65536, 16777216, halves, halves
	p, err := New("qwen3vl", f)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Plan(640, 426, 0)
	if err != nil {
		t.Fatal(err)
	}
	v := plan.Views[0]
	if got := sizeOf(&plan); got != "640×416, 260 soft tokens" || v.Rows != 26 || v.Columns != 40 || plan.Patches() != 1040 || p.PatchValues() != 1536 || p.Once().PatchValues() != 768 {
		t.Errorf("%s, %+v", got, v)
	}
	if got := fmt.Sprint(p.Positions(v)[:16]); got != "[0 0 1 0 0 1 1 1 2 0 3 0 2 1 3 1]" {
		t.Errorf("the columns and rows of patches are %s", got)
	}
	if plan, err = p.Plan(640, 426, 64); err != nil || sizeOf(&plan) != "288×192, 54 soft tokens" {
		t.Errorf("with a bound: %s, %v", sizeOf(&plan), err)
	}
	if p.levels[0][0] != -1 || p.levels[1][255] != 1 {
		t.Errorf("levels from %v to %v", p.levels[0][0], p.levels[1][255])
	}
}
