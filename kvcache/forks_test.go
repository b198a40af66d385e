package kvcache_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// family is some accounts with caches of one store that share pages.
type family struct {
	testing.TB
	store   *kvcache.Store
	members []*account
}

// caches returns the members' caches.
func (f *family) caches() (list []*kvcache.Cache) {
	for _, a := range f.members {
		list = append(list, a.cache)
	}
	return list
}

// fork makes a member that goes on from another one.
func (f *family) fork(a *account) {
	f.Helper()
	b := *a
	var err error
	if b.cache, err = a.cache.Clone(); err != nil {
		f.Fatal(err)
	}
	for h := range b.slots {
		b.slots[h] = slices.Clone(a.slots[h])
	}
	b.queries = slices.Clone(a.queries)
	f.members = append(f.members, &b)
}

// TestForks plays random operations on caches that share pages, and holds each against a plain list of slots of its own.
func TestForks(t *testing.T) {
	const capacity, most = 600, 6
	for _, d := range []tensor.DType{tensor.F32, tensor.Q8_0} {
		for _, track := range []kvcache.Tracking{{}, {Queries: 3, Attention: true}} {
			for seed := range uint64(effort.Of(1, 3, 20)) {
				t.Run(fmt.Sprintf("%v %+v %d", d, track, seed), func(t *testing.T) {
					device := cpu.New(1)
					defer device.Close()
					r := rand.New(rand.NewPCG(seed, 7))
					f := &family{TB: t, store: kvcache.NewStore(device, 1, heads, kvHeads, headDim)}
					first := &account{TB: t, backend: device, random: r, track: track}
					var err error
					first.cache, err = f.store.New(d, capacity)
					first.ok(err)
					first.ok(first.cache.Track(track, heads, angles))
					f.members = append(f.members, first)
					for range 120 {
						i := r.IntN(len(f.members))
						a := f.members[i]
						room := capacity - a.longest()
						switch n := a.longest(); r.IntN(9) {
						case 0, 1:
							a.add(min(room, r.IntN(150)), 1+r.IntN(100))
						case 2, 3:
							if len(f.members) < most {
								f.fork(a)
							}
						case 4: // keeps the first slots of one head in place
							kept := r.IntN(len(a.slots[0]) + 1)
							lists := [][]int{every(1, kept), every(1+r.IntN(3), len(a.slots[1]))}
							a.ok(a.cache.Keep(lists))
							a.keep(lists...)
						case 5: // gives up some slots in the midst
							lo := r.IntN(a.shortest() + 1)
							hi := lo + r.IntN(a.shortest()-lo+1)
							list := slices.Concat(every(1, lo), every(1, a.shortest())[hi:])
							a.ok(a.cache.Keep([][]int{list}))
							a.keep(list)
						case 6:
							to := n - r.IntN(n+1)/2
							a.truncate(to)
						case 7:
							if chunk := min(room, 1+r.IntN(200)); chunk > 0 {
								k, _ := a.normal(chunk, kvHeads)
								q, _ := a.normal(chunk, heads)
								a.ok(a.cache.Update(k, k))
								if r.IntN(2) == 0 {
									a.ok(a.cache.Observe(q))
								}
								a.ok(a.cache.TakeBack(a.seen))
							}
						case 8:
							if len(f.members) > 1 {
								a.ok(a.cache.Free())
								f.members = slices.Delete(f.members, i, i+1)
							}
						}
						if err := f.store.Check(f.caches()...); err != nil {
							t.Fatal(err)
						}
						f.members[r.IntN(len(f.members))].compare()
					}
					for _, a := range f.members {
						a.compare()
						a.ok(a.cache.Free())
						a.ok(a.cache.Free()) // which does nothing more
					}
					if err := f.store.Check(); err != nil || f.store.Bytes() != 0 || device.Memory().Used() != 0 {
						t.Errorf("%d bytes of pages and %d of memory are left: %v", f.store.Bytes(), device.Memory().Used(), err)
					}
				})
			}
		}
	}
}

