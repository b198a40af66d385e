package kvcache_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// unfused hides what a backend has beside the plain operations.
type unfused struct{ backend.Backend }

// state returns all that a cache holds.
func state(t testing.TB, c *kvcache.Cache) []byte {
	t.Helper()
	var w bytes.Buffer
	if err := c.WriteState(&w); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

// TestAppend holds Append against Anchor, RoPE and Update, on devices with and without a fused operation, for caches of every
// type, with turned keys and without, whose first keys are recorded.
func TestAppend(t *testing.T) {
	host := cpu.New(2)
	defer host.Close()
	for _, b := range []backend.Backend{host, unfused{host}} {
		for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
			for _, turned := range []bool{false, true} {
				t.Run(fmt.Sprintf("%T %v turned %v", b, d, turned), func(t *testing.T) {
					a := newAccount(t, d, 20, kvcache.Tracking{Anchors: 5})
					got, err := kvcache.New(b, d, 20, kvHeads, headDim)
					a.ok(err)
					defer got.Free()
					a.ok(got.Track(a.track, heads, angles))
					if turned {
						h, err := kvcache.NewHadamard(b, tensor.Q4_0, 10, heads, kvHeads, headDim)
						a.ok(err)
						defer h.Free()
						a.ok(errors.Join(got.UseHadamard(h), a.cache.UseHadamard(h)))
					}
					for _, n := range []int{3, 4, 1} {
						q, queries := a.normal(n, heads)
						k, keys := a.normal(n, kvHeads)
						v, _ := a.normal(n, kvHeads)
						table := a.table(got.Seen(), n)
						rotatedQ, rotatedK := a.tensor(queries, n, heads), a.tensor(keys, n, kvHeads)
						a.ok(got.Append(q, k, v, table))
						a.ok(a.cache.Anchor(rotatedK))
						a.ok(errors.Join(host.RoPE(rotatedQ, table), host.RoPE(rotatedK, table)))
						a.ok(a.cache.Update(rotatedK, v))
						if !slices.Equal(floatsOf(t, q), floatsOf(t, rotatedQ)) {
							t.Errorf("other queries after %d tokens", got.Len())
						}
						if !bytes.Equal(state(t, got), state(t, a.cache)) {
							t.Errorf("another cache after %d tokens", got.Len())
						}
					}
				})
			}
		}
	}
}

// TestFailedAppend sees that an error leaves the cache as it was, what it recorded included.
func TestFailedAppend(t *testing.T) {
	a := newAccount(t, tensor.F16, 6, kvcache.Tracking{Anchors: 5})
	fault := &backendtest.Fault{Err: errDevice, In: []string{"Cast"}}
	c, err := kvcache.New(backendtest.NewDevice(unfused{a.backend}, fault.Before), tensor.F16, 6, kvHeads, headDim)
	a.ok(err)
	defer c.Free()
	a.ok(c.Track(a.track, heads, angles))
	q, _ := a.normal(2, heads)
	k, _ := a.normal(2, kvHeads)
	v, _ := a.normal(2, kvHeads)
	a.ok(c.Append(q, k, v, a.table(0, 2)))
	for _, e := range []struct {
		name  string
		n     int
		table *tensor.Tensor
		lost  bool
		is    error
	}{
		{"too many tokens", 5, a.table(2, 5), false, kvcache.ErrFull},
		{"a device that fails", 3, a.table(2, 3), true, errDevice},
		{"a table of other tokens", 3, a.table(2, 2), false, nil},
	} {
		q, queries := a.normal(e.n, heads)
		k, keys := a.normal(e.n, kvHeads)
		before := state(t, c)
		if e.lost {
			fault.Arm(0)
		}
		err := c.Append(q, k, k, e.table)
		fault.Disarm()
		if err == nil || (e.is != nil && !errors.Is(err, e.is)) {
			t.Errorf("%s: %v", e.name, err)
		}
		if c.Len() != 2 || c.Seen() != 2 || !bytes.Equal(state(t, c), before) {
			t.Errorf("%s: the cache changed: %d slots", e.name, c.Len())
		}
		if !e.lost && (!slices.Equal(floatsOf(t, q), queries) || !slices.Equal(floatsOf(t, k), keys)) {
			t.Errorf("%s: queries or keys were rotated", e.name)
		}
	}
	a.ok(c.Append(q, k, v, a.table(2, 2)))
}

// TestAppendAllocatesNothing measures a token on a device with a fused operation and on one without.
func TestAppendAllocatesNothing(t *testing.T) {
	a := newAccount(t, tensor.F16, 100, kvcache.Tracking{Anchors: 5})
	q, _ := a.normal(1, heads)
	k, _ := a.normal(1, kvHeads)
	v, _ := a.normal(1, kvHeads)
	table := a.table(0, 1)
	for _, b := range []backend.Backend{a.backend, unfused{a.backend}} {
		c, err := kvcache.New(b, tensor.F16, 100, kvHeads, headDim)
		a.ok(err)
		defer c.Free()
		a.ok(c.Track(a.track, heads, angles))
		if n := testing.AllocsPerRun(50, func() { a.ok(c.Append(q, k, v, table)) }); n > 0 {
			t.Errorf("%T: %v allocations for a token", b, n)
		}
	}
}
