package eviction

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/kvcache"
)

// counted is a Cache that knows nothing but how many slots each of its heads has in use: a policy or a manager that asks for more
// panics.
type counted struct {
	View
	lengths []int // of the KV heads
	seen    int
}

func (c *counted) Len() (n int) {
	for _, length := range c.lengths {
		n = max(n, length)
	}
	return n
}

func (c *counted) HeadLen(head int) int { return c.lengths[head] }
func (c *counted) Seen() int            { return c.seen }
func (c *counted) KVHeads() int         { return len(c.lengths) }
func (c *counted) HeadDim() int         { return 1 }
func (c *counted) MemoryUsage() int64   { return int64(usedSlots(c)) }

func (c *counted) Keep(slots [][]int) error {
	for h := range c.lengths {
		c.lengths[h] = len(slots[h%len(slots)])
	}
	return nil
}

// layers makes empty caches.
func layers(n, kvHeads int) (list []*counted) {
	for range n {
		list = append(list, &counted{lengths: make([]int, kvHeads)})
	}
	return list
}

// add appends tokens to caches.
func add(caches []*counted, tokens int) {
	for _, c := range caches {
		c.seen += tokens
		for h := range c.lengths {
			c.lengths[h] += tokens
		}
	}
}

// drawn is a Scorer that draws its numbers. Those of one head are the highest.
type drawn struct{ *rand.Rand }

func (drawn) Name() string               { return "drawn" }
func (drawn) Tracking() kvcache.Tracking { return kvcache.Tracking{} }
func (drawn) Recent(int) int             { return 1 }

func (d drawn) Score(v View) ([][]float32, error) {
	scores := make([][]float32, v.KVHeads())
	best := max(d.IntN(4*len(scores))-3*len(scores), 0) // the first head in three draws of four
	for h := range scores {
		for range v.HeadLen(h) {
			score := d.Float32()
			if h == best {
				score++
			}
			scores[h] = append(scores[h], score)
		}
	}
	return scores, nil
}