// TestCloneSharesMemory counts what copies take, which is what they write.
func TestCloneSharesMemory(t *testing.T) {
	a := newAccount(t, tensor.F16, 1, kvcache.Tracking{})
	store := kvcache.NewStore(a.backend, 1, heads, kvHeads, headDim)
	c, err := store.New(tensor.F16, 2000)
	a.ok(err)
	k, _ := a.normal(1000, kvHeads)
	a.ok(c.Update(k, k))
	page := int64(2 * 2 * backend.PageSlots * headDim)
	if got, want := store.Bytes(), 8*kvHeads*page; got != want {
		t.Fatalf("%d bytes for 1000 slots, want %d", got, want)
	}
	full := store.Bytes()
	clones := make([]*kvcache.Cache, 64)
	for i := range clones {
		clones[i], err = c.Clone()
		a.ok(err)
	}
	if store.Bytes() != full {
		t.Errorf("64 copies take %d bytes more", store.Bytes()-full)
	}
	one, _ := a.normal(1, kvHeads)
	a.ok(clones[0].Update(one, one)) // the last page is copied
	a.ok(clones[0].Update(one, one)) // and is now the copy's own
	if got := store.Bytes() - full; got != kvHeads*page {
		t.Errorf("two tokens of a copy take %d bytes, want %d", got, kvHeads*page)
	}
	a.ok(clones[1].Keep([][]int{every(1, 900)})) // no slot moves
	a.ok(clones[2].Keep([][]int{append(every(1, 800), 999)}))
	if got := store.Bytes() - full; got != 2*kvHeads*page {
		t.Errorf("a slot that moved in another copy takes %d bytes, want %d", got-kvHeads*page, kvHeads*page)
	}
	a.ok(c.Free())
	for _, clone := range clones[1:] {
		a.ok(clone.Free())
	}
	if got := store.Bytes(); got != full {
		t.Errorf("the copy that is left has %d bytes, want %d", got, full)
	}
	a.ok(clones[0].Free())
	if store.Bytes() != 0 || a.backend.Memory().Used() != 0 {
		t.Errorf("%d bytes of pages, %d of memory are left", store.Bytes(), a.backend.Memory().Used())
	}
}

// TestReanchorLeavesCopiesAlone moves the first tokens of a cache that shares its pages with a copy.
func TestReanchorLeavesCopiesAlone(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F16, tensor.Q4_0} {
		a := newAccount(t, d, 300, kvcache.Tracking{Anchors: 4})
		k, _ := a.normal(200, kvHeads)
		a.writeAnchored(k, 0, 200)
		clone, err := a.cache.Clone()
		a.ok(err)
		defer clone.Free()
		before := state(t, clone)
		a.ok(a.cache.Reanchor(4, 90))
		if !bytes.Equal(state(t, clone), before) {
			t.Errorf("%v: the copy changed", d)
		}
		if bytes.Equal(state(t, a.cache), before) {
			t.Errorf("%v: nothing changed", d)
		}
	}
}

// TestStoreIsConcurrent lets copies of one cache go different ways, each on a goroutine of its own.
func TestStoreIsConcurrent(t *testing.T) {
	device := cpu.New(2)
	defer device.Close()
	store := kvcache.NewStore(device, 1, heads, kvHeads, headDim)
	prefix, err := store.New(tensor.F32, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := prefix.Update(rows(t, 0, 300), rows(t, 0, 300)); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for worker := range 8 {
		c, err := prefix.Clone()
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer c.Free()
			for round := range 20 {
				first := 1000*worker + 10*round + 1000
				step := func(what string, err error) bool {
					if err != nil {
						t.Errorf("%s: %v", what, err)
					}
					return err == nil
				}
				x := rows(t, first, 130)
				if !step("append", c.Update(x, x)) || !step("keep", c.Keep([][]int{append(every(1, 299), 299+round)})) {
					return
				}
				if got, want := tokens(t, c), append(every(1, 299), first+round-1); round > 0 && !slices.Equal(got, want) {
					t.Errorf("worker %d, round %d: %v", worker, round, got[290:])
					return
				}
				next, err := c.Clone()
				if !step("clone", err) || !step("truncate", c.Truncate(c.Seen()-1)) || !step("free", next.Free()) || !step("append", c.Update(rows(t, 299, 1), rows(t, 299, 1))) {
					return
				}
			}
		})
	}
	all.Wait()
	if got := tokens(t, prefix); !slices.Equal(got, every(1, 300)) {
		t.Error("the prefix changed")
	}
	if err := prefix.Free(); err != nil || store.Bytes() != 0 {
		t.Errorf("%d bytes are left: %v", store.Bytes(), err)
	}
}

