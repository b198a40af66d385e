//go:build opencl && (amd64 || arm64)

package opencl_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// TestCompanyOfStates plays the same random calls with models with recurrent layers, at once on the device and from the processor to the
// device and back, with drafts: prompts and answers, conversations that go back, copies. What they give, and each saved state, is what a
// session gives that is alone on the processor.
func TestCompanyOfStates(t *testing.T) {
	gpu := device(t)
	if !gpu.BitExact() {
		t.Skip("the device does not give the reference's bits")
	}
	options := []*llama.SessionOptions{nil, {Chunk: 16, Snapshots: 2, SnapshotEvery: 5}, {Snapshots: llama.NoSnapshots}}
	for _, family := range []string{"qwen35", "lfm2", "granite4h"} {
		t.Run(family, func(t *testing.T) {
			var models [2]*llama.Model // the processor's and the device's
			for i, o := range []*llama.LoadOptions{nil, {Backend: gpu}} {
				var err error
				if models[i], err = llama.Load(fixture.Path(t, "families/"+family), o); err != nil {
					t.Fatal(err)
				}
				defer models[i].Close()
			}
			var all sync.WaitGroup
			defer all.Wait() // before the models are closed
			for i, o := range options {
				want, err := liveWithStates(t, uint64(i), o, models[:1], nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, places := range [][]*llama.Model{models[1:], models[:]} {
					all.Go(func() {
						got, err := liveWithStates(t, uint64(i), o, places, llama.PromptLookup(llama.LookupOptions{}))
						if err != nil || !bytes.Equal(got, want) {
							t.Errorf("options %d, %d places: among others the conversation goes on differently: %v", i, len(places), err)
						}
					})
				}
			}
		})
	}
}

// liveWithStates plays random calls of a seed in a session that changes its place after each, and returns what they gave.
func liveWithStates(t *testing.T, seed uint64, o *llama.SessionOptions, places []*llama.Model, drafter llama.Drafter) (_ []byte, err error) {
	s, err := places[0].NewSession(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	random := rand.New(rand.NewPCG(seed, 1))
	var diary bytes.Buffer
	for call := range 10 {
		var prompt []llama.Token // of a few different tokens, so that prompt lookup finds something
		for range 1 + random.IntN(40) {
			prompt = append(prompt, llama.Token(20+random.IntN(6)))
		}
		for piece, err := range s.Generate(t.Context(), prompt, llama.Params{MaxTokens: 8, Draft: drafter}) {
			if err != nil {
				return nil, err
			}
			fmt.Fprint(&diary, piece.Tokens, ' ')
		}
		if random.IntN(2) == 0 {
			if err := s.Truncate(1 + random.IntN(s.Position())); err != nil {
				return nil, err
			}
		}
		if random.IntN(3) == 0 {
			fork, err := s.Fork()
			if err != nil {
				return nil, err
			}
			if err := s.Close(); err != nil {
				return nil, err
			}
			s = fork
		}
		if len(places) > 1 {
			if _, err := s.Move(t.Context(), places[(call+1)%len(places)]); err != nil {
				return nil, err
			}
		}
		if call%3 == 2 {
			if err := s.Save(&diary); err != nil {
				return nil, err
			}
		}
	}
	return diary.Bytes(), nil
}
