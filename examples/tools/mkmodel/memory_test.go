package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama"
)

// conversationBytes returns what a conversation of tokens tokens, a multiple of 128, takes in the layers with attention, in F16, and in
// those with a state, one value without snapshots.
func conversationBytes(c *model.Config, tokens int) (keysAndValues, states int64) {
	const f16, f32 = 2, 4
	for i := range c.Layers {
		m := c.Layer(i).Mixer
		states += f32 * c.StateElements(m)
		if !m.Recurrent() {
			keysAndValues += 2 * f16 * int64(tokens) * int64(c.KVHeads) * int64(c.HeadDim)
		}
	}
	return keysAndValues, states
}

// TestMemoryOfConversations holds what sessions say that they take against arithmetic, with small shapes, and logs what the same arithmetic
// says of published ones with 32,768 tokens.
func TestMemoryOfConversations(t *testing.T) {
	const tokens = 384
	for _, shape := range []string{"tiny", "tiny-qwen3.5", "tiny-lfm2", "tiny-granite4-h"} {
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := run(t.Context(), []string{"-shape", shape, "-type", "q4_0", "-out", path}, nil, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
		m, err := llama.Load(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		s, err := m.NewSession(&llama.SessionOptions{Capacity: tokens, Snapshots: llama.NoSnapshots})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Prefill(t.Context(), make([]llama.Token, tokens)); err != nil {
			t.Fatal(err)
		}
		c := shapes[shape]
		keysAndValues, states := conversationBytes(&c, tokens)
		usage, memory := s.CacheUsage(), m.MemoryUsage()
		if usage.Parts.States != states || usage.Bytes != keysAndValues+states || memory.CacheParts.States != states || memory.Caches != keysAndValues+states {
			t.Errorf("%s: the session takes %+v and the model %+v, want %d bytes of keys and values and %d of states", shape, usage, memory, keysAndValues, states)
		}
	}
	for _, shape := range []string{"qwen3-0.6b", "qwen3-1.7b", "qwen3-4b-yarn", "qwen3.5-0.8b", "qwen3.5-4b", "lfm2-1.2b", "granite4-h-350m", "granite4-h-1b"} {
		c := shapes[shape]
		keysAndValues, states := conversationBytes(&c, 32768)
		t.Logf("%s, 32,768 tokens: %.1f MB of keys and values, %.1f MB of states, and as much for each snapshot", shape, float64(keysAndValues)/1e6, float64(states)/1e6)
	}
}
