//go:build opencl && (amd64 || arm64)

package opencl_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// TestAdaptersOnTheDevice computes sessions with a LoRA adapter and without one, alone on the processor and then at once on the device, or
// moved there: what they save is the same.
func TestAdaptersOnTheDevice(t *testing.T) {
	gpu := device(t)
	if !gpu.BitExact() {
		t.Skip("the device does not give the reference's bits")
	}
	load := func(o *llama.LoadOptions) *llama.Model {
		m, err := llama.Load(fixture.Path(t, "families/lora-all/base"), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	host, there := load(nil), load(&llama.LoadOptions{Backend: gpu})
	adapter, err := host.LoadAdapter(fixture.Path(t, "families/lora-all/adapter"))
	if err != nil {
		t.Fatal(err)
	}
	defer adapter.Close()
	options := []*llama.SessionOptions{{Adapter: adapter}, nil, {Adapter: adapter, AdapterScale: 0.5}, nil}
	live := func(i int, on, moveTo *llama.Model) ([]byte, error) {
		s, err := on.NewSession(options[i])
		if err != nil {
			return nil, err
		}
		defer s.Close()
		prompt := make([]llama.Token, 20+i)
		for k := range prompt {
			prompt[k] = llama.Token(k * 37 % 512)
		}
		for range 2 {
			if _, err := llama.Collect(s.Generate(t.Context(), prompt, llama.Params{MaxTokens: 6})); err != nil {
				return nil, err
			}
			if moveTo != nil {
				if _, err := s.Move(t.Context(), moveTo); err != nil {
					return nil, err
				}
			}
		}
		var state bytes.Buffer
		err = s.Save(&state)
		return state.Bytes(), err
	}
	var all sync.WaitGroup
	for i := range options {
		alone, err := live(i, host, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, where := range [][2]*llama.Model{{there, nil}, {host, there}} {
			all.Go(func() {
				if got, err := live(i, where[0], where[1]); err != nil || !bytes.Equal(got, alone) {
					t.Errorf("session %d on the device differs: %v", i, err)
				}
			})
		}
	}
	all.Wait()
}
