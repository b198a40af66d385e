package kvcache_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// state returns all that a cache holds.
func state(t testing.TB, c *kvcache.Cache) []byte {
	t.Helper()
	var w bytes.Buffer
	if err := c.Save(&w); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

// single makes a batch of one cache.
func single(c *kvcache.Cache, tokens int) *kvcache.Batch {
	b := kvcache.NewBatch(c.Backend())
	b.Add(c, tokens)
	return b
}

// TestAppend compares a batch of caches of every type, with and without turned keys and with anchors, with Anchor, RoPE, Update, Attend and
// Observe of each cache.
func TestAppend(t *testing.T) {
	types := []tensor.DType{tensor.Q4_0, tensor.F16, tensor.F32, tensor.Q4_0, tensor.Q4_0, tensor.Q8_0}
	plain := newAccount(t, tensor.F32, 20, kvcache.Tracking{})
	device := plain.backend
	store := kvcache.NewStore(device, 64, heads, kvHeads, headDim)
	defer store.Free()
	track := kvcache.Tracking{Anchors: 5, Queries: 3, Attention: true}
	var batched, alone []*kvcache.Cache
	for i, d := range types {
		for _, list := range []*[]*kvcache.Cache{&batched, &alone} {
			c, err := store.New(d, 400)
			plain.ok(err)
			if i > 0 { // the first records nothing
				plain.ok(c.Track(track, heads, angles))
			}
			*list = append(*list, c)
		}
	}
	b := kvcache.NewBatch(device)
	for _, step := range [][]int{{3, 4, 1, 2, 5, 7}, {1, 1, 1, 1, 1, 1}, {4, 1, 0, 30, 1, 2}, {0, 0, 0, 0, 0, 20}} {
		b.Reset()
		total := 0
		for i, n := range step {
			if n > 0 {
				plain.ok(batched[i].Reserve(n))
				b.Add(batched[i], n)
			}
			total += n
		}
		q, queries := plain.normal(total, heads)
		k, keys := plain.normal(total, kvHeads)
		v, values := plain.normal(total, kvHeads)
		var angles, want, rotated []float32
		row := 0
		for i, n := range step {
			if n == 0 {
				continue
			}
			c := alone[i]
			part := func(x []float32, heads int) *tensor.Tensor {
				return plain.tensor(x[row*heads*headDim:][:n*heads*headDim], n, heads)
			}
			table, query, key, value := plain.table(c.Seen(), n), part(queries, heads), part(keys, kvHeads), part(values, kvHeads)
			angles = append(angles, floatsOf(t, table)...)
			plain.ok(c.Anchor(key))
			plain.ok(errors.Join(device.Run(&backend.RoPE{X: query, Table: table}), device.Run(&backend.RoPE{X: key, Table: table})))
			rotated = append(rotated, floatsOf(t, query)...)
			plain.ok(c.Update(key, value))
			out := part(queries, heads)
			plain.ok(single(c, n).Attend(query, out)) // which observes
			want = append(want, floatsOf(t, out)...)
			row += n
		}
		table, err := tensor.FromFloats(angles, total, headDim)
		plain.ok(err)
		out := plain.tensor(queries, total, heads)
		plain.ok(b.Append(q, k, v, table))
		if !slices.Equal(floatsOf(t, q), rotated) {
			t.Errorf("step %v: other queries", step)
		}
		plain.ok(b.Attend(q, out))
		if !slices.Equal(floatsOf(t, out), want) {
			t.Errorf("step %v: another attention", step)
		}
		for i := range batched {
			if !bytes.Equal(state(t, batched[i]), state(t, alone[i])) {
				t.Errorf("step %v: another cache %d", step, i)
			}
		}
	}
}

// TestFailedAppend sees that an error leaves all caches as they were, what they recorded included.
func TestFailedAppend(t *testing.T) {
	a := newAccount(t, tensor.F16, 6, kvcache.Tracking{Anchors: 5})
	fault := &backendtest.Fault{Err: errDevice, In: []string{"RoPEStore"}}
	store := kvcache.NewStore(backendtest.NewDevice(a.backend, fault.Before), 8, heads, kvHeads, headDim)
	var caches []*kvcache.Cache
	for range 2 {
		c, err := store.New(tensor.F16, 6)
		a.ok(err)
		defer c.Free()
		a.ok(c.Track(a.track, heads, angles))
		caches = append(caches, c)
	}
	q, _ := a.normal(2, heads)
	k, _ := a.normal(2, kvHeads)
	for _, c := range caches {
		a.ok(single(c, 2).Append(q, k, k, a.table(0, 2)))
	}
	for _, e := range []struct {
		name  string
		n     [2]int
		table *tensor.Tensor
		lost  bool
		is    error
	}{
		{"too many tokens", [2]int{1, 5}, a.table(2, 6), false, kvcache.ErrFull},
		{"a device that fails", [2]int{2, 1}, a.table(2, 3), true, errDevice},
		{"a table of other tokens", [2]int{1, 2}, a.table(2, 2), false, nil},
	} {
		q, queries := a.normal(e.n[0]+e.n[1], heads)
		k, keys := a.normal(e.n[0]+e.n[1], kvHeads)
		var before [2][]byte
		b := kvcache.NewBatch(caches[0].Backend())
		for i, c := range caches {
			before[i] = state(t, c)
			b.Add(c, e.n[i])
		}
		if e.lost {
			fault.Arm(0)
		}
		err := b.Append(q, k, k, e.table)
		fault.Disarm()
		if err == nil || (e.is != nil && !errors.Is(err, e.is)) {
			t.Errorf("%s: %v", e.name, err)
		}
		for i, c := range caches {
			if c.Len() != 2 || c.Seen() != 2 || !bytes.Equal(state(t, c), before[i]) {
				t.Errorf("%s: cache %d changed: %d slots", e.name, i, c.Len())
			}
			if err := c.TakeBack(2); err != nil {
				t.Errorf("%s: take back what was not appended: %v", e.name, err)
			}
		}
		if !e.lost && (!slices.Equal(floatsOf(t, q), queries) || !slices.Equal(floatsOf(t, k), keys)) {
			t.Errorf("%s: queries or keys were rotated", e.name)
		}
	}
	for _, c := range caches {
		a.ok(single(c, 2).Append(q, k, k, a.table(2, 2)))
	}
	if err := single(caches[0], 1).Append(q, k, k, a.table(4, 2)); err == nil {
		t.Error("two rows for a run of one")
	}
	if err := single(caches[0], 1).Attend(q, q); err == nil {
		t.Error("two queries for a run of one")
	}
	if want := fmt.Sprint(4, 4); fmt.Sprint(caches[0].Len(), caches[1].Len()) != want {
		t.Errorf("%d and %d slots, want %s", caches[0].Len(), caches[1].Len(), want)
	}
}
