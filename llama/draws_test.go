package llama

import (
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// countsSoftmax counts operations.
type countsSoftmax struct {
	*cpu.Backend
	softmax, largest int
}

func (c *countsSoftmax) Run(ops ...backend.Op) error {
	for _, op := range ops {
		switch op.(type) {
		case *backend.Softmax:
			c.softmax++
		case *backend.Largest:
			c.largest++
		}
	}
	return c.Backend.Run(ops...)
}

// TestDrawsTogether lets one pass find the likeliest tokens for jobs with several temperatures, and for others the largest logits or
// nothing: they are those that each would find alone.
func TestDrawsTogether(t *testing.T) {
	b := &countsSoftmax{Backend: cpu.New(1)}
	defer b.Close()
	m := mustLoad(t, fixture.Path(t, "families/qwen3"), &LoadOptions{Backend: b})
	wanted := []struct {
		rows, top   int
		temperature float32
	}{{1, 20, 0.7}, {1, 40, 0.7}, {2, 1, 0}, {3, 30, 1.3}, {1, 0, 0}, {1, 40, 0.7}}
	jobs, logits := make([]*engine.Job, len(wanted)), make([]engine.Logits, len(wanted))
	for i, w := range wanted {
		j := &engine.Job{Request: engine.Request{Answer: true}}
		for k := range w.rows {
			j.Tokens = append(j.Tokens, int32(7*i+k+1))
		}
		var err error
		if j.Memory, err = m.weights.NewMemory(&engine.MemoryOptions{KV: tensor.F16, Capacity: 8}); err != nil {
			t.Fatal(err)
		}
		defer j.Memory.Free()
		defer logits[i].Free()
		if j.Output, err = logits[i].Output(m.weights, w.rows, w.top, w.temperature); err != nil {
			t.Fatal(err)
		}
		jobs[i] = j
	}
	b.softmax, b.largest = 0, 0
	if err := m.batch.RunAll(jobs...); err != nil {
		t.Fatal(err)
	}
	if b.softmax != 1 || b.largest != 2 {
		t.Errorf("%d times probabilities, and %d searches", b.softmax, b.largest)
	}
	for i, w := range wanted {
		l := &logits[i]
		l.Computed(&jobs[i].Output)
		for row := range w.rows {
			l.Point(row)
			var got, want selection.Choices
			got.Reserve(max(w.top, 1))
			want.Reserve(max(w.top, 1))
			drawn, largest := l.FoundLikeliest(&got, 0.7), l.Found(&got, nil)
			if drawn != (w.temperature == 0.7) || largest != (w.temperature == 0 && w.top > 0) {
				t.Errorf("job %d has found the likeliest: %v, the largest: %v", i, drawn, largest)
			}
			var err error
			switch {
			case w.top == 0:
				continue
			case w.temperature == 0:
				err = l.Largest(m.weights, &want, nil)
			default:
				if !l.FoundLikeliest(&got, w.temperature) {
					t.Errorf("job %d has not found its likeliest tokens", i)
				}
				err = l.Likeliest(m.weights, &want, nil, w.temperature)
			}
			if err != nil || !slices.Equal(got.Tokens, want.Tokens) || !slices.Equal(got.Values, want.Values) {
				t.Errorf("job %d, row %d: %v, alone %v (%v)", i, row, got, want, err)
			}
		}
	}
}