// TestForgottenCache sees that pages of a cache that nobody refers to any more come back.
func TestForgottenCache(t *testing.T) {
	device := cpu.New(1)
	defer device.Close()
	store := kvcache.NewStore(device, 1, heads, kvHeads, headDim)
	func() {
		c, err := store.New(tensor.F16, 500)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Update(rows(t, 0, 300), rows(t, 0, 300)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Clone(); err != nil {
			t.Fatal(err)
		}
	}()
	for range 1000 {
		if runtime.GC(); store.Bytes() == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d bytes are kept", store.Bytes())
}

// TestFailedReservation lets the device run out of memory, or fail to copy a page: nothing changes, and nothing is lost.
func TestFailedReservation(t *testing.T) {
	for _, failing := range []string{"Alloc", "CopyPage"} {
		device := cpu.New(1)
		fault := &backendtest.Fault{Err: errDevice, In: []string{failing}}
		store := kvcache.NewStore(backendtest.NewDevice(device, fault.Before), 1, heads, kvHeads, headDim)
		c, err := store.New(tensor.F32, 20000)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Update(rows(t, 0, 200), rows(t, 0, 200)); err != nil {
			t.Fatal(err)
		}
		clone, err := c.Clone()
		if err != nil {
			t.Fatal(err)
		}
		fault.Arm(0)
		if err := c.Reserve(15000); err == nil {
			t.Errorf("%s failed, and there was room", failing)
		}
		fault.Disarm()
		if err := store.Check(c, clone); err != nil {
			t.Error(err)
		}
		for _, c := range []*kvcache.Cache{c, clone} {
			if !slices.Equal(tokens(t, c), every(1, 200)) {
				t.Errorf("%s: a cache changed", failing)
			}
			if err := c.Reserve(15000); err != nil {
				t.Error(err)
			}
			if err := c.Free(); err != nil {
				t.Error(err)
			}
		}
		if store.Bytes() != 0 || device.Memory().Used() != 0 {
			t.Errorf("%s: %d bytes of pages, %d of memory are left", failing, store.Bytes(), device.Memory().Used())
		}
		device.Close()
	}
}

// BenchmarkClone copies, and frees, the caches of a conversation of 4,096 tokens with a model of 16 layers of 8 KV heads.
func BenchmarkClone(b *testing.B) {
	const layers, kvHeads, headDim = 16, 8, 64
	device := cpu.New(0)
	defer device.Close()
	store := kvcache.NewStore(device, 1, 32, kvHeads, headDim)
	var caches [layers]*kvcache.Cache
	x, err := tensor.FromFloats(make([]float32, 128*kvHeads*headDim), 128, kvHeads, headDim)
	if err != nil {
		b.Fatal(err)
	}
	for i := range caches {
		if caches[i], err = store.New(tensor.F16, 8192); err != nil {
			b.Fatal(err)
		}
	}
	for range 4096 / 128 {
		for _, c := range caches {
			if err := c.Update(x, x); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		var clones [layers]*kvcache.Cache
		for i, c := range caches {
			if clones[i], err = c.Clone(); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		for _, c := range clones {
			c.Free()
		}
		b.StartTimer()
	}
}
