package eviction_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/tensor"
)

// keepAda forgets one slot after the other until the mean of the heads is n: each time, of the slots of all heads that have more
// than floor left, the slot with the lowest score, of equal scores the first, the earlier head first. The first slots and the latest
// slots stay, in the given numbers.
func (a *account) keepAda(scores [][]float64, n, first, latest, floor int) {
	rows, left := make([][]float64, kvHeads), 0
	for h := range rows {
		rows[h] = slices.Clone(scores[h])
		left += len(rows[h])
	}
	for ; left > n*kvHeads; left-- {
		worst, from := -1, -1
		for h, row := range rows {
			if len(row) <= floor {
				continue
			}
			for i := first; i < len(row)-latest; i++ {
				if worst < 0 || row[i] < rows[from][worst] {
					worst, from = i, h
				}
			}
		}
		rows[from], a.slots[from] = slices.Delete(rows[from], worst, worst+1), slices.Delete(a.slots[from], worst, worst+1)
	}
}

// TestAda lets a cache grow and shrink as TestDefinitions does. Its heads soon have different numbers of slots, and go on from these.
func TestAda(t *testing.T) {
	for _, c := range []struct {
		options       eviction.Options
		prefix, share int // tokens pinned at the beginning, and queries that choose
	}{
		{eviction.Options{Budget: 20, Observation: 4}, 0, 4},
		{eviction.Options{Budget: 20, Observation: 1, ProtectedPrefix: 2}, 2, 1},
		{eviction.Options{Budget: 20}, 0, 10},
	} {
		t.Run(fmt.Sprintf("%+v", c.options), func(t *testing.T) {
			p, err := eviction.NewAda(nil, c.options)
			if err != nil {
				t.Fatal(err)
			}
			a := newAccount(t, p, tensor.F32, 160)
			uneven := 0
			for _, round := range []struct{ tokens, target int }{{60, 30}, {7, 30}, {20, 15}, {1, 15}, {60, 40}, {40, 60}, {3, 60}, {1, 11}, {1, 11}, {30, 13}} {
				a.add(round.tokens)
				scores := observed(c.share)(a)
				got := a.chosen(p, round.target)
				floor := c.prefix + c.share + (round.target-c.prefix-c.share)/5
				a.keepAda(scores, round.target, c.prefix, c.share, floor)
				if !slices.EqualFunc(got[:], a.slots[:], slices.Equal) {
					t.Fatalf("%d tokens, to %d slots: the tokens %v stay, want %v", len(a.tokens), round.target, got, a.slots)
				}
				a.evict(p, round.target)
				a.compare()
				if len(got[0]) != len(got[1]) {
					uneven++
				}
			}
			if uneven < 5 {
				t.Errorf("the heads had different shares %d times of 10", uneven)
			}
		})
	}
}

// TestAdaShares holds an Ada over given scores to what it should keep.
func TestAdaShares(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name           string
		scores         [][]float32
		prefix, recent int
		target         int
		want           [2][]int
	}{
		{"one head has it all", [][]float32{{9, 9, 9, 9, 9, 0}, {1, 2, 3, 4, 5, 0}}, 0, 1, 3, [2][]int{{1, 2, 3, 4, 5}, {5}}},
		{"but not what is pinned", [][]float32{{9, 9, 9, 9, 9, 0}, {1, 2, 3, 4, 5, 0}}, 1, 1, 3, [2][]int{{0, 3, 4, 5}, {0, 5}}},
		{"nor the floor", [][]float32{slices.Repeat([]float32{9}, 60), append([]float32{2, 2, 2, 2}, slices.Repeat([]float32{1}, 26)...)}, 0, 1, 21,
			[2][]int{every(60)[23:], {0, 1, 2, 3, 29}}}, // a fifth of 20, and the latest
		{"of equals the later head", [][]float32{{1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}}, 0, 1, 3, [2][]int{{5}, {1, 2, 3, 4, 5}}},
		{"NaN goes first", [][]float32{{nan, nan, nan, nan, nan, nan}, {0, -inf, 0, 0, 0, 0}}, 0, 1, 4, [2][]int{{4, 5}, {0, 1, 2, 3, 4, 5}}},
		{"infinity undoes no floor", [][]float32{{inf, inf, inf, inf, inf, inf, inf, inf}, {1, 2, 1, 1, 1, 1, 1, 1}}, 0, 1, 6, [2][]int{{0, 1, 2, 3, 4, 5, 6, 7}, {1, 5, 6, 7}}},
		{"heads of different lengths", [][]float32{{5, 4, 3, 0}, {9, 1, 8, 2, 7, 3, 0}}, 0, 1, 4, [2][]int{{0, 1, 3}, {0, 2, 4, 5, 6}}},
		{"one slot in all", [][]float32{{5, 4, 3, 0}, {9, 8, 0}}, 0, 1, 3, [2][]int{{0, 1, 3}, {0, 1, 2}}},
		{"nothing but pins", [][]float32{{9, 9, 9, 9, 9, 9}, {1, 1, 1, 1, 1, 1}}, 1, 2, 3, [2][]int{{0, 4, 5}, {0, 4, 5}}},
		{"as long as it is", [][]float32{{9, 9, 9}, {9, 9, 9, 9, 9}}, 0, 1, 4, [2][]int{{0, 1, 2}, {0, 1, 2, 3, 4}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := eviction.NewAda(fixed{scores: c.scores, recent: c.recent}, eviction.Options{Budget: 6, ProtectedPrefix: c.prefix})
			if err != nil {
				t.Fatal(err)
			}
			a := newPlainAccount(t)
			a.add(10)
			for h, row := range c.scores {
				a.slots[h] = every(len(row))
			}
			got := a.chosen(p, c.target)
			if !slices.EqualFunc(got[:], c.want[:], slices.Equal) {
				t.Errorf("%v stay, want %v", got, c.want)
			}
		})
	}
}

// every lists 0 … n-1.
func every(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

func TestAdaRefuses(t *testing.T) {
	a := newPlainAccount(t)
	a.add(10)
	p, err := eviction.NewAda(fixed{scores: [][]float32{make([]float32, 10)}, recent: 1}, eviction.Options{Budget: 6})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[int]string{5: "a row for each", 0: "at least the latest"} {
		if keep, err := p.Evict(plainView{a}, target); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("to %d: %v, %v; want an error that says %q", target, keep, err, want)
		}
	}
	if keep, err := p.Evict(plainView{a}, 10); keep != nil || err != nil {
		t.Errorf("10 slots of 10: %v, %v", keep, err)
	}
}
