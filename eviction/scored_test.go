package eviction_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// fixed is a scorer with given scores.
type fixed struct {
	scores [][]float32
	recent int
	err    error
}

func (fixed) Name() string               { return "fixed" }
func (fixed) Tracking() kvcache.Tracking { return kvcache.Tracking{} }
func (f fixed) Recent(int) int           { return f.recent }

func (f fixed) Score(eviction.View) ([][]float32, error) {
	var scores [][]float32
	for _, row := range f.scores {
		scores = append(scores, slices.Clone(row))
	}
	return scores, f.err
}

func TestScored(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name           string
		scores         [][]float32
		prefix, recent int
		target         int
		want           [2][]int
	}{
		{"the highest", [][]float32{{5, 1, 4, 2, 3, 0}}, 0, 1, 4, [2][]int{{0, 2, 4, 5}, {0, 2, 4, 5}}},
		{"heads differ", [][]float32{{5, 1, 4, 2, 3, 0}, {0, 1, 2, 3, 4, 5}}, 0, 1, 3, [2][]int{{0, 2, 5}, {3, 4, 5}}},
		{"of equals the later", [][]float32{{1, 1, 1, 1, 1, 1}}, 0, 1, 3, [2][]int{{3, 4, 5}, {3, 4, 5}}},
		{"some equal", [][]float32{{2, 1, 1, 1, 2, 0}}, 0, 1, 4, [2][]int{{0, 3, 4, 5}, {0, 3, 4, 5}}},
		{"negative", [][]float32{{-1, -2, -3, -2, -1, -9}}, 0, 1, 3, [2][]int{{0, 4, 5}, {0, 4, 5}}},
		{"a prefix", [][]float32{{0, 0, 9, 8, 7, 6}}, 2, 1, 4, [2][]int{{0, 1, 2, 5}, {0, 1, 2, 5}}},
		{"a window", [][]float32{{9, 8, 7, 0, 0, 0}}, 0, 3, 4, [2][]int{{0, 3, 4, 5}, {0, 3, 4, 5}}},
		{"nothing but pins", [][]float32{{0, 0, 9, 9, 0, 0}}, 2, 2, 4, [2][]int{{0, 1, 4, 5}, {0, 1, 4, 5}}},
		{"the window goes before the prefix", [][]float32{{9, 9, 9, 9, 0, 0}}, 2, 2, 3, [2][]int{{0, 4, 5}, {0, 4, 5}}},
		{"the latest window", [][]float32{{9, 9, 9, 9, 0, 0}}, 2, 4, 2, [2][]int{{4, 5}, {4, 5}}},
		{"one", [][]float32{{9, 9, 9, 9, 9, 0}}, 3, 2, 1, [2][]int{{5}, {5}}},
		{"no window at all", [][]float32{{9, 8, 0, 0, 0, 0}}, 0, 0, 2, [2][]int{{0, 5}, {0, 5}}},
		{"NaN goes first", [][]float32{{nan, -inf, nan, 1, nan, 0}}, 0, 1, 3, [2][]int{{1, 3, 5}, {1, 3, 5}}},
		{"pinned NaN stay", [][]float32{{nan, 3, 2, 1, nan, nan}}, 1, 2, 4, [2][]int{{0, 1, 4, 5}, {0, 1, 4, 5}}},
		{"infinity undoes no pin", [][]float32{{0, inf, inf, inf, inf, inf}}, 1, 1, 3, [2][]int{{0, 4, 5}, {0, 4, 5}}},
		{"as long as it is", [][]float32{{nan}}, 0, 1, 6, [2][]int{{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}}},
		{"longer", nil, 0, 1, 1000, [2][]int{{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := eviction.NewScored(fixed{scores: c.scores, recent: c.recent}, eviction.Options{Budget: 6, ProtectedPrefix: c.prefix})
			if err != nil {
				t.Fatal(err)
			}
			a := newAccount(t, p, tensor.F16, 10)
			a.add(6)
			a.evict(p, c.target)
			a.slots = c.want
			a.compare()
		})
	}
}

func TestScoredRefuses(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		scorer fixed
		target int
		want   string
	}{
		{"no slots", fixed{}, 0, "at least the latest"},
		{"a negative number of slots", fixed{}, -1, "at least the latest"},
		{"no rows", fixed{}, 3, "0 heads of 2"},
		{"no slots in a row", fixed{scores: make([][]float32, 2)}, 3, "0 slots of 6"},
		{"three rows", fixed{scores: [][]float32{make([]float32, 6), make([]float32, 6), make([]float32, 6)}}, 3, "3 heads of 2"},
		{"short rows", fixed{scores: [][]float32{{1, 2}, {1, 2}}}, 3, "2 slots of 6"},
		{"long rows", fixed{scores: [][]float32{make([]float32, 7)}}, 3, "7 slots of 6"},
		{"an error", fixed{err: broken}, 3, "broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := eviction.NewScored(c.scorer, eviction.Options{Budget: 6})
			if err != nil {
				t.Fatal(err)
			}
			a := newAccount(t, p, tensor.F32, 10)
			a.add(6)
			keep, err := p.Evict(a.cache, c.target)
			if err == nil || keep != nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "fixed") || errors.Is(err, broken) != (c.scorer.err != nil) {
				t.Errorf("%v, %v, want an error that says %q", keep, err, c.want)
			}
		})
	}
}
