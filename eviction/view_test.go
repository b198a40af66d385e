package eviction_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/kvcache"
)

// plainView is an account seen as policies see a cache: its answers come from the account's slices alone, so that no part of
// kvcache.Cache has a say in it.
type plainView struct{ *account }

var (
	_ eviction.View  = plainView{}
	_ eviction.Cache = (*kvcache.Cache)(nil)
)

func (p plainView) Len() (n int) {
	for h := range p.slots {
		n = max(n, len(p.slots[h]))
	}
	return n
}

func (p plainView) HeadLen(head int) int       { return len(p.slots[head]) }
func (p plainView) Seen() int                  { return len(p.tokens) }
func (p plainView) KVHeads() int               { return kvHeads }
func (p plainView) HeadDim() int               { return headDim }
func (p plainView) Rotation() kvcache.Rotation { return angles }
func (p plainView) Backend() backend.Backend   { return p.backend }

func (p plainView) Positions(head int) (list []int32) {
	for _, position := range p.slots[head] {
		list = append(list, int32(position))
	}
	return list
}

func (p plainView) EachKey(head int, f func(slot int, key []float32)) error {
	return p.Each(head, func(slot int, key, _ []float32) { f(slot, key) })
}

func (p plainView) Each(head int, f func(slot int, key, value []float32)) error {
	for slot, position := range p.slots[head] {
		t := p.tokens[position]
		f(slot, narrowed(t.k[head]), narrowed(t.v[head]))
	}
	return nil
}

func (p plainView) Received() ([][]float32, error) {
	sums := make([][]float32, kvHeads)
	for h, slots := range p.slots {
		for _, position := range slots {
			sums[h] = append(sums[h], float32(p.tokens[position].received[h]))
		}
	}
	return sums, nil
}

// recent returns how many of the latest queries a window has.
func (p plainView) recent(window int) int { return min(window, len(p.tokens), p.Len()) }

func (p plainView) RecentAttention(window int) ([][]float32, int, error) {
	n, sums := p.recent(window), make([][]float32, kvHeads)
	for h, slots := range p.slots {
		wide := make([]float64, len(slots))
		for position := len(p.tokens) - n; position < len(p.tokens); position++ {
			for head := h * group; head < (h+1)*group; head++ {
				for slot, weight := range p.attention(position, head) {
					wide[slot] += weight
				}
			}
		}
		sums[h] = narrowed(wide)
	}
	return sums, n, nil
}

func (p plainView) RecentQueries(window int) ([][]float32, error) {
	rows := make([][]float32, p.recent(window))
	for i := range rows {
		for _, q := range p.tokens[len(p.tokens)-len(rows)+i].q {
			rows[i] = append(rows[i], narrowed(q)...)
		}
	}
	return rows, nil
}

// narrowed returns x as float32.
func narrowed(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// chosen returns the positions of the tokens that a policy chooses to keep of the account, by a plain view of it.
func (a *account) chosen(p eviction.Policy, targetLen int) (positions [kvHeads][]int) {
	a.Helper()
	keep, err := p.Evict(plainView{a}, targetLen)
	if err != nil {
		a.Fatal(err)
	}
	if keep == nil {
		return a.slots
	}
	for h := range positions {
		for _, slot := range keep[h%len(keep)] {
			positions[h] = append(positions[h], a.slots[h][slot])
		}
	}
	return positions
}

// TestUnevenHeadsNeedRows checks that scores of one row are refused for heads of different lengths: their slots are not the same tokens.
func TestUnevenHeadsNeedRows(t *testing.T) {
	p, err := eviction.NewScored(fixed{scores: [][]float32{make([]float32, 10)}, recent: 1}, eviction.Options{Budget: 6})
	if err != nil {
		t.Fatal(err)
	}
	a := newPlainAccount(t)
	a.add(10)
	a.chosen(p, 5)
	a.slots[1] = a.slots[1][3:]
	if keep, err := p.Evict(plainView{a}, 5); err == nil || !strings.Contains(err.Error(), "a row each") {
		t.Errorf("%v, %v; want an error that asks for a row each", keep, err)
	}
}

// TestUnevenHeads lets every policy that gives all heads the same number of slots shrink a cache with heads of different numbers: a head
// with more slots than the target keeps as many, a shorter one all.
func TestUnevenHeads(t *testing.T) {
	for _, name := range eviction.Names()[1:] {
		p, err := eviction.ByName(name, eviction.Options{Budget: 16, ProtectedPrefix: 2, Observation: 3})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.(eviction.Headed); ok {
			continue
		}
		a := newPlainAccount(t)
		a.add(40)
		a.slots[1] = append(slices.Clone(a.slots[1][:4]), a.slots[1][33:]...) // 11 slots
		for _, target := range []int{100, 40, 39, 20, 11, 9, 4, 1} {
			got := a.chosen(p, target)
			for h, all := range a.slots {
				if n := min(target, len(all)); len(got[h]) != n || got[h][n-1] != 39 {
					t.Errorf("%s, to %d slots: head %d, of %d slots, keeps the tokens %v", name, target, h, len(all), got[h])
				}
			}
		}
	}
}
