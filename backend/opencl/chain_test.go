//go:build opencl && (amd64 || arm64)

package opencl

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
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

// mixed stands for weights of two formats.
const mixed = tensor.DType(255)

// chainModel loads Pebble with weights of a type. If they are mixed, it is the file with some values and some rows of down in six bits, and all
// else in four.
func chainModel(t *testing.T, weights tensor.DType, o llama.LoadOptions) *llama.Model {
	var m *llama.Model
	var err error
	if weights == mixed {
		m, err = llama.Load(fixture.Path(t, "pebble/gguf/pebble-Q4_K_M.gguf"), &o)
	} else {
		o.Weights = weights
		m, err = pebble.Load(&o)
	}
	must(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// chainName is the name of a test with weights of a type.
func chainName(weights tensor.DType) string {
	if weights == mixed {
		return "q4_k_m"
	}
	return weights.String()
}

// TestChain lets Pebble answer with chains: texts and saved states, keys and values included, are those of the processor.
func TestChain(t *testing.T) {
	gpu := openTest(t, chainTest(t))
	if !gpu.BitExact() {
		t.Skip("the device does not give the reference's bits")
	}
	formats := []tensor.DType{tensor.Q4_0, tensor.Q4_K, mixed}
	if effort.Long() {
		formats = append(formats, tensor.Q4_1, tensor.Q8_0, tensor.Q6_K, tensor.IQ4_NL)
	}
	for _, weights := range formats {
		for _, kv := range []tensor.DType{tensor.F16, tensor.F32} {
			if kv == tensor.F32 && weights != tensor.Q4_0 {
				continue // products do not depend on the cache's type
			}
			t.Run(chainName(weights)+" "+kv.String(), func(t *testing.T) {
				launches := gpu.products.chain.launches
				var states [2][]byte
				for i, o := range []llama.LoadOptions{{}, {Backend: gpu}} {
					m := chainModel(t, weights, o)
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
				if launches = gpu.products.chain.launches - launches; launches == 0 {
					t.Error("no chain was launched")
				}
				if formats := gpu.products.chain.latest[0].formats; (formats[1] != "") != (weights == mixed) {
					t.Errorf("the chain's formats are %q", formats)
				}
			})
		}
	}
}

// loseOne lets groups wait for one that is counted and never comes, and not for long.
func loseOne(m *meetings) {
	m.came++
	m.patience = 100
}

// TestChainWithoutMeeting lets groups wait for one that does not exist: whoever waits for the device gets an error, and the work succeeds when it
// is done again, each operation as a launch of its own.
func TestChainWithoutMeeting(t *testing.T) {
	gpu := openTest(t, chainTest(t))
	m, err := pebble.Load(&llama.LoadOptions{Weights: tensor.Q4_0, Backend: gpu})
	must(t, err)
	defer m.Close()
	answer := func() (text string, err error) {
		s, err := m.NewSession(nil)
		must(t, err)
		defer s.Close()
		for piece, err := range s.Chat(t.Context(), []llama.Message{{Role: llama.RoleUser, Content: "Tell me a story."}}, llama.Params{MaxTokens: 8}) {
			if err != nil {
				return text, err
			}
			text += piece.Text
		}
		return text, nil
	}
	want, err := answer()
	must(t, err)
	loseOne(gpu.products.chain.meetings)
	if _, err := answer(); !errors.Is(err, ErrNotMet) {
		t.Fatalf("the error is %v, want %v", err, ErrNotMet)
	}
	launches := gpu.products.chain.launches
	got, err := answer()
	must(t, err)
	if got != want || gpu.products.chain.launches != launches {
		t.Errorf("then %q with %d chains, want %q without chains", got, gpu.products.chain.launches-launches, want)
	}
}

// TestChainTrial opens a device with more groups than it runs at once: there are no chains.
func TestChainTrial(t *testing.T) {
	if gpu := openTest(t, Options{chainGroups: 1 << 14}); gpu.products.chain.meetings != nil {
		t.Errorf("%d groups have met on %v", 1<<14, gpu.device)
	}
}