// unevenly makes an Ada over drawn scores.
func unevenly(t testing.TB, budget int) Policy {
	t.Helper()
	p, err := NewAda(drawn{rand.New(rand.NewPCG(5, 6))}, Options{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDue lets caches grow token by token and now and then shrink: what Due says of the caches as they were some tokens ago is what
// it said then.
func TestDue(t *testing.T) {
	for name, policy := range map[string]Policy{"window": window(t, 40), "pyramid": pyramid(t, 40), "ada": unevenly(t, 40), "none": None} {
		t.Run(name, func(t *testing.T) {
			m, err := NewManager[*counted](policy, ManagerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			caches := layers(3, 2)
			evictions := 0
			for range 20 {
				var due []bool // before each token since the eviction
				for n := range 17 {
					due = append(due, m.Due(caches, 0))
					for back := range due {
						if got, want := m.Due(caches, back), due[n-back]; got != want {
							t.Fatalf("%d tokens seen, %v slots: %v tokens ago an eviction was due is %v, want %v",
								caches[0].seen, caches[0].lengths, back, got, want)
						}
					}
					if due[n] {
						break
					}
					add(caches, 1)
				}
				result, err := m.MaybeEvict(caches)
				if err != nil {
					t.Fatal(err)
				}
				if due[len(due)-1] != (result.Slots > 0) {
					t.Fatalf("an eviction was due is %v, and %d slots were given up", due[len(due)-1], result.Slots)
				}
				if result.Slots > 0 {
					evictions++
				}
			}
			if name == "none" != (evictions == 0) {
				t.Errorf("%d evictions", evictions)
			}
		})
	}
}

// TestTokensWithoutAllocations asks a manager after a token whether an eviction is due, as sessions do after every token.
func TestTokensWithoutAllocations(t *testing.T) {
	for name, policy := range map[string]Policy{"window": window(t, 40), "pyramid": pyramid(t, 40), "ada": unevenly(t, 40)} {
		m, err := NewManager[*counted](policy, ManagerOptions{Monitor: &gauge{available: 1}, Threshold: 1})
		if err != nil {
			t.Fatal(err)
		}
		caches := layers(3, 2)
		add(caches, 30)
		if n := testing.AllocsPerRun(20, func() {
			if result, err := m.MaybeEvict(caches); err != nil || result.Slots != 0 {
				t.Fatalf("%s: %+v, %v", name, result, err)
			}
			m.Due(caches, 3)
		}); n > 0 {
			t.Errorf("%s: %v allocations for a token", name, n)
		}
	}
}

// TestUnevenResult gives up one slot of one head: the result counts it.
func TestUnevenResult(t *testing.T) {
	m, err := NewManager[*counted](unevenly(t, 40), ManagerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	caches := []*counted{{lengths: []int{3, 5, 2}}, {lengths: []int{3, 3, 3}}}
	result, err := m.Evict(caches, 3)
	result.Duration = 0
	if want := (Result{Reason: ByRequest, Target: 3, Slots: 1, Bytes: 1}); err != nil || result != want {
		t.Errorf("%+v, %v; want %+v", result, err, want)
	}
}

// TestUnevenSlots adds chunks to caches with heads of unequal shares, with requests and pressure between: the mean of the heads stays
// within the budget, no head passes the capacity that Slots asks for, and one comes near the most that a head can hold.
func TestUnevenSlots(t *testing.T) {
	effort.Turn(t, 8)
	for i, kvHeads := range []int{1, 2, 3, 8} {
		for j, budget := range []int{5, 8, 100, 512} {
			for at, chunk := range []int{1, max(budget/4, 1)} {
				if !effort.Share(i+j+at, 2) {
					continue
				}
				t.Run(fmt.Sprintf("%d heads/budget %d/chunk %d", kvHeads, budget, chunk), func(t *testing.T) {
					g := &gauge{available: 1}
					m, err := NewManager[*counted](unevenly(t, budget), ManagerOptions{Monitor: g, Threshold: 1})
					if err != nil {
						t.Fatal(err)
					}
					now := &clock{time.Unix(1e9, 0)}
					m.now = now.now
					caches, capacity, longest := layers(2, kvHeads), m.Slots(2, kvHeads, chunk), 0
					random := rand.New(rand.NewPCG(1, uint64(budget*chunk)))
					undisturbed := 300 + 2*budget/chunk // chunks before the first request and the first pressure
					for i := range 2 * undisturbed {
						add(caches, chunk)
						for _, c := range caches {
							if longest = max(longest, c.Len()); c.Len() > capacity {
								t.Fatalf("chunk %d: heads of %v slots, want %d at most", i, c.lengths, capacity)
							}
						}
						g.available = 1
						if i > undisturbed && i%50 == 49 {
							g.available = 0
						}
						now.Time = now.Add(time.Second)
						if result, err := m.MaybeEvict(caches); err != nil || result.Slots > chunk+capacity {
							t.Fatal(result, err)
						}
						if i > undisturbed && i%97 == 96 {
							target := 1 + random.IntN(budget)
							used, heads := totals(caches)
							result, err := m.Evict(caches, target)
							if err != nil {
								t.Fatal(err)
							}
							left, _ := totals(caches)
							if left != min(used, target*heads) || result.Bytes != int64(used-left) || (result.Slots > 0) != (left < used) {
								t.Fatalf("to %d: %d slots of %d in %d heads stay: %+v", target, left, used, heads, result)
							}
						}
						if used, heads := totals(caches); used >= heads*(budget+slack(budget)) {
							t.Fatalf("chunk %d: %d slots in %d heads", i, used, heads)
						}
					}
					if kvHeads > 1 && longest < budget*3/2 {
						t.Errorf("no head had more than %d slots: the test does not show what it should", longest)
					}
				})
			}
		}
	}
}
