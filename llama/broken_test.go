package llama_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/llama"
)

// TestFailedEviction lets an eviction fail in the midst of each layer: the session says that its cache is broken, whatever is
// asked of it, until it begins anew.
func TestFailedEviction(t *testing.T) {
	fault := &backendtest.Fault{Err: errDevice, In: []string{"Compact"}, Once: true}
	m := otherModel(t, backendtest.NewDevice(cpu.New(1), fault.Before))
	options := &llama.SessionOptions{Eviction: policyOf(t, "snapkv", 64)}
	want := newSession(t, m, options)
	if err := want.Prefill(t.Context(), stream(50)); err != nil {
		t.Fatal(err)
	}
	for calls := range m.Config().Layers {
		s := newSession(t, m, options)
		if err := s.Prefill(t.Context(), stream(50)); err != nil {
			t.Fatal(err)
		}
		fault.Arm(calls)
		if _, err := s.Evict(40); !errors.Is(err, errDevice) {
			t.Fatalf("call %d: %v", calls, err)
		}
		_, forked := s.Fork()
		_, moved := s.Move(t.Context(), pebbleModel(t))
		_, again := s.Evict(30)
		for what, err := range map[string]error{
			"prefill": s.Prefill(t.Context(), stream(1)), "fork": forked, "move": moved, "evict": again,
		} {
			if !errors.Is(err, kvcache.ErrBroken) || !errors.Is(err, errDevice) {
				t.Errorf("%s after call %d failed: %v", what, calls, err)
			}
		}
		if err := s.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if err := s.Prefill(t.Context(), stream(50)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(logitsOf(s), logitsOf(want)) {
			t.Errorf("begun anew after call %d failed, the session gives other logits", calls)
		}
		s.Close()
	}
}
