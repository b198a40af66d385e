//go:build opencl && (amd64 || arm64)

package opencl_test

import (
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestModelsOnSeveralDevices divides models between the processor and the device, in both orders and in three parts, and compares scores with those of the
// processor alone: prompts and single tokens, for layers with states, experts, shared caches and inputs of their own, and tied heads.
func TestModelsOnSeveralDevices(t *testing.T) {
	const tokens = 60
	d := device(t)
	if !backend.BitExact(d) {
		t.Skip("the device's results are not those of the processor, bit for bit")
	}
	scores := func(name string, o *llama.LoadOptions) (scores []float32, n int) {
		m, err := llama.Load(fixture.Path(t, name), o)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		s := session(t, m, &llama.SessionOptions{Chunk: 64})
		defer s.Close()
		list := make([]llama.Token, tokens)
		for j := range list {
			list[j] = llama.Token(j * 7919 % m.Config().VocabSize)
		}
		for _, part := range [][]llama.Token{list[:tokens-5], list[tokens-5 : tokens-4], list[tokens-4:]} {
			got, err := s.Score(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			scores = append(scores, got...)
		}
		return scores, len(m.Devices())
	}
	for i, name := range []string{"hf/llama32-tied-bf16", "families/gemma4-e", "families/qwen35moe", "families/gemma3n", "families/gptoss"} {
		for j, devices := range [][]llama.DeviceLayers{{{Layers: 1}, {Backend: d}}, {{Backend: d, Layers: 1}, {}}, {{Layers: 1}, {Backend: d, Layers: 1}, {}}} {
			if i > 0 && !effort.Share(i+j, 6) {
				continue
			}
			if name == "families/gemma3n" && len(devices) == 3 { // it can be cut behind its first layer alone
				continue
			}
			for _, weights := range []tensor.DType{0, tensor.F16}[:1+min(i, 1)] {
				want, _ := scores(name, &llama.LoadOptions{Weights: weights})
				if got, n := scores(name, &llama.LoadOptions{Weights: weights, Devices: devices}); !slices.Equal(got, want) || n != len(devices) {
					t.Errorf("%s as %v on %d devices: other scores", name, weights, n)
				}
			}
		}
	}
}
