package kvcache_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
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
	c, err := kvcache.NewPlain(a.backend, a.dtype(), a.cache.Cap(), heads, kvHeads, headDim)
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
				a.ok(a.cache.Save(&state))
				c := a.empty(everything)
				a.ok(c.Restore(&state))
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
				a.ok(original.Truncate(original.Seen() - original.Len() + 1)) // the copy has memory of its own
				a.cache = c
				a.add(7, 3)
				a.compare()
				a.ok(a.cache.Keep([][]int{every(2, 32)}))
				a.keep(every(2, 32))
				a.truncate(14)
				a.compare()
			})
		}
	}
}

// TestRestoreRefuses reads states that are cut off, damaged, or incomplete.
func TestRestoreRefuses(t *testing.T) {
	a := conversation(t, tensor.Q8_0, kvcache.Tracking{Queries: 4})
	var state bytes.Buffer
	a.ok(a.cache.Save(&state))
	for n := 0; n < state.Len(); n += 1 + n/8 {
		if a.empty(kvcache.Tracking{Queries: 4}).Restore(bytes.NewReader(state.Bytes()[:n])) == nil {
			t.Errorf("%d of %d bytes were enough", n, state.Len())
		}
	}
	for i := range 22 { // the header
		damaged := bytes.Clone(state.Bytes())
		damaged[i] ^= 0x80
		c := a.empty(kvcache.Tracking{Queries: 4})
		if err := c.Restore(bytes.NewReader(damaged)); err == nil && c.Len() > c.Cap() {
			t.Errorf("with byte %d changed: %d slots of %d", i, c.Len(), c.Cap())
		}
	}
	if err := a.empty(kvcache.Tracking{Attention: true}).Restore(bytes.NewReader(state.Bytes())); !errors.Is(err, kvcache.ErrMismatch) {
		t.Errorf("a state without attention, where it is wanted: %v", err)
	}
	if err := a.cache.Restore(bytes.NewReader(state.Bytes())); err == nil {
		t.Error("a cache in use was overwritten")
	}
	a.ok(a.empty(kvcache.Tracking{Queries: 2}).Restore(bytes.NewReader(state.Bytes()))) // less is wanted than there is
	a.ok(a.empty(kvcache.Tracking{}).Restore(bytes.NewReader(state.Bytes())))
}

// TestSavedKeepsItsBytes pins states of heads with the same number of slots: those saved before caches had pages are still read.
func TestSavedKeepsItsBytes(t *testing.T) {
	for d, want := range map[tensor.DType]string{
		tensor.F32:  "fb21ffad1bd9c8f8e1090f01d9fd843555b5b7abef43bd8eac5847fbf2f3d7fc",
		tensor.F16:  "efaa533f0d7a6b4e7c7e88e2e3144d75666c431369705d3552f16abab3908ad7",
		tensor.Q8_0: "36db4414d59061ad9d20534cde31591d63b00122cf9fb76c215b3ace61ff6655",
		tensor.Q4_0: "19c6dfafcec0195756da5e4f7d752f89cfebcac677a353f38693f7fd7df04e4a",
	} {
		if got := fmt.Sprintf("%x", sha256.Sum256(state(t, conversation(t, d, everything).cache))); got != want {
			t.Errorf("%v: another state: %s", d, got)
		}
	}
}

// TestUnequalSaved saves and reads a cache with different numbers of slots in its heads.
func TestUnequalSaved(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F16, tensor.Q4_0} {
		a := newAccount(t, d, 400, everything)
		a.add(300, 70)
		lists := [][]int{every(1, 300), {0, 1, 150, 298, 299}}
		a.ok(a.cache.Keep(lists))
		a.keep(lists...)
		a.add(20, 7)
		a.compare()
		saved := state(t, a.cache)
		c := a.empty(everything)
		a.ok(c.Restore(bytes.NewReader(saved)))
		a.cache = c
		a.compare()
		a.add(3, 1)
		a.compare()
		for n := 0; n < len(saved); n += 1 + n/3 {
			if a.empty(everything).Restore(bytes.NewReader(saved[:n])) == nil {
				t.Errorf("%d of %d bytes were enough", n, len(saved))
			}
		}
		if err := a.empty(kvcache.Tracking{}).Restore(bytes.NewReader(saved)); err != nil {
			t.Errorf("into a cache that records nothing but positions: %v", err)
		}
		plain, err := kvcache.NewPlain(a.backend, d, 400, heads, kvHeads, headDim)
		a.ok(err)
		if err := plain.Restore(bytes.NewReader(saved)); !errors.Is(err, kvcache.ErrMismatch) {
			t.Errorf("into a cache without a record: %v", err)
		}
		a.ok(plain.Free())
		for i := range 8 { // the numbers of the heads' slots
			damaged := bytes.Clone(saved)
			damaged[30+i] ^= 0x80
			if a.empty(everything).Restore(bytes.NewReader(damaged)) == nil {
				t.Errorf("with byte %d of the numbers of slots changed, it was read", i)
			}
		}
	}
}
