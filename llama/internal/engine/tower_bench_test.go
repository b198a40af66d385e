package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// towerShapes are the towers of published models.
var towerShapes = []struct {
	name  string
	tower model.Tower
	view  pixels.View // of a picture of 640×426 pixels
}{
	{"qwen3-vl-2b", model.Tower{Layers: 24, Kind: "qwen3vl", HiddenSize: 1024, IntermediateSize: 4096, Heads: 16, HeadDim: 64, Out: 2048, Patch: 768, Frames: 2, Merge: 2,
		Positions: 2304, Eps: 1e-6, Theta: 1e4, Traits: model.TowerTraits{LayerNorm: true, Biased: true}}, pixels.View{Rows: 26, Columns: 40}},
	{"qwen3.5-4b", model.Tower{Layers: 24, Kind: "qwen3vl", HiddenSize: 1024, IntermediateSize: 4096, Heads: 16, HeadDim: 64, Out: 2560, Patch: 768, Frames: 2, Merge: 2,
		Positions: 2304, Eps: 1e-6, Theta: 1e4, Traits: model.TowerTraits{LayerNorm: true, Biased: true}}, pixels.View{Rows: 26, Columns: 40}},
	{"gemma4-e2b", model.Tower{Layers: 16, Kind: "gemma4v", HiddenSize: 768, IntermediateSize: 3072, Heads: 12, HeadDim: 64, Out: 1536, Patch: 768, Frames: 1, Merge: 3,
		Positions: 10240, Eps: 1e-6, Theta: 100, Traits: model.TowerTraits{Gated: true, HeadNorms: true, ValueNorms: true, PostNorms: true, Unscaled: true, Clipped: true}}, pixels.View{Rows: 39, Columns: 60}},
}

// benchTower makes a tower with random weights of a type.
func benchTower(b *testing.B, d backend.Backend, c *model.Tower, kind tensor.DType) *engine.Tower {
	t, err := engine.NewTower(d, c)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range t.Tensors() {
		of := &t.Tensors()[i]
		n := 1
		for _, dim := range of.Shape {
			n *= dim
		}
		values := make([]float32, n)
		for j := range values {
			values[j] = (r.Float32() - 0.5) * 0.06
		}
		if _, bound, ok := of.Part.BoundOf(); ok {
			values[0] = float32(bound%2)*40 - 20
		}
		x, err := tensor.FromFloats(values, of.Shape...)
		if err != nil {
			b.Fatal(err)
		}
		if of.Role == model.Linear {
			to, err := tensor.New(d, kind, x.Shape())
			if err == nil {
				err = d.Run(&backend.Cast{Src: x, Dst: to})
			}
			if err == nil {
				x, err = backend.Prepare(b.Context(), d, to)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		t.Set(of, x, nil)
	}
	if err := t.Ready(); err != nil {
		b.Fatal(err)
	}
	return t
}

// BenchmarkTower encodes a picture of 640×426 pixels, and reports the time of processors, too.
func BenchmarkTower(b *testing.B) {
	for _, s := range towerShapes {
		for _, kind := range []tensor.DType{tensor.F16, tensor.Q8_0} {
			b.Run(fmt.Sprintf("%s/%v", s.name, kind), func(b *testing.B) {
				d := cpu.New(0)
				defer d.Close()
				c := s.tower
				t := benchTower(b, d, &c, kind)
				defer t.Free()
				values := &pixels.Values{Plan: pixels.Plan{Views: []pixels.View{s.view}}, Pixels: make([]float32, s.view.Rows*s.view.Columns*c.Patch)}
				for i := range values.Pixels {
					values.Pixels[i] = float32(i%255) / 255
				}
				began := cost.Seconds()
				for b.Loop() {
					f, err := t.Encode(b.Context(), values)
					if err != nil {
						b.Fatal(err)
					}
					f.Free()
				}
				b.ReportMetric((cost.Seconds()-began)*1000/float64(b.N), "processor-ms/picture")
			})
		}
	}
}
