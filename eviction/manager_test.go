package eviction

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// model stands for a model: its caches, of the smallest keys there are, and how many tokens it was given.
type model struct {
	testing.TB
	caches []*kvcache.Cache
	chunk  map[int]*tensor.Tensor
	tokens int
}

func newModel(t testing.TB, layers, slots int) *model {
	t.Helper()
	b := cpu.New(1)
	t.Cleanup(func() { b.Close() })
	m := &model{TB: t, chunk: map[int]*tensor.Tensor{}}
	for range layers {
		c, err := kvcache.NewStore(b, slots, 1, 1, 1).New(tensor.F32, slots)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Free() })
		m.caches = append(m.caches, c)
	}
	return m
}

// add appends tokens.
func (m *model) add(n int) {
	m.Helper()
	m.tokens += n
	if m.chunk[n] == nil {
		x, err := tensor.FromFloats(make([]float32, n), n, 1, 1)
		if err != nil {
			m.Fatal(err)
		}
		m.chunk[n] = x
	}
	for i, c := range m.caches {
		if err := c.Update(m.chunk[n], m.chunk[n]); err != nil {
			m.Fatalf("token %d, layer %d: %v", m.tokens, i, err)
		}
	}
}

// lengths returns the layers' lengths.
func (m *model) lengths() (list []int) {
	for _, c := range m.caches {
		list = append(list, c.Len())
	}
	return list
}

// total returns the number of slots in use in all layers.
func (m *model) total() (slots int) {
	for _, n := range m.lengths() {
		slots += n
	}
	return slots
}

// clock is a time that stands still until told.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

// gauge is a monitor that says what it is told to.
type gauge struct {
	available int64
	err       error
	reads     int
}

func (g *gauge) Name() string { return "a gauge" }

func (g *gauge) Available() (int64, error) { g.reads++; return g.available, g.err }

// managed makes a manager with a clock of the test's, and fails the test if it is refused.
func managed(t testing.TB, p Policy, o ManagerOptions) (*Manager[*kvcache.Cache], *clock) {
	t.Helper()
	m, err := NewManager[*kvcache.Cache](p, o)
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{time.Unix(1e9, 0)}
	m.now = c.now
	return m, c
}

