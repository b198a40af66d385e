package openai

import (
	"math"
	"testing"
)

// Scores become probabilities by the logistic function.
func TestRankProbabilities(t *testing.T) {
	raw := false
	in := &rerankRequest{Documents: documents{"a", "b", "c"}, Raw: &raw}
	want, order := []float64{.5, .5, 0}, []int{0, 2, 1}
	for i, got := range in.rank([]float32{0, -100, 0}) {
		if math.Abs(float64(got.Score)-want[i]) > 1e-6 || got.Index != order[i] || got.Document != nil {
			t.Errorf("place %d is %+v, want document %d with %g", i, got, order[i], want[i])
		}
	}
}
