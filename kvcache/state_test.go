package kvcache_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// conversation plays one with evictions, after which heads hold different tokens.
func conversation(t testing.TB, d tensor.DType, track kvcache.Tracking) *account {
	t.Helper()
	a := newAccount(t, d, 60, track)
	a.add(40, 9)
	lists := [][]int{every(2, 40), every(1, 20)}
	a.ok(a.cache.Keep(lists))
	a.keep(lists...)
	a.add(5, 1)
	return a
}

// empty makes a cache like the account's, without slots.
func (a *account) empty(track kvcache.Tracking) *kvcache.Cache {
	a.Helper()
	c, err := kvcache.New(a.backend, a.dtype(), a.cache.Cap(), kvHeads, headDim)
	a.ok(err)
	a.Cleanup(func() { c.Free() })
	a.ok(c.Track(track, heads, angles))
	return c
}

var everything = kvcache.Tracking{Queries: 4, Attention: true, Anchors: 3}

// TestCopies checks that a clone and a saved state go on as the cache does.
func TestCopies(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
		for name, duplicate := range map[string]func(a *account) *kvcache.Cache{
			"clone": func(a *account) *kvcache.Cache {
				c, err := a.cache.Clone()
				a.ok(err)
				return c
			},
			"state": func(a *account) *kvcache.Cache {
				var state bytes.Buffer
				a.ok(a.cache.WriteState(&state))
				c := a.empty(everything)
				a.ok(c.ReadState(&state))
				return c
			},
		} {
			t.Run(d.String()+"/"+name, func(t *testing.T) {
				a := conversation(t, d, everything)
				c, original := duplicate(a), a.cache
				defer c.Free()
				a.cache = c
				a.compare()
				a.ok(original.Reanchor(1, 99)) // both heads still hold the first token
				a.ok(c.Reanchor(1, 99))
				keys, _ := a.read()
				a.cache = original
				want, _ := a.read()
				if !slices.Equal(keys, want) {
					t.Error("the copy moved the first token elsewhere")
				}
				copy(a.slots[0][0].key, keys)
				copy(a.slots[1][0].key, keys[headDim:])
				a.ok(original.Truncate(1)) // the copy has memory of its own
				a.cache = c
				a.add(7, 3)
				a.compare()
				a.ok(a.cache.Keep([][]int{every(2, 32)}))
				a.keep(every(2, 32))
				a.ok(a.cache.Truncate(14))
				a.truncate(14)
				a.compare()
			})
		}
	}
}

// TestReadStateRefuses reads states that are cut off, or damaged, or without what is wanted.
func TestReadStateRefuses(t *testing.T) {
	a := conversation(t, tensor.Q8_0, kvcache.Tracking{Queries: 4})
	var state bytes.Buffer
	a.ok(a.cache.WriteState(&state))
	for n := 0; n < state.Len(); n += 1 + n/8 {
		if a.empty(kvcache.Tracking{Queries: 4}).ReadState(bytes.NewReader(state.Bytes()[:n])) == nil {
			t.Errorf("%d of %d bytes were enough", n, state.Len())
		}
	}
	for i := range 22 { // the header
		damaged := bytes.Clone(state.Bytes())
		damaged[i] ^= 0x80
		c := a.empty(kvcache.Tracking{Queries: 4})
		if err := c.ReadState(bytes.NewReader(damaged)); err == nil && c.Len() > c.Cap() {
			t.Errorf("with byte %d changed: %d slots of %d", i, c.Len(), c.Cap())
		}
	}
	if err := a.empty(kvcache.Tracking{Attention: true}).ReadState(bytes.NewReader(state.Bytes())); !errors.Is(err, kvcache.ErrState) {
		t.Errorf("a state without attention, where it is wanted: %v", err)
	}
	if err := a.cache.ReadState(bytes.NewReader(state.Bytes())); err == nil {
		t.Error("a cache in use was overwritten")
	}
	a.ok(a.empty(kvcache.Tracking{Queries: 2}).ReadState(bytes.NewReader(state.Bytes()))) // less is wanted than there is
	a.ok(a.empty(kvcache.Tracking{}).ReadState(bytes.NewReader(state.Bytes())))
}