// window makes a sliding window with a prefix.
func window(t testing.TB, budget int) Policy {
	t.Helper()
	prefix := min(budget/2, 4)
	p, err := NewSlidingWindow(budget-prefix, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// cheapPyramid shares slots out as PyramidKV does, and forgets the oldest.
type cheapPyramid struct{ *pyramidKV }

func (cheapPyramid) Evict(v View, targetLen int) ([][]int, error) {
	return endsOfHeads(v, min(targetLen, v.Len()), 0), nil
}

// pyramid makes one.
func pyramid(t testing.TB, budget int) Policy {
	t.Helper()
	p, err := NewPyramidKV(Options{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return cheapPyramid{p.(*pyramidKV)}
}

func TestManagerBudget(t *testing.T) {
	m, _ := managed(t, window(t, 80), ManagerOptions{})
	x := newModel(t, 2, 200)
	evictions := 0
	for range 1000 {
		x.add(1)
		result, err := m.MaybeEvict(x.caches)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case result.Slots == 0 && result != Result{}:
			t.Fatalf("token %d: no eviction, but %+v", x.tokens, result)
		case result.Slots > 0:
			evictions++
			if want := (Result{Reason: ByBudget, Target: 80, Slots: 10, Bytes: 2 * 2 * 10 * 4}); result != want {
				t.Fatalf("token %d: %+v, want %+v", x.tokens, result, want)
			}
		}
	}
	if want := (1000 - 80) / 10; evictions != want {
		t.Errorf("%d evictions, want %d: one for every ten tokens", evictions, want)
	}
}

// TestSlots adds chunks to caches of just the capacity that Slots asks for, with requests and pressure between, until all that
// can happen has.
func TestSlots(t *testing.T) {
	effort.Turn(t, 8)
	const chunks = 400
	for _, kind := range []struct {
		name   string
		policy func(testing.TB, int) Policy
	}{{"window", window}, {"pyramid", pyramid}} {
		for i, layers := range []int{1, 2, 3, 16, 28} {
			for j, budget := range []int{5, 8, 9, 40, 64, 100, 512, 1000} {
				for at, chunk := range []int{1, 7, max(budget/4, 1)} {
					if !effort.Share(i+j+at, 6) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%d layers/budget %d/chunk %d", kind.name, layers, budget, chunk), func(t *testing.T) {
						g := &gauge{available: 1}
						m, now := managed(t, kind.policy(t, budget), ManagerOptions{Monitor: g, Threshold: 1})
						x := newModel(t, layers, m.Slots(layers, 1, chunk))
						random := rand.New(rand.NewPCG(1, uint64(budget*chunk)))
						for i := range chunks {
							n := chunk
							if i%5 == 0 {
								n = 1 + random.IntN(chunk)
							}
							x.add(n) // fails if there is no room
							g.available = 1
							if i%50 == 49 {
								g.available = 0
							}
							now.Time = now.Add(time.Second)
							if _, err := m.MaybeEvict(x.caches); err != nil {
								t.Fatal(err)
							}
							if i%97 == 96 {
								if _, err := m.Evict(x.caches, 1+random.IntN(2*budget)); err != nil {
									t.Fatal(err)
								}
							}
							if n, most := x.total(), layers*(budget+slack(budget)); n >= most {
								t.Fatalf("token %d: %d slots in all, want fewer than %d: %v", x.tokens, n, most, x.lengths())
							}
						}
					})
				}
			}
		}
	}
}

func TestManagerPressure(t *testing.T) {
	for _, c := range []struct {
		name    string
		policy  Policy
		options ManagerOptions
		tokens  int
		want    []int // lengths after evictions every half second
	}{
		{"a quarter goes each time", window(t, 1000), ManagerOptions{}, 400, []int{300, 225, 168, 126, 94, 70, 64, 64}},
		{"half", window(t, 1000), ManagerOptions{TargetRatio: 0.5}, 400, []int{200, 100, 64, 64}},
		{"down to a floor", window(t, 1000), ManagerOptions{Floor: 250}, 400, []int{300, 250, 250}},
		{"below the floor", window(t, 1000), ManagerOptions{Floor: 500}, 400, []int{400}},
		{"to one", window(t, 1000), ManagerOptions{TargetRatio: 1e-9, Floor: 1}, 400, []int{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &gauge{available: 100}
			c.options.Monitor, c.options.Threshold = g, 100
			m, now := managed(t, c.policy, c.options)
			x := newModel(t, 2, 1000)
			x.add(c.tokens)
			if result, err := m.MaybeEvict(x.caches); err != nil || result.Slots > 0 {
				t.Fatalf("at the threshold: %+v, %v", result, err)
			}
			g.available = 99
			if result, err := m.MaybeEvict(x.caches); err != nil || result.Slots > 0 {
				t.Fatalf("what the monitor said was forgotten at once: %+v, %v", result, err)
			}
			for _, want := range c.want {
				before := x.caches[0].Len()
				now.Time = now.Add(relieveTime)
				for range 3 { // the second and third come too early
					result, err := m.MaybeEvict(x.caches)
					if err != nil {
						t.Fatal(err)
					}
					if result.Slots > 0 && (result.Reason != ByPressure || result.Slots != before-want || result.Bytes != int64(2*2*4*(before-want))) {
						t.Errorf("from %d to %d: %+v", before, want, result)
					}
					now.Time = now.Add(readEvery)
				}
				if got := x.caches[0].Len(); got != want {
					t.Fatalf("%d slots stayed of %d, want %d", got, before, want)
				}
				now.Time = now.Add(-3 * readEvery)
			}
		})
	}
}

// TestManagerPressureGrowsBack lets memory stay short while a cache grows: it does not pass the length at which it was short.
func TestManagerPressureGrowsBack(t *testing.T) {
	m, now := managed(t, window(t, 1000), ManagerOptions{Monitor: &gauge{}, Threshold: 1})
	x := newModel(t, 1, 1000)
	x.add(100)
	var evicted []int // the cache lengths at which the manager evicted
	for range 70 {
		before := x.caches[0].Len()
		result, err := m.MaybeEvict(x.caches)
		if err != nil {
			t.Fatal(err)
		}
		if result.Slots > 0 {
			evicted = append(evicted, before)
		}
		x.add(1)
		now.Time = now.Add(relieveTime / 1000)
	}
	if want := []int{100, 100, 100}; !slices.Equal(evicted, want) {
		t.Errorf("slots went at the lengths %v, want %v", evicted, want)
	}
}

// TestManagerPressureByLayers shrinks the layers' total where their shares differ.
func TestManagerPressureByLayers(t *testing.T) {
	g := &gauge{available: 1}
	m, now := managed(t, pyramid(t, 256), ManagerOptions{Monitor: g, Threshold: 1})
	x := newModel(t, 8, m.Slots(8, 1, 1))
	for range 5000 {
		x.add(1)
		if _, err := m.MaybeEvict(x.caches); err != nil {
			t.Fatal(err)
		}
	}
	before := x.total()
	g.available = 0
	now.Time = now.Add(time.Second)
	result, err := m.MaybeEvict(x.caches)
	if err != nil || result.Reason != ByPressure || x.total() > before*4/5 {
		t.Errorf("%v: %d slots stayed of %d: %+v, %v", x.lengths(), x.total(), before, result, err)
	}
}

func TestManagerReadsNowAndThen(t *testing.T) {
	g := &gauge{available: 1}
	m, now := managed(t, None, ManagerOptions{Monitor: g, Threshold: 1})
	for range 100 {
		now.Time = now.Add(readEvery / 10)
		if _, err := m.MaybeEvict(nil); err != nil {
			t.Fatal(err)
		}
	}
	if g.reads != 10 {
		t.Errorf("the monitor was read %d times, want 10", g.reads)
	}
	g.err = errors.New("no idea")
	now.Time = now.Add(readEvery)
	if _, err := m.MaybeEvict(nil); !errors.Is(err, g.err) {
		t.Errorf("the monitor's error became %v", err)
	}
}

func TestManagerWithoutPolicy(t *testing.T) {
	g := &gauge{available: Unknown}
	m, now := managed(t, nil, ManagerOptions{Monitor: g, Threshold: 1 << 20})
	x := newModel(t, 2, 1000)
	x.add(1000)
	if result, err := m.MaybeEvict(x.caches); err != nil || result.Slots > 0 {
		t.Errorf("without pressure: %+v, %v", result, err)
	}
	g.available = 12345
	now.Time = now.Add(time.Second)
	_, err := m.MaybeEvict(x.caches)
	if !errors.Is(err, ErrPressure) || !strings.Contains(err.Error(), "12345") {
		t.Errorf("under pressure: %v", err)
	}
	g.available = Unknown
	now.Time = now.Add(time.Second)
	if _, err := m.MaybeEvict(x.caches); err != nil {
		t.Errorf("after the pressure: %v", err)
	}
	if x.caches[0].Len() != 1000 {
		t.Errorf("%d slots stayed of 1000", x.caches[0].Len())
	}
	if _, err := m.Evict(x.caches, 10); err == nil {
		t.Error("a manager without a policy evicts")
	}
	if n := m.Slots(2, 1, 10); n != 0 {
		t.Errorf("%d slots for a policy without a budget", n)
	}
	if _, on := m.Tracking(); on {
		t.Error("nothing is to be recorded, but it is")
	}
}

func TestManagerEvict(t *testing.T) {
	m, _ := managed(t, window(t, 100), ManagerOptions{})
	x := newModel(t, 3, 100)
	x.add(50)
	for _, c := range []struct{ target, slots, left int }{{60, 0, 50}, {50, 0, 50}, {49, 1, 49}, {1, 48, 1}} {
		result, err := m.Evict(x.caches, c.target)
		want := Result{Reason: ByRequest, Target: c.target, Slots: c.slots, Bytes: int64(3 * 2 * 4 * c.slots)}
		if c.slots == 0 {
			want = Result{}
		}
		if err != nil || result != want || x.caches[2].Len() != c.left {
			t.Errorf("to %d: %+v, %v, %v; want %+v", c.target, result, x.lengths(), err, want)
		}
	}
	if _, err := m.Evict(x.caches, 0); err == nil {
		t.Error("evicted to 0 slots")
	}
}

func TestNewManagerRefuses(t *testing.T) {
	for _, c := range []struct {
		options ManagerOptions
		want    string // of the error
	}{
		{ManagerOptions{Threshold: 1}, "monitor"},
		{ManagerOptions{Monitor: new(gauge)}, "threshold"},
		{ManagerOptions{Monitor: new(gauge), Threshold: -1}, "threshold"},
		{ManagerOptions{TargetRatio: -0.1}, "above 0 and below 1"},
		{ManagerOptions{TargetRatio: 1}, "above 0 and below 1"},
		{ManagerOptions{TargetRatio: math.NaN()}, "above 0 and below 1"},
		{ManagerOptions{Floor: -1}, "floor"},
	} {
		if _, err := NewManager[*kvcache.Cache](None, c.options); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error about %q", c.options, err, c.want)
		}
	}
}

// TestLayerTargets checks that the layers' shares add up to the total, fall from layer to layer, and leave the window whole.
func TestLayerTargets(t *testing.T) {
	for _, budget := range []int{1, 2, 31, 64, 100, 1000} {
		policy, err := NewPyramidKV(Options{Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		p := policy.(*pyramidKV)
		for _, layers := range []int{1, 2, 3, 8, 28} {
			for _, target := range []int{1, p.window, p.window + 1, budget, 2 * budget} {
				total := 0
				for layer := range layers {
					n := p.LayerTarget(layer, layers, target)
					total += n
					if n < min(p.window, target) || layer > 0 && n > p.LayerTarget(layer-1, layers, target) {
						t.Errorf("budget %d, %d layers, target %d: layer %d has %d", budget, layers, target, layer, n)
					}
				}
				if total < layers*target || total > layers*(target+1) {
					t.Errorf("budget %d: %d slots in all for %d layers of %d", budget, total, layers, target)
				}
			}
		}
	}
}
