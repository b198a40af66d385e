package eviction_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

func TestByName(t *testing.T) {
	for _, c := range []struct {
		name   string
		record kvcache.Tracking
	}{
		{"none", kvcache.Tracking{}},
		{"sliding", kvcache.Tracking{}},
		{"snapkv", kvcache.Tracking{Queries: 32}},
		{"pyramidkv", kvcache.Tracking{Queries: 32}},
		{"ada", kvcache.Tracking{Queries: 32}},
		{"h2o", kvcache.Tracking{Attention: true}},
		{"tova", kvcache.Tracking{Queries: 1}},
		{"keydiff", kvcache.Tracking{}},
		{"expected", kvcache.Tracking{Queries: 64}},
		{"kvzip", kvcache.Tracking{Queries: 16}},
		{"random", kvcache.Tracking{}},
	} {
		for _, name := range []string{c.name, strings.ToUpper(c.name)} {
			p, err := eviction.ByName(name, eviction.Options{Budget: 128})
			if err != nil {
				t.Fatal(err)
			}
			budget := 128
			if c.name == "none" {
				budget = 0
			}
			if p.Name() != c.name || p.Budget() != budget {
				t.Errorf("%s: %s with a budget of %d, want %d", name, p.Name(), p.Budget(), budget)
			}
			m, err := eviction.NewManager[*kvcache.Cache](p, eviction.ManagerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := m.Tracking(); got != c.record {
				t.Errorf("%s records %+v, want %+v", name, got, c.record)
			}
		}
		if !slices.Contains(eviction.Names(), c.name) {
			t.Errorf("%s is not among %v", c.name, eviction.Names())
		}
	}
	if n := len(eviction.Names()); n != 11 {
		t.Errorf("%d names, want 11", n)
	}
}

// TestOptions checks that errors say what would be right.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name    string
		options eviction.Options
		want    string // "": no error
	}{
		{"", eviction.Options{Budget: 128}, "none, sliding, snapkv, pyramidkv, ada, h2o, tova, keydiff, expected, kvzip, random"},
		{"snap", eviction.Options{Budget: 128}, "none, sliding"},
		{"none", eviction.Options{Budget: -1}, ""},
		{"sliding", eviction.Options{}, "at least 8"},
		{"sliding", eviction.Options{Budget: 7}, "at least 8"},
		{"sliding", eviction.Options{Budget: math.MinInt}, "at least 8"},
		{"sliding", eviction.Options{Budget: math.MaxInt}, "1 to 8388608"},
		{"sliding", eviction.Options{Budget: 0, ProtectedPrefix: -1}, "at least 1"},
		{"sliding", eviction.Options{Budget: 8}, ""},
		{"sliding", eviction.Options{Budget: 1, ProtectedPrefix: -1}, ""},
		{"snapkv", eviction.Options{}, "1 to 16777216"},
		{"snapkv", eviction.Options{Budget: 1}, ""},
		{"snapkv", eviction.Options{Budget: 16, Observation: 17}, "at least 17"},
		{"snapkv", eviction.Options{Budget: 16, Observation: 16}, ""},
		{"snapkv", eviction.Options{Budget: 16, Observation: -1}, "must be positive"},
		{"snapkv", eviction.Options{Budget: 16, Observation: 12, ProtectedPrefix: 5}, "at least 17"},
		{"pyramidkv", eviction.Options{Budget: 0}, "1 to 16777216"},
		{"pyramidkv", eviction.Options{Budget: 16, Observation: 17}, "at least 17"},
		{"ada", eviction.Options{Budget: 0}, "1 to 16777216"},
		{"ada", eviction.Options{Budget: 16, Observation: -1}, "must be positive"},
		{"ada", eviction.Options{Budget: 16, Observation: 17}, "at least 17"},
		{"h2o", eviction.Options{Budget: -5}, "1 to 16777216"},
		{"h2o", eviction.Options{Budget: math.MaxInt}, "1 to 16777216"},
		{"tova", eviction.Options{Budget: 10, ProtectedPrefix: math.MaxInt}, "budget of 10"},
		{"h2o", eviction.Options{Budget: 10, ProtectedPrefix: 6}, "at least 11"},
		{"tova", eviction.Options{Budget: 10, ProtectedPrefix: 10}, "at least 11"},
		{"keydiff", eviction.Options{}, "1 to 16777216"},
		{"expected", eviction.Options{}, "1 to 16777216"},
		{"expected", eviction.Options{Budget: 1}, ""},
		{"expected", eviction.Options{Budget: 16, Observation: -2}, "must be positive"},
		{"random", eviction.Options{}, "1 to 16777216"},
	} {
		p, err := eviction.ByName(c.name, c.options)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s, %+v: %v", c.name, c.options, err)
		case c.want != "" && (p != nil || !errors.Is(err, eviction.ErrOptions) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.name)):
			t.Errorf("%s, %+v: %v, %v; want an error that says %q", c.name, c.options, p, err, c.want)
		}
	}
}

