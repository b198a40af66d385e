package openai

import (
	"math"
	"testing"
)

// Scores that are logarithms of probabilities become these, and those of a head what the logistic function makes of them.
func TestRankProbabilities(t *testing.T) {
	raw := false
	in := &rerankRequest{Documents: documents{"a", "b", "c"}, Raw: &raw}
	for name, c := range map[string]struct {
		probability func(float64) float64
		scores      []float32
		want        []float64 // the best first
		order       []int
	}{
		"judgement": {math.Exp, []float32{float32(math.Log(.25)), 0, float32(math.Log(.5))}, []float64{1, .5, .25}, []int{1, 2, 0}},
		"head":      {logistic, []float32{0, -100, 0}, []float64{.5, .5, 0}, []int{0, 2, 1}},
	} {
		for i, got := range in.rank(c.scores, c.probability) {
			if math.Abs(float64(got.Score)-c.want[i]) > 1e-6 || got.Index != c.order[i] || got.Document != nil {
				t.Errorf("%s: place %d is %+v, want document %d with %g", name, i, got, c.order[i], c.want[i])
			}
		}
	}
}
