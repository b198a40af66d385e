package engine_test

import (
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// sized is a backend that says how many rows a pass computes best.
type sized struct {
	backend.Backend
	prompts, answers int
}

func (s sized) PassRows() (prompts, answers int) { return s.prompts, s.answers }

// TestPassRows asks backends that do not say, that do not know, and that know.
func TestPassRows(t *testing.T) {
	for _, c := range []struct {
		backend             backend.Backend
		chunk, most, widest int
	}{
		{struct{ backend.Backend }{}, engine.DefaultChunk, engine.DefaultMost, engine.MostChunk},
		{sized{}, engine.DefaultChunk, engine.DefaultMost, engine.MostChunk},
		{sized{prompts: 2048, answers: 128}, 2048, 128, 2048},
		{sized{prompts: 64, answers: 8}, 64, 8, engine.MostChunk},
	} {
		chunk, most := engine.PassRows(c.backend)
		if widest := engine.Widest(c.backend); chunk != c.chunk || most != c.most || widest != c.widest {
			t.Errorf("%+v: chunks of %d, %d answers, at most %d; want %d, %d, %d", c.backend, chunk, most, widest, c.chunk, c.most, c.widest)
		}
	}
}
