//go:build opencl && (amd64 || arm64)

package opencl_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestCompanyOnTheDevice answers prompts with all types of caches and some policies at once, on the device and from the processor to
// it in the middle of an answer, with drafts: each answer and each saved state is the one of a session alone on the processor.
func TestCompanyOnTheDevice(t *testing.T) {
	gpu := device(t)
	if !gpu.BitExact() {
		t.Skip("the device does not give the reference's bits")
	}
	load := func(o *llama.LoadOptions) *llama.Model {
		m, err := pebble.Load(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	host, there := load(nil), load(&llama.LoadOptions{Backend: gpu})
	budget := func(name string) eviction.Policy {
		p, err := eviction.ByName(name, eviction.Options{Budget: 40})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	options := []*llama.SessionOptions{
		nil, {KV: tensor.F32}, {KV: tensor.Q8_0}, {KV: tensor.Q4_0}, {Eviction: budget("sliding")}, {Eviction: budget("ada")},
		{Eviction: budget("h2o")}, {KV: tensor.Q4_0, Eviction: budget("snapkv")},
	}
	live := func(i int, m, moveTo *llama.Model, drafter llama.Drafter) ([]byte, error) {
		s, err := m.NewSession(options[i])
		if err != nil {
			return nil, err
		}
		defer s.Close()
		var diary bytes.Buffer
		for turn, question := range []string{"What is the capital of Japan?", "Tell me a story about a fox.", "What is 3 + 4?"} {
			p := llama.Params{MaxTokens: 16, Seed: uint64(i), Draft: drafter}
			if i%2 == 1 {
				p.Temperature, p.TopK = 1, 20
			}
			for piece, err := range s.Chat(t.Context(), []llama.Message{{Role: llama.RoleUser, Content: fmt.Sprint(question, i)}}, p) {
				if err != nil {
					return nil, err
				}
				fmt.Fprint(&diary, piece.Text, piece.Tokens)
				if turn == 1 && moveTo != nil && s.Position()%5 == 0 {
					if _, err := s.Move(t.Context(), moveTo); err != nil {
						return nil, err
					}
				}
			}
			if err := s.Save(&diary); err != nil {
				return nil, err
			}
		}
		return diary.Bytes(), nil
	}
	var all sync.WaitGroup
	for i := range options {
		want, err := live(i, host, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []*llama.Model{host, there} {
			all.Go(func() {
				got, err := live(i, from, there, llama.PromptLookup(llama.LookupOptions{}))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("options %d: beside others the conversation goes on differently: %v", i, err)
				}
			})
		}
	}
	all.Wait()
}
