//go:build opencl && (amd64 || arm64)

package opencl

import (
	"image"
	"image/color"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// TestTowers compares the features that the device makes of a picture with the processor's, of each kind of tower.
func TestTowers(t *testing.T) {
	gpu := openTest(t, Options{})
	picture := image.NewRGBA(image.Rect(0, 0, 40, 24))
	for i := range 40 * 24 {
		picture.Set(i%40, i/40, color.RGBA{uint8(i * 7), uint8(i * 3), uint8(i), 255})
	}
	for _, name := range []string{"vl-qwen3vl", "vl-glmocr", "vl-qwen25vl", "vl-gemma4-e", "vl-gemma4-unified", "vl-lfm2", "vl-mistral3"} {
		t.Run(name, func(t *testing.T) {
			var want []float32
			for _, o := range []*llama.LoadOptions{{}, {Backend: gpu, WarmUp: -1}} {
				m, err := llama.Load(fixture.Path(t, "families/"+name), o)
				must(t, err)
				defer m.Close()
				i, err := llama.ImageOf(picture)
				must(t, err)
				a, err := m.Attach(t.Context(), i, 0)
				must(t, err)
				if got := a.Features(); want == nil {
					want = got
				} else if gpu.BitExact() && !slices.Equal(got, want) {
					t.Error("the device makes other features")
				} else if len(got) != len(want) {
					t.Errorf("%d numbers, and %d on the processor", len(got), len(want))
				}
			}
		})
	}
}