// TestPins lets every policy shrink caches of every type to every length. The caches must have that length, and the first and the latest
// slots must stay.
func TestPins(t *testing.T) {
	const prefix = 3
	for _, name := range eviction.Names()[1:] {
		for _, d := range []tensor.DType{tensor.F32, tensor.F16} {
			t.Run(fmt.Sprintf("%s/%v", name, d), func(t *testing.T) {
				p, err := eviction.ByName(name, eviction.Options{Budget: 16, ProtectedPrefix: prefix, Observation: 6})
				if err != nil {
					t.Fatal(err)
				}
				_, shares := p.(eviction.Headed) // then the mean of the heads' lengths is the target
				for _, target := range []int{1, 2, 3, 4, 5, 6, 7, 9, 10, 15, 25, 39, 40, 41, 1000} {
					latest := 1
					if s, ok := p.(eviction.Scorer); ok {
						latest = min(s.Recent(target), target)
					}
					a := newAccount(t, p, d, 42)
					a.add(30)
					a.add(10)
					if !p.ShouldEvict(a.cache, eviction.Unknown) {
						t.Error("40 slots are not too many for a budget of 16")
					}
					for range 2 {
						a.evict(p, target)
						if got, want := headLengths(a), min(target, 40); got[0]+got[1] != kvHeads*want || !shares && got[0] != got[1] {
							t.Fatalf("%v slots stayed, want %d", got, want)
						}
						if a.cache.Seen() != 40 {
							t.Fatalf("the position became %d", a.cache.Seen())
						}
					}
					for h := range kvHeads {
						got := a.cache.Positions(h)
						for i := range min(prefix, target-latest) {
							if got[i] != int32(i) {
								t.Errorf("to %d: head %d begins with %v", target, h, got)
							}
						}
						for i := range min(latest, len(got)) {
							if got[len(got)-1-i] != int32(39-i) {
								t.Errorf("to %d: head %d ends with %v", target, h, got)
							}
						}
						if !slices.IsSorted(got) {
							t.Errorf("to %d: head %d holds %v", target, h, got)
						}
					}
				}
				for _, target := range []int{0, -1} {
					a := newAccount(t, p, d, 42)
					a.add(5)
					if keep, err := p.Evict(a.cache, target); err == nil {
						t.Errorf("shrunk to %d: %v stay", target, keep)
					}
				}
			})
		}
	}
}

// headLengths returns the numbers of slots of the KV heads.
func headLengths(a *account) (n [kvHeads]int) {
	for h := range n {
		n[h] = a.cache.HeadLen(h)
	}
	return n
}

// TestWithoutQueries asks policies that choose by queries to evict without recorded queries.
func TestWithoutQueries(t *testing.T) {
	for _, name := range []string{"snapkv", "pyramidkv", "ada", "tova", "expected", "h2o"} {
		p, err := eviction.ByName(name, eviction.Options{Budget: 4, Observation: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, track := range []bool{false, true} {
			var record eviction.Policy
			if track {
				record = p
			}
			a := newAccount(t, record, tensor.F32, 10)
			x := a.tensor(make([]float32, 10*kvHeads*headDim), 10, kvHeads)
			if err := a.cache.Update(x, x); err != nil {
				t.Fatal(err)
			}
			if track && name == "h2o" {
				continue // no attention was received by any: a choice by age
			}
			if keep, err := p.Evict(a.cache, 5); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, tracking %v: %v stay, %v", name, track, keep, err)
			}
		}
	}
}
