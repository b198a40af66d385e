package kvcache_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// windowTest is a cache with a window and what it was given.
type windowTest struct {
	heads, kvHeads, headDim int
	q, k, v                 []float32 // [tokens, heads or kvHeads, headDim]
}

func newWindowTest(tokens int) *windowTest {
	w := &windowTest{heads: 4, kvHeads: 2, headDim: 32}
	random := rand.New(rand.NewPCG(1, 2))
	fill := func(heads int) []float32 {
		x := make([]float32, tokens*heads*w.headDim)
		for i := range x {
			x[i] = float32(random.NormFloat64())
		}
		return x
	}
	w.q, w.k, w.v = fill(w.heads), fill(w.kvHeads), fill(w.kvHeads)
	return w
}

// step appends the tokens of positions [lo, hi) and returns their attention.
func (w *windowTest) step(t *testing.T, b backend.Backend, c *kvcache.Cache, lo, hi int) []float32 {
	t.Helper()
	part := func(x []float32, heads int) *tensor.Tensor {
		width := heads * w.headDim
		p, err := tensor.FromFloats(slices.Clone(x[lo*width:hi*width]), hi-lo, heads, w.headDim)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	q, out := part(w.q, w.heads), part(w.q, w.heads)
	batch := kvcache.NewBatch(b)
	batch.Add(c, hi-lo)
	if err := batch.Append(nil, part(w.k, w.kvHeads), part(w.v, w.kvHeads), nil); err != nil {
		t.Fatal(err)
	}
	if err := batch.Attend(q, out); err != nil {
		t.Fatal(err)
	}
	values, err := tensor.As[float32](out)
	if err != nil {
		t.Fatal(err)
	}
	values = slices.Clone(values)
	runtime.KeepAlive(out) // the values are in its memory
	return values
}

// attention is what a position's query gives, by the definition: it sees the last window positions, its own included.
func (w *windowTest) attention(position, head, window int) []float64 {
	d := w.headDim
	kv := head / (w.heads / w.kvHeads)
	query := w.q[(position*w.heads+head)*d:][:d]
	out, sum := make([]float64, d), 0.0
	for p := max(position-window+1, 0); p <= position; p++ {
		score := 0.0
		for i, k := range w.k[(p*w.kvHeads+kv)*d:][:d] {
			score += float64(k) * float64(query[i])
		}
		weight := math.Exp(score / math.Sqrt(float64(d)))
		sum += weight
		for i, v := range w.v[(p*w.kvHeads+kv)*d:][:d] {
			out[i] += weight * float64(v)
		}
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// TestWindow compares attention to caches with windows with the definition, and finds that no result depends on how the tokens are cut into
// steps, on whether pages were dropped, nor on the device.
func TestWindow(t *testing.T) {
	const tokens = 450
	w := newWindowTest(tokens)
	device := cpu.New(3)
	defer device.Close()
	for i, window := range []int{1, 7, 129, 200} {
		for j, kv := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
			if !effort.Share(i+j, 4) {
				continue
			}
			tolerance := map[tensor.DType]float64{tensor.F32: 1e-5, tensor.F16: 5e-3, tensor.Q8_0: 0.1, tensor.Q4_0: 2}[kv]
			var want []float32
			for run, steps := range [][]int{{1}, {97}, {450}, {3, 1, 150, 16, 300}} {
				var b backend.Backend = device
				if run == 1 {
					b = host.NewReference()
				}
				store := kvcache.NewStore(b, tokens, w.heads, w.kvHeads, w.headDim)
				c, err := store.NewFor(backend.Attention{Window: window}, kv, 0)
				if err != nil {
					t.Fatal(err)
				}
				var got []float32
				for lo, i := 0, 0; lo < tokens; i++ {
					n := steps[i%len(steps)]
					hi := min(lo+n, tokens)
					got = append(got, w.step(t, b, c, lo, hi)...)
					if most := window + n + 2*backend.PageSlots; c.Len() > most || c.Seen() != hi {
						t.Fatalf("window %d, steps of %d: %d slots after %d tokens, want at most %d", window, n, c.Len(), hi, most)
					}
					lo = hi
				}
				if run == 0 {
					want = got
					for position := 0; position < tokens; position += 7 {
						for head := range w.heads {
							for i, v := range w.attention(position, head, window) {
								if e := math.Abs(v - float64(got[(position*w.heads+head)*w.headDim+i])); !(e <= tolerance) {
									t.Fatalf("window %d, %v: position %d, head %d, element %d is off by %g", window, kv, position, head, i, e)
								}
							}
						}
					}
				} else if !slices.Equal(got, want) {
					t.Errorf("window %d, %v: steps of %v give other results", window, kv, steps)
				}
				if err := c.Free(); err != nil {
					t.Error(err)
				}
				if n := store.Bytes(); n != 0 {
					t.Errorf("window %d: %d bytes are left", window, n)
				}
			}
		}
	}
}

// TestWindowGoesBack truncates, clones and saves a cache that has dropped pages.
func TestWindowGoesBack(t *testing.T) {
	const tokens, window = 600, 40
	w := newWindowTest(tokens)
	b := host.NewReference()
	store := kvcache.NewStore(b, tokens, w.heads, w.kvHeads, w.headDim)
	c, err := store.NewFor(backend.Attention{Window: window}, tensor.F16, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.step(t, b, c, 0, 500)
	want := w.step(t, b, c, 500, 600)
	const least = (500-window)/128*128 + window - 1 // as long as the step of 100 may be taken back
	if c.Window() != window || c.Len() >= 300 || c.Least(600) != (599-window)/128*128+window-1 {
		t.Fatalf("%d slots; it can go back to %d", c.Len(), c.Least(600))
	}
	if err := c.Truncate(least - 1); err == nil {
		t.Error("the cache went back to tokens whose window it has dropped")
	}
	if err := c.TakeBack(least - 1); err == nil {
		t.Error("the cache took back tokens whose window it needs")
	}
	if err := c.TakeBack(500); err != nil {
		t.Fatal(err)
	}
	clone, err := c.Clone()
	if err != nil {
		t.Fatal(err)
	}
	var state bytes.Buffer
	if err := c.Save(&state); err != nil {
		t.Fatal(err)
	}
	read, err := store.NewFor(backend.Attention{Window: window}, tensor.F16, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Restore(bytes.NewReader(state.Bytes())); err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]*kvcache.Cache{"taken back": c, "cloned": clone, "read": read} {
		if other.Least(500) != least || other.Seen() != 500 {
			t.Errorf("the cache that was %s has seen %d tokens and can go back to %d, want %d", name, other.Seen(), other.Least(500), least)
		}
		if !slices.Equal(w.step(t, b, other, 500, 600), want) {
			t.Errorf("the cache that was %s gives other results", name)
		}
	}
	if err := c.Keep([][]int{{1}}); err == nil {
		t.Error("slots of a window were evicted")
	}
	if err := c.Truncate(0); err != nil || c.Least(0) != 0 || c.Seen() != 0 {
		t.Errorf("reset: %v, %d tokens, back to %d", err, c.Seen(), c.Least(0))
	}
}

// TestStepsAcrossTiles computes a few tokens on a device that cuts each token into pieces and joins them. The first tokens see one tile of
// slots less than the last.
func TestStepsAcrossTiles(t *testing.T) {
	effort.Turn(t, 8)
	const tokens = 5*backend.PageSlots + 3
	w := newWindowTest(tokens)
	device := cpu.New(16)
	defer device.Close()
	alone := host.NewReference()
	for _, n := range []int{2, 3, 4} {
		var got [2][]float32
		for i, b := range []backend.Backend{device, alone} {
			c, err := kvcache.NewStore(b, tokens, w.heads, w.kvHeads, w.headDim).New(tensor.F32, tokens)
			if err != nil {
				t.Fatal(err)
			}
			const before = 5*backend.PageSlots - 1
			w.step(t, b, c, 0, before)
			for range 5 { // a step's leftovers must not count in the next one
				got[i] = w.step(t, b, c, before, before+n)
				if err := c.TakeBack(before); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%d tokens: the results differ from the reference's", n)
		}
	}
}
