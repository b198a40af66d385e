package kvcache_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// outlying makes rows in which one element of each head is far larger than the others, as keys of models have.
func outlying(t *testing.T, r *rand.Rand, n, heads int) *tensor.Tensor {
	t.Helper()
	values := make([]float32, n*heads*headDim)
	for i := range values {
		if values[i] = float32(r.NormFloat64()); i%headDim == 5 {
			values[i] *= 30
		}
	}
	x, err := tensor.FromFloats(values, n, heads, headDim)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func floatsOf(t *testing.T, x *tensor.Tensor) []float32 {
	t.Helper()
	v, err := tensor.As[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	v = slices.Clone(v)
	runtime.KeepAlive(x)
	return v
}

// worst returns the largest error of the products of a query with the keys that a cache keeps, turned or not.
func worst(t *testing.T, b *cpu.Backend, turns bool) (products, keys float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	const n = 40
	c, err := kvcache.NewPlain(b, tensor.Q4_0, n, heads, kvHeads, headDim)
	if turns {
		c, err = kvcache.NewStore(b, 64, kvHeads, kvHeads, headDim).New(tensor.Q4_0, n)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Free()
	if c.Turned() != turns {
		t.Fatalf("keys are turned: %v", c.Turned())
	}
	k, q := outlying(t, r, n, kvHeads), rows(t, 1, 1)
	if err := c.Update(k, k); err != nil {
		t.Fatal(err)
	}
	asked, err := c.TurnQueries(q)
	if err != nil {
		t.Fatal(err)
	}
	var stored [kvHeads][]float32 // as they are in the pages
	for head := range stored {
		kept, err := tensor.New(b, tensor.F32, tensor.ShapeOf(n, headDim))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Run(&backend.ReadSlots{Slots: c.Slots(), Head: head, First: 0, Keys: kept}); err != nil {
			t.Fatal(err)
		}
		stored[head] = floatsOf(t, kept)
	}
	inner := func(q, k []float32) (sum float64) {
		for i := range q {
			sum += float64(q[i]) * float64(k[i])
		}
		return sum
	}
	original, query, turned := floatsOf(t, k), floatsOf(t, q), floatsOf(t, asked)
	for slot := range n {
		for head := range kvHeads {
			at := (slot*kvHeads + head) * headDim
			want := inner(query[head*headDim:][:headDim], original[at:][:headDim])
			got := inner(turned[head*headDim:][:headDim], stored[head][slot*headDim:][:headDim])
			products = max(products, math.Abs(got-want))
		}
	}
	for head := range kvHeads {
		if err := c.EachKey(head, func(slot int, key []float32) {
			for i, v := range key {
				keys = max(keys, math.Abs(float64(v-original[(slot*kvHeads+head)*headDim+i])))
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	return products, keys
}

func TestHadamardKeepsProducts(t *testing.T) {
	b := cpu.New(2)
	defer b.Close()
	plain, _ := worst(t, b, false)
	turned, keys := worst(t, b, true)
	if turned > plain*0.6 {
		t.Errorf("products are off by %v with turned keys, by %v without", turned, plain)
	}
	if keys > 10 { // of about 90: they come back as they were, within rounding
		t.Errorf("keys read are off by %v", keys)
	}
	for _, x := range []struct {
		d       tensor.DType
		headDim int
	}{{tensor.F32, 32}, {tensor.F16, 32}, {tensor.Q8_0, 32}, {tensor.Q4_0, 96}} {
		s := kvcache.NewStore(b, 1, 1, 1, x.headDim)
		if c, err := s.New(x.d, 9); err != nil || c.Turned() || s.Bytes() != 0 {
			t.Errorf("%v heads of %d: a matrix that does not help, %v", x.d, x.headDim, err)
		}
	}
}

// TestRecentQueriesAreUnturned reads the queries that a cache with turned keys recorded: they come as they were before.
func TestRecentQueriesAreUnturned(t *testing.T) {
	a := newAccount(t, tensor.Q4_0, 10, kvcache.Tracking{})
	c, err := kvcache.NewStore(a.backend, 5, heads, kvHeads, headDim).New(tensor.Q4_0, 10)
	a.ok(err)
	defer c.Free()
	a.ok(c.Track(kvcache.Tracking{Queries: 3}, heads, angles))
	k, _ := a.normal(5, kvHeads)
	q, want := a.normal(5, heads)
	a.ok(c.Update(k, k))
	a.ok(c.Observe(q))
	got, err := c.RecentQueries(3)
	a.ok(err)
	for i, row := range got {
		for j, v := range row {
			if w := want[(2+i)*heads*headDim+j]; math.Abs(float64(v-w)) > 1e-4 {
				t.Fatalf("element %d of query %d of 3 is %v, want %v", j, i, v, w)
			}
		}
	}
	if len(got) != 3 {
		t.Errorf("%d queries, want 3", len(got))
	}
}
