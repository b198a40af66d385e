package llama_test

import (
	"os"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestMemoryByKind counts the pages of Gemma 4's caches, of each kind of layer, and what models with states and policies need besides.
func TestMemoryByKind(t *testing.T) {
	const tokens = 300
	for _, name := range []string{"gemma4-e", "gemma4-moe", "gemma3", "qwen35", "pebble"} {
		t.Run(name, func(t *testing.T) {
			var m *llama.Model
			o := &llama.SessionOptions{KV: tensor.F32, Capacity: 600}
			if name == "pebble" {
				m, o.Eviction = pebbleModel(t), policyOf(t, "snapkv", 400)
			} else {
				m = familyModel(t, name, nil)
			}
			if m.MemoryUsage().CacheParts != (llama.CacheParts{}) {
				t.Errorf("before a session: %v", m.MemoryUsage())
			}
			s := newSession(t, m, o)
			stream := make([]llama.Token, tokens)
			for i := range stream {
				stream[i] = llama.Token(i * 7919 % m.Config().VocabSize)
			}
			if err := s.Prefill(t.Context(), stream); err != nil {
				t.Fatal(err)
			}
			used := m.MemoryUsage()
			got := used.CacheParts
			if used.Caches != got.Whole+got.Windows+got.Shared+got.States+got.Records {
				t.Errorf("%d bytes of caches, of which %v", used.Caches, got)
			}
			want := pagesOf(m.Config(), tokens)
			if got.Whole != want.Whole || got.Shared < want.Shared || got.Windows < want.Windows || got.Windows > 4*want.Windows || got.Shared > 4*want.Shared {
				t.Errorf("caches of %+v, want %+v and at most some pages more with a window", got, want)
			}
			if (got.States > 0) != (name == "qwen35") || (got.Records > 0) != (name == "pebble") {
				t.Errorf("states and records: %+v", got)
			}
			usage := s.CacheUsage()
			if p := usage.Parts; usage.Bytes != p.Whole+p.Windows+p.Shared+p.States || usage.RecordBytes != p.Records || (p.Windows > 0) != (got.Windows > 0) || (p.Shared > 0) != (got.Shared > 0) {
				t.Errorf("the session has %+v, the model %+v", usage, got)
			}
			s.Close()
			if left := m.MemoryUsage().CacheParts; left != (llama.CacheParts{}) {
				t.Errorf("after the session: %v", left)
			}
		})
	}
}

// pagesOf returns the bytes of pages of float32 that a conversation's caches take at least.
func pagesOf(c llama.Config, tokens int) (p llama.CacheParts) {
	last := map[bool]int{} // the last layers that do not share, by whether they have a window
	bytes := make([]int64, c.Layers)
	for i := range c.Layers {
		sizes := llama.LayerSizes{KVHeads: c.KVHeads, HeadDim: c.HeadDim}
		if c.Sizes != nil {
			sizes = c.Sizes[i]
		}
		windowed := c.Windowed != nil && c.Windowed[i]
		switch {
		case c.StateBytes != nil && c.StateBytes[i] > 0:
			continue
		case c.Shared != nil && c.Shared[i]:
			from := last[windowed]
			p.Shared, bytes[from] = p.Shared+bytes[from], 0
			continue
		}
		slots := tokens
		if windowed {
			slots = c.Window
		}
		pages := (slots + backend.PageSlots - 1) / backend.PageSlots
		last[windowed], bytes[i] = i, int64(2*4*pages*backend.PageSlots*sizes.KVHeads*sizes.HeadDim)
	}
	for i, n := range bytes {
		if c.Windowed != nil && c.Windowed[i] {
			p.Windows += n
		} else {
			p.Whole += n
		}
	}
	return p
}

// TestMappedMemory loads a model with inputs of layers, which stay in the file, and a Llama, which is read.
func TestMappedMemory(t *testing.T) {
	e := familyModel(t, "gemma4-e", nil)
	c := e.Config()
	if used, table := e.MemoryUsage(), int64(2*c.VocabSize*c.Layers*c.PerLayerWidth); used.Mapped < table || used.Mapped >= used.Weights {
		t.Errorf("%v, want a table of %d bytes in the file", used, table)
	}
	copied, err := llama.LoadFS(t.Context(), os.DirFS(fixture.Path(t, "families/gemma4-e")), ".", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if used := copied.MemoryUsage(); used.Mapped != 0 {
		t.Errorf("a model that was read from a file system has %d mapped bytes", used.Mapped)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if left := e.MemoryUsage(); left.Mapped != 0 {
		t.Errorf("after Close: %v", left)
	}
}
