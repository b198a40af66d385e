//go:build opencl && (amd64 || arm64)

package opencl

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// readsCounted counts the tensors that the host reads whole, if they have size bytes.
type readsCounted struct {
	*Backend
	size int
	n    atomic.Int64
}

func (r *readsCounted) ReadBuffer(t *tensor.Tensor, dst []byte) error {
	if len(dst) == r.size {
		r.n.Add(1)
	}
	return r.Backend.ReadBuffer(t, dst)
}

// TestPebbleSamples draws answers with random parameters on the device and on the processor: the tokens are the same, and the logits of the
// vocabulary stay on the device, as long as a few hundred tokens have the probability that TopP asks for.
func TestPebbleSamples(t *testing.T) {
	b := &readsCounted{Backend: openTest(t, Options{})}
	b.selections.selects = true
	if !b.BitExact() {
		t.Skip("the device does not give the reference's bits")
	}
	var models [2]*llama.Model
	for i, o := range []*llama.LoadOptions{nil, {Backend: b}} {
		m, err := pebble.Load(o)
		must(t, err)
		defer m.Close()
		models[i] = m
	}
	b.size = 4 * models[0].Config().VocabSize
	random := rand.New(rand.NewPCG(5, 6))
	of := func(values ...float32) float32 { return values[random.IntN(len(values))] }
	for range 16 {
		p := llama.Params{
			MaxTokens: 8, Seed: random.Uint64(), Temperature: of(0.3, 0.7, 1), TopK: int(of(0, 0, 5, 40, 256)), TopP: of(0, 0.5, 0.9), MinP: of(0, 0.05, 0.2),
		}
		var tokens [2][]llama.Token
		for i, m := range models {
			s, err := m.NewSession(nil)
			must(t, err)
			defer s.Close()
			before := b.n.Load()
			r, err := llama.Collect(s.Generate(t.Context(), m.Tokenizer().EncodeSpecial("Once upon a time", true), p))
			must(t, err)
			tokens[i] = r.Tokens
			if n := b.n.Load() - before; n > 0 {
				t.Errorf("%+v: the logits were read %d times", p, n)
			}
		}
		if !slices.Equal(tokens[0], tokens[1]) || len(tokens[0]) == 0 {
			t.Errorf("%+v: %v, on the processor %v", p, tokens[1], tokens[0])
		}
	}
}
