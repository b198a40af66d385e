package source_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/llama"
)

// extremeShapes are consistent models at the bounds of what a configuration may ask for, and beyond. Those with refused are
// out of proportion to their weights, or beyond a bound.
var extremeShapes = []struct {
	mutantShape
	refused bool
}{
	{mutantShape{hidden: 1, wide: 1, layers: 1, heads: 131072, kv: 131072, headDim: 2, vocab: 1}, true}, // gigabytes of scratch, once
	{mutantShape{hidden: 1, wide: 1, layers: 1, heads: 131072, kv: 1, headDim: 2, vocab: 1}, true},
	{mutantShape{hidden: 1, wide: 1, layers: 1, heads: 1025, kv: 1, headDim: 2, vocab: 1}, true},
	{mutantShape{hidden: 127, wide: 1, layers: 1, heads: 1024, kv: 1, headDim: 2, vocab: 1}, true},
	{mutantShape{hidden: 128, wide: 1, layers: 1, heads: 1024, kv: 1, headDim: 2, vocab: 1}, false},
	{mutantShape{hidden: 128, wide: 1, layers: 1, heads: 1024, kv: 1024, headDim: 2, vocab: 1}, false},
	{mutantShape{hidden: 1, wide: 1, layers: 1, heads: 1024, kv: 32, headDim: 32, vocab: 1}, true},
	{mutantShape{hidden: 1, wide: 1, layers: 1, heads: 1024, kv: 1024, headDim: 256, vocab: 1}, true},
	{mutantShape{hidden: 1, wide: 1, layers: 1, heads: 256, kv: 1, headDim: 1024, vocab: 1}, true},
	{mutantShape{hidden: 63, wide: 1, layers: 1, heads: 1, kv: 1, headDim: 1024, vocab: 1}, true},
	{mutantShape{hidden: 64, wide: 1, layers: 1, heads: 1, kv: 1, headDim: 1024, vocab: 1}, false},
	{mutantShape{hidden: 1, wide: 1, layers: 1, heads: 1, kv: 1, headDim: 1026, vocab: 1}, true},
	{mutantShape{hidden: 1, wide: 1 << 18, layers: 1, heads: 1, kv: 1, headDim: 2, vocab: 1}, true},
	{mutantShape{hidden: 32, wide: 1 << 13, layers: 1, heads: 1, kv: 1, headDim: 32, vocab: 40}, false},
	{mutantShape{hidden: 4096, wide: 1, layers: 1, heads: 1, kv: 1, headDim: 2, vocab: 1}, false},
	{mutantShape{hidden: 1 << 17, wide: 1, layers: 1, heads: 1, kv: 1, headDim: 2, vocab: 1}, true},
	{mutantShape{hidden: 1, wide: 1, layers: 1, heads: 1, kv: 1, headDim: 2, vocab: 1 << 18}, false},
	{mutantShape{hidden: 1, wide: 1, layers: 1024, heads: 1, kv: 1, headDim: 2, vocab: 1}, false},
	{mutantShape{hidden: 1, wide: 1, layers: 1025, heads: 1, kv: 1, headDim: 2, vocab: 1}, true},
	{mutantShape{hidden: 1, wide: 1, layers: 1, heads: 1, kv: 1, headDim: 2, vocab: 1}, false},
}

// TestExtremeConfigurations loads each extreme model and computes a prompt (of more than a chunk if that is quick) and two tokens with it,
// or checks that it is refused before anything is allocated: within eight times the file and 64 MB in either case.
func TestExtremeConfigurations(t *testing.T) {
	effort.Turn(t, 8)
	for _, shape := range extremeShapes {
		s := shape.mutantShape
		name := fmt.Sprintf("%d heads of %d, %d kv, widths %d and %d, %d layers, vocabulary %d", s.heads, s.headDim, s.kv, s.hidden, s.wide, s.layers, s.vocab)
		t.Run(name, func(t *testing.T) {
			s.matrices, s.tied = gguf.F32, true
			d := newMutantDoc(&s, rand.New(rand.NewPCG(1, 1)))
			keys := d.keys[:0]
			for _, k := range d.keys {
				if !strings.HasPrefix(k.name, "tokenizer") {
					keys = append(keys, k)
				}
			}
			d.keys = keys
			d.set("llama.context_length", gguf.Uint32Type, []byte{0, 0, 0, 64})
			d.layOut()
			data := d.encode()
			prompt := make([]llama.Token, 300)
			if s.heads*s.layers >= 1024 {
				prompt = prompt[:40] // to spare time: their memory is the attention's or the layers', not the chunk's
			}
			var scratch int64
			peak, err := peakOf(func() error {
				device := cpu.New(2)
				defer device.Close()
				m, err := llama.LoadFS(context.Background(), fstest.MapFS{"m.gguf": {Data: data}}, "m.gguf", &llama.LoadOptions{Backend: device})
				if err != nil {
					return err
				}
				defer m.Close()
				s, err := m.NewSession(nil)
				if err != nil {
					return err
				}
				defer s.Close()
				for _, err := range s.Generate(context.Background(), prompt, llama.Params{MaxTokens: 2}) {
					if err != nil {
						return err
					}
				}
				scratch = m.MemoryUsage().Scratch
				return nil
			})
			var format *llama.FormatError
			if shape.refused != errors.As(err, &format) || !shape.refused && err != nil {
				t.Errorf("%v; it should be refused: %v", err, shape.refused)
			}
			if limit := int64(mutantFactor*len(data) + mutantMemory); peak > limit {
				t.Errorf("it takes %d bytes for a file of %d", peak, len(data))
			}
			if !shape.refused && scratch == 0 {
				t.Error("no scratch memory is counted")
			}
			t.Logf("a file of %d bytes: at most %d bytes, %d of them scratch; %v", len(data), peak, scratch, err)
		})
	}
}

// peakOf returns the most memory that a call takes, in bytes.
func peakOf(call func() error) (int64, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	debug.FreeOSMemory()
	now, peak := residentMemory()
	err := call()
	return peak() - now, err
}
