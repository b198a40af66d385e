package llama

import (
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// TestInputsAreReleased counts how often a model says to the system that the table of its layers' inputs is not needed: after each 1024 tokens, by which no
// logit changes.
func TestInputsAreReleased(t *testing.T) {
	m := mustLoad(t, fixture.Path(t, "families/gemma4-e"), nil)
	stream := make([]Token, 1100)
	for i := range stream {
		stream[i] = Token(i * 7919 % m.config.VocabSize)
	}
	read := func() []float32 {
		s := mustSession(t, m, &SessionOptions{Chunk: 100, Capacity: 1200})
		if err := s.Prefill(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(logitsOf(s))
	}
	want, released := read(), 0
	for i := range m.weights.Tensors() {
		if x := &m.weights.Tensors()[i]; x.Part == model.PerLayerEmbedding {
			for of, table := range m.weights.All() {
				if of == x {
					engine.Deliveries(m.weights, true)[0].Set(x, table, func() { released++ })
				}
			}
		}
	}
	for range 2 {
		if !slices.Equal(read(), want) {
			t.Error("other logits")
		}
	}
	if released != 2 && released != 3 { // a part of the first prompt counts
		t.Errorf("released %d times in 2200 tokens", released)
	}
}
