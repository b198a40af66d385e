//go:build opencl && (amd64 || arm64)

package opencl

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// chainLife is what a session of a test with several rows does: an answer with drafts, and then steps of 1 to 8 tokens, on into the next page. It
// returns everything that can be seen of it.
func chainLife(t *testing.T, m *llama.Model, kv tensor.DType, number int) ([]byte, error) {
	s, err := m.NewSession(&llama.SessionOptions{KV: kv})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var diary bytes.Buffer
	question := []llama.Message{{Role: llama.RoleUser, Content: fmt.Sprint("Tell me a story about a fox and ", number, " other foxes.")}}
	for piece, err := range s.Chat(t.Context(), question, llama.Params{MaxTokens: 60, Draft: llama.PromptLookup(llama.LookupOptions{})}) {
		if err != nil {
			return nil, err
		}
		fmt.Fprint(&diary, piece.Text, piece.Tokens)
	}
	for step := range 14 {
		var tokens []llama.Token
		for range (step+number)%8 + 1 {
			at := s.Position() + len(tokens)
			tokens = append(tokens, llama.Token((7*at*at+13*number+at)%1000))
		}
		if err := s.Prefill(t.Context(), tokens); err != nil {
			return nil, err
		}
	}
	logits, err := s.Logits()
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(&diary, logits)
	err = s.Save(&diary)
	return diary.Bytes(), err
}

// TestChainOfSeveralRows computes steps of several rows with chains: those of one session, and those of several, with drafts. Logits, texts and
// saved states are those of a session alone on the processor.
func TestChainOfSeveralRows(t *testing.T) {
	gpu := openTest(t, chainTest(t))
	if !gpu.BitExact() {
		t.Skip("the device does not give the reference's bits")
	}
	all := []tensor.DType{tensor.Q4_0, mixed}
	if effort.Long() {
		all = append(all, tensor.Q4_1, tensor.Q8_0, tensor.IQ4_NL) // q4_k and q6_k are the mixed ones
	}
	for _, weights := range all {
		t.Run(chainName(weights), func(t *testing.T) {
			host, there := chainModel(t, weights, llama.LoadOptions{}), chainModel(t, weights, llama.LoadOptions{Backend: gpu})
			kv := [...]tensor.DType{tensor.F16, tensor.F16, tensor.F16, tensor.F32} // steps with two types of caches are launches
			var want [len(kv)][]byte
			for number := range want {
				var err error
				want[number], err = chainLife(t, host, kv[number], number)
				must(t, err)
			}
			check := func(number int) {
				got, err := chainLife(t, there, kv[number], number)
				if err != nil || !bytes.Equal(got, want[number]) {
					t.Errorf("session %d differs: %v", number, err)
				}
			}
			together := []int{1, 3}
			if effort.Long() {
				together = append(together, len(kv))
			}
			for _, sessions := range together {
				var group sync.WaitGroup
				for number := range sessions {
					group.Go(func() { check(number) })
				}
				group.Wait()
			}
			if formats := gpu.products.chain.latest[1].formats; formats[0] == "" || (formats[1] != "") != (weights == mixed) {
				t.Errorf("the chain's formats are %q", formats)
			}
		})
	}
}

// TestChainOfSeveralRowsWithoutMeeting is TestChainWithoutMeeting for a step of three rows.
func TestChainOfSeveralRowsWithoutMeeting(t *testing.T) {
	gpu := openTest(t, chainTest(t))
	m, err := pebble.Load(&llama.LoadOptions{Weights: tensor.Q4_0, Backend: gpu})
	must(t, err)
	defer m.Close()
	step := func() ([]float32, error) {
		s, err := m.NewSession(nil)
		must(t, err)
		defer s.Close()
		must(t, s.Prefill(t.Context(), make([]llama.Token, 20)))
		if err := s.Prefill(t.Context(), []llama.Token{1, 2, 3}); err != nil {
			return nil, err
		}
		return s.Logits()
	}
	want, err := step()
	must(t, err)
	loseOne(gpu.products.chain.meetings)
	if _, err := step(); !errors.Is(err, ErrNotMet) {
		t.Fatalf("the error is %v, want %v", err, ErrNotMet)
	}
	launches := gpu.products.chain.launches
	got, err := step()
	must(t, err)
	if !slices.Equal(got, want) || gpu.products.chain.launches != launches {
		t.Errorf("then other logits, with %d chains", gpu.products.chain.launches-launches)
	}
}
