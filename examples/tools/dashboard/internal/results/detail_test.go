package results

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

func TestThinKeepsExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n, limit, columns := r.IntN(3000), r.IntN(400), 1+r.IntN(3)
		rows := make([][]float64, n)
		for i := range rows {
			for range columns {
				rows[i] = append(rows[i], float64(r.IntN(1000)))
			}
		}
		kept := thin(n, limit, func(i int) []float64 { return rows[i] })
		if most := max(limit, 2+2*columns); len(kept) > most {
			t.Fatalf("%d of %d points are kept, at most %d were wanted", len(kept), n, most)
		}
		if n <= limit && len(kept) != n {
			t.Fatalf("%d of %d points are kept where all might be", len(kept), n)
		}
		if n == 0 {
			continue
		}
		if !slices.IsSorted(kept) || len(slices.Compact(slices.Clone(kept))) != len(kept) || kept[0] != 0 || kept[len(kept)-1] != n-1 {
			t.Fatalf("kept are %v of %d", kept, n)
		}
		for column := range columns {
			by := func(a, b []float64) int { return int(a[column] - b[column]) }
			var part [][]float64
			for _, i := range kept {
				part = append(part, rows[i])
			}
			if least := slices.MinFunc(rows, by); slices.MinFunc(part, by)[column] != least[column] {
				t.Fatal("the least is lost")
			}
			if largest := slices.MaxFunc(rows, by); slices.MaxFunc(part, by)[column] != largest[column] {
				t.Fatal("the largest is lost")
			}
		}
	}
}

func TestDetailIsBounded(t *testing.T) {
	r := &runs.Run{Config: runs.Config{Model: "m"}}
	for i := range 20000 {
		r.Tokens = append(r.Tokens, float64(i))
		r.Memory = append(r.Memory, runs.Memory{At: float64(i), Resident: int64(i % 777), Cache: int64(i % 55)})
		r.Evictions = append(r.Evictions, runs.Eviction{At: float64(i), Took: float64(i % 99)})
		r.Conditions = append(r.Conditions, runs.Condition{At: float64(i)})
	}
	r.Tokens[15000] += 0.9 // the gap that must be seen
	p := runs.Profile{Part: "answer", Seconds: 500}
	for i := range 500 {
		p.Operations = append(p.Operations, runs.Operation{Name: fmt.Sprint(i), Calls: 1, Seconds: 1})
	}
	r.Profiles = []runs.Profile{p}
	d := detailOf("k", r, 500)
	if d.Gaps.Of != 19999 || len(d.Gaps.Points) > 500 || d.Evicted != 20000 || len(d.Evictions) > 250 || len(d.Memory.Points) > 500 {
		t.Errorf("%d of %d gaps, %d of %d evictions, %d of memory", len(d.Gaps.Points), d.Gaps.Of, len(d.Evictions), d.Evicted, len(d.Memory.Points))
	}
	if !slices.ContainsFunc(d.Gaps.Points, func(p []number) bool { return p[1] > 1899 }) {
		t.Error("the longest gap is lost")
	}
	calls, seconds := 0, 0.0
	for _, o := range d.Profiles[0].Operations {
		calls, seconds = calls+o.Calls, seconds+o.Seconds
	}
	if len(d.Profiles[0].Operations) != mostOperations || calls != 500 || seconds != 500 {
		t.Errorf("%d operations with %d calls of %v s", len(d.Profiles[0].Operations), calls, seconds)
	}
	if len(p.Operations) != 500 || p.Operations[0].Name != "0" {
		t.Error("the run itself was changed")
	}
}
