package eviction_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// The shape of the tests' layer: two query heads share a KV head.
const heads, kvHeads, headDim, group = 4, 2, 16, 2

// account is a layer's cache, and a plain account, in float64, of all that was put into the cache.
type account struct {
	testing.TB
	backend *cpu.Backend
	cache   *kvcache.Cache // nil for an account without a cache
	random  *rand.Rand
	tokens  []token        // by position
	slots   [kvHeads][]int // the position of the token in each slot
}

// token is what a model computes of a token in one layer.
type token struct {
	q        [heads][]float64   // with RoPE
	k, v     [kvHeads][]float64 // k with RoPE
	received [kvHeads]float64   // attention so far
}

// newAccount makes an account of an empty cache that records what a policy asks for; without a policy it records nothing.
func newAccount(t testing.TB, p eviction.Policy, d tensor.DType, slots int) *account {
	t.Helper()
	a := newPlainAccount(t)
	c, err := kvcache.NewStore(a.backend, slots, heads, kvHeads, headDim).New(d, slots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Free() })
	var record kvcache.Tracking
	if tracker, ok := p.(eviction.Tracker); ok {
		record = tracker.Tracking()
	}
	if p != nil {
		if err := c.Track(record, heads, angles); err != nil {
			t.Fatal(err)
		}
	}
	a.cache = c
	return a
}

// newPlainAccount makes an account without a cache.
func newPlainAccount(t testing.TB) *account {
	t.Helper()
	b := cpu.New(1)
	t.Cleanup(func() { b.Close() })
	return &account{TB: t, backend: b, random: rand.New(rand.NewPCG(1, 100))}
}

// angles is the layer's RoPE.
func angles(row []float32, position int) {
	for i := range headDim / 2 {
		sin, cos := math.Sincos(float64(position) * frequency(i))
		row[i], row[i+headDim/2] = float32(cos), float32(sin)
	}
}

func frequency(i int) float64 { return 1 / float64(int(1)<<i) }

// rotate applies RoPE to a vector, by a number of positions.
func rotate(x []float64, positions float64) []float64 {
	y := slices.Clone(x)
	for i := range headDim / 2 {
		a, b := x[i], x[i+headDim/2]
		sin, cos := math.Sincos(positions * frequency(i))
		y[i], y[i+headDim/2] = a*cos-b*sin, a*sin+b*cos
	}
	return y
}

// add appends n tokens, a chunk, as a model does.
func (a *account) add(n int) {
	a.Helper()
	first := len(a.tokens)
	var q, k, v []float32
	vector := func(scale float64, to *[]float32) []float64 {
		x := make([]float64, headDim)
		for i := range x {
			f := float32(scale * a.random.NormFloat64())
			*to, x[i] = append(*to, f), float64(f)
		}
		return x
	}
	for range n {
		var t token
		for h := range t.q {
			t.q[h] = vector(2, &q)
		}
		for h := range t.k {
			t.k[h], t.v[h] = vector(1, &k), vector(1, &v)
		}
		a.tokens = append(a.tokens, t)
	}
	if a.cache != nil {
		a.ok(a.cache.Update(a.tensor(k, n, kvHeads), a.tensor(v, n, kvHeads)))
		b := kvcache.NewBatch(a.backend)
		b.Add(a.cache, n)
		a.ok(b.Attend(a.tensor(q, n, heads), a.tensor(make([]float32, len(q)), n, heads))) // which records the queries
	}
	for p := first; p < len(a.tokens); p++ {
		for h := range a.slots {
			a.slots[h] = append(a.slots[h], p)
		}
		for h := range heads {
			for slot, w := range a.attention(p, h) {
				a.tokens[a.slots[h/group][slot]].received[h/group] += w
			}
		}
	}
}

func (a *account) tensor(x []float32, n, heads int) *tensor.Tensor {
	a.Helper()
	t, err := tensor.FromFloats(x, n, heads, headDim)
	if err != nil {
		a.Fatal(err)
	}
	return t
}

// attention returns what the query of a position gives to each slot that it sees.
func (a *account) attention(position, head int) []float64 {
	var logits []float64
	for _, p := range a.slots[head/group] {
		if p <= position {
			logits = append(logits, inner(a.tokens[position].q[head], a.tokens[p].k[head/group])/math.Sqrt(headDim))
		}
	}
	return softmax(logits)
}

func softmax(x []float64) []float64 {
	y, total := make([]float64, len(x)), 0.0
	for i, v := range x {
		y[i] = math.Exp(v - slices.Max(x))
		total += y[i]
	}
	for i := range y {
		y[i] /= total
	}
	return y
}

func inner(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// keep forgets one slot after the other until n are left: each time the slot with the lowest score, of equal scores the first. The
// first slots and the latest slots stay, in the given numbers. One row of scores is for all heads.
func (a *account) keep(scores [][]float64, n, first, latest int) {
	for h := range a.slots {
		row := slices.Clone(scores[min(h, len(scores)-1)])
		for len(a.slots[h]) > n {
			worst := first
			for i := first; i < len(row)-latest; i++ {
				if row[i] < row[worst] {
					worst = i
				}
			}
			row, a.slots[h] = slices.Delete(row, worst, worst+1), slices.Delete(a.slots[h], worst, worst+1)
		}
	}
}

// ok fails the test if there is an error.
func (a *account) ok(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

// evict lets a policy shrink the cache to targetLen slots.
func (a *account) evict(p eviction.Policy, targetLen int) {
	a.Helper()
	keep, err := p.Evict(a.cache, targetLen)
	a.ok(err)
	a.ok(a.cache.Keep(keep))
}

// compare holds the cache against the account.
func (a *account) compare() {
	a.Helper()
	for h, want := range a.slots {
		var got []int
		for _, p := range a.cache.Positions(h) {
			got = append(got, int(p))
		}
		if !slices.Equal(got, want) {
			a.Fatalf("head %d holds the tokens %v, want %v", h, got, want)
		}
	}
}
