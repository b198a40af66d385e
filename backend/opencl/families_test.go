//go:build opencl && (amd64 || arm64)

package opencl_test

import (
	"math"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// TestFamilies compares what models of other families than Llama give on the device with what they give on the CPU: prompts and single
// tokens, enough that layers with windows drop pages.
func TestFamilies(t *testing.T) {
	const tokens, tolerance = 180, 1e-3
	d := device(t)
	for _, name := range []string{"granite", "olmo2", "gemma3", "ministral3", "gptoss", "gemma4-e", "gemma4-moe"} {
		t.Run(name, func(t *testing.T) {
			var scores [2][]float32
			for i, o := range []*llama.LoadOptions{nil, {Backend: d}} {
				m, err := llama.Load(fixture.Path(t, "families/"+name), o)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				s := session(t, m, &llama.SessionOptions{Chunk: 64})
				list := make([]llama.Token, tokens)
				for j := range list {
					list[j] = llama.Token(j * 7919 % m.Config().VocabSize)
				}
				for _, part := range [][]llama.Token{list[:170], list[170:171], list[171:]} {
					got, err := s.Score(t.Context(), part)
					if err != nil {
						t.Fatal(err)
					}
					scores[i] = append(scores[i], got...)
				}
			}
			for i, want := range scores[0] {
				got := scores[1][i]
				if e := math.Abs(float64(got - want)); !(e <= tolerance*(1+math.Abs(float64(want)))) || backend.BitExact(d) && got != want {
					t.Fatalf("token %d has the score %g, on the CPU %g", i, got, want)
				}
			}
		})
	}
}

// TestEncoders compares the vectors and scores of models that read texts as a whole with those on the CPU.
func TestEncoders(t *testing.T) {
	const tolerance = 1e-3
	d, texts := device(t), []string{"Paris is the capital of France.", "a", "wood chuck wood chuck wood"}
	for _, name := range []string{"enc-bert", "enc-nomic", "enc-nomic-moe", "enc-modernbert", "enc-gemma", "rank-xlmr"} {
		t.Run(name, func(t *testing.T) {
			var all [2][]float32
			for i, o := range []*llama.LoadOptions{nil, {Backend: d}} {
				m, err := llama.Load(fixture.Path(t, "families/"+name), o)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				if m.Kind() == llama.Reranker {
					if all[i], err = m.Rerank(t.Context(), "capital", texts...); err != nil {
						t.Fatal(err)
					}
					continue
				}
				vectors, err := m.Embed(t.Context(), texts...)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range vectors {
					all[i] = append(all[i], v...)
				}
			}
			for i, want := range all[0] {
				got := all[1][i]
				if e := math.Abs(float64(got - want)); !(e <= tolerance) || backend.BitExact(d) && got != want {
					t.Fatalf("element %d is %g, on the CPU %g", i, got, want)
				}
			}
		})
	}
}
