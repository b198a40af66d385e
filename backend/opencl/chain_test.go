//go:build opencl && (amd64 || arm64)

package opencl

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// chainTest is the options of tests of chains: on a processor a single group, which meets only itself.
func chainTest(t *testing.T) Options {
	b := openTest(t, Options{})
	if isNVIDIA(b.device) {
		return Options{}
	}
	return Options{chainGroups: 1}
}

// TestChain lets Pebble answer with chains: texts and saved states, keys and values included, are those of the processor.
func TestChain(t *testing.T) {
	gpu := openTest(t, chainTest(t))
	if !gpu.BitExact() {
		t.Skip("the device does not give the reference's bits")
	}
	for _, weights := range []tensor.DType{tensor.Q4_0, tensor.Q8_0} {
		for _, kv := range []tensor.DType{tensor.F16, tensor.F32} {
			t.Run(fmt.Sprint(weights, kv), func(t *testing.T) {
				var states [2][]byte
				for i, o := range []*llama.LoadOptions{{Weights: weights}, {Weights: weights, Backend: gpu}} {
					m, err := pebble.Load(o)
					must(t, err)
					defer m.Close()
					s, err := m.NewSession(&llama.SessionOptions{KV: kv})
					must(t, err)
					defer s.Close()
					var diary bytes.Buffer
					for _, question := range []string{"Tell me a story about a fox.", "What is 3 + 4?"} {
						for piece, err := range s.Chat(t.Context(), []llama.Message{{Role: llama.RoleUser, Content: question}}, llama.Params{MaxTokens: 150}) {
							must(t, err)
							fmt.Fprint(&diary, piece.Text, piece.Tokens)
						}
						must(t, s.Save(&diary))
					}
					states[i] = diary.Bytes()
				}
				if !bytes.Equal(states[0], states[1]) {
					t.Errorf("the answers differ: %.300q, want %.300q", states[1], states[0])
				}
				if gpu.products.chain.launches == 0 {
					t.Error("no chain was launched")
				}
			})
		}
	}
}
