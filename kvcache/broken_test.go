package kvcache_test

import (
	"errors"
	"io"
	"testing"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

var errDevice = errors.New("the device is lost")

// TestBroken lets a device fail at each call of what moves slots: a cache that may hold something wrong refuses to be used
// until it begins anew, and never says that it holds what it does not.
func TestBroken(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(c *kvcache.Cache) error
		left int // slots
	}{
		{"prune", func(c *kvcache.Cache) error { return c.PrunePrefix(4) }, 16},
		{"keep", func(c *kvcache.Cache) error { return c.Keep([][]int{every(2, 20)}) }, 10},
		{"keep by head", func(c *kvcache.Cache) error { return c.Keep([][]int{every(2, 20), every(1, 10)}) }, 10},
		{"truncate", func(c *kvcache.Cache) error { return c.Truncate(7) }, 7},
		{"reset", func(c *kvcache.Cache) error { return c.Truncate(0) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for calls := 0; ; calls++ {
				a := newAccount(t, tensor.F16, 32, kvcache.Tracking{Queries: 4, Attention: true})
				fault := &backendtest.Fault{Err: errDevice, In: []string{"CopySlice", "Compact", "ReadBuffer"}, Once: true}
				cache, err := kvcache.NewPlain(backendtest.NewDevice(a.backend, fault.Before), tensor.F16, 32, heads, kvHeads, headDim)
				a.ok(err)
				defer cache.Free()
				a.ok(cache.Track(a.track, heads, angles))
				a.cache = cache
				a.add(20, 7)
				fault.Arm(calls)
				err = c.run(cache)
				fault.Disarm()
				if err == nil {
					if calls == 0 || cache.Len() != c.left {
						t.Fatalf("%d slots after %d calls", cache.Len(), calls)
					}
					return
				}
				if !errors.Is(err, errDevice) {
					t.Fatalf("call %d: %v", calls, err)
				}
				k, _ := a.normal(1, kvHeads)
				_, cloned := cache.Clone()
				for what, err := range map[string]error{
					"update": cache.Update(k, k), "prune": cache.PrunePrefix(1), "keep": cache.Keep([][]int{{}}), "clone": cloned,
					"keep by head": cache.Keep([][]int{{}, {}}), "keep all": cache.Keep(nil), "write": cache.Save(io.Discard),
				} {
					if !errors.Is(err, kvcache.ErrBroken) || !errors.Is(err, errDevice) {
						t.Errorf("%s after call %d failed: %v", what, calls, err)
					}
				}
				for h := range kvHeads {
					if len(cache.Positions(h)) != cache.Len() {
						t.Errorf("%d positions of %d slots after call %d failed", len(cache.Positions(h)), cache.Len(), calls)
					}
				}
				a.ok(cache.Truncate(0))
				a.reset()
				a.add(9, 2)
				a.compare()
			}
		})
	}
}
