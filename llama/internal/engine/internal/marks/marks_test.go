package marks

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestExcess gives up the snapshots of the example, and then those that are held, pinned or where conversations branch.
func TestExcess(t *testing.T) {
	example := []int{100, 1000, 1100, 3000, 3600, 3990}
	for _, c := range []struct {
		marks Marks
		want  []int
	}{
		{Marks{Most: 6}, nil},
		{Marks{Most: 5}, []int{100}},
		{Marks{Most: 3}, []int{100, 1000, 1100}},
		{Marks{Most: 5, branches: []int{100}}, []int{1000}},
		{Marks{Most: 1, branches: []int{100, 3600}}, []int{1000, 1100, 3990, 3000, 100}},
		{Marks{Most: 1, Pinned: 1000, Held: 3990}, []int{100, 1100, 3000}},
		{Marks{Most: 0}, []int{100, 1000, 1100, 3000, 3600, 3990}},
	} {
		got := c.marks.Excess(example, 4000)
		if len(c.want) != len(got) || c.marks.Most > 0 && !slices.Equal(sorted(got), sorted(c.want)) {
			t.Errorf("%+v: %v are given up, want %v", c.marks, got, c.want)
		}
	}
}

func sorted(list []int) []int { return slices.Sorted(slices.Values(list)) }

// TestSnapshotsOfAGrowingConversation keeps 8 snapshots at the ends of a conversation's messages: from wherever one goes back, the
// tokens that are computed are few times those that must be.
func TestSnapshotsOfAGrowingConversation(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	m := &Marks{Most: 8}
	var kept, ends []int
	for n := 0; n < 5000; {
		n += 10 + random.IntN(90)
		ends = append(ends, n)
		kept = append(kept, n)
		for _, at := range m.Excess(kept, n) {
			kept = slices.DeleteFunc(kept, func(k int) bool { return k == at })
		}
		for _, edited := range ends[:len(ends)-1] {
			from := 0
			for _, at := range kept {
				if at <= edited {
					from = at
				}
			}
			if times := float64(n-from) / float64(n-edited); times > 3 {
				t.Errorf("of %d tokens, changed after %d, those from %d on are computed: %.1f times as many as needed; snapshots %v", n, edited, from, times, kept)
			}
		}
	}
	if len(kept) != 8 {
		t.Errorf("%d snapshots", len(kept))
	}
}

// TestMarksWithin asks for snapshots in a step.
func TestMarksWithin(t *testing.T) {
	m := &Marks{Most: 4, Every: 100}
	m.Want([]int{150, 200, 260, 300}, 320)
	m.Branch(170, 120)
	if got, want := m.Within(nil, 120, 140), []int{150, 170, 200, 260}; !slices.Equal(got, want) && !slices.Equal(got, []int{170, 200, 260}) {
		t.Errorf("marks %v, want %v", got, want)
	}
	m.Passed([]int{200}, 230)
	if len(m.branches) != 0 || slices.ContainsFunc(m.wanted, func(at int) bool { return at <= 230 }) {
		t.Errorf("%+v", m)
	}
	m.Cut(100)
	if len(m.wanted) != 0 {
		t.Errorf("%+v", m)
	}
	none := &Marks{Every: 10}
	none.Want([]int{5}, 9)
	none.Branch(7, 1)
	if got := none.Within(nil, 0, 100); len(got) != 0 || len(none.branches) != 0 {
		t.Errorf("without snapshots: %v, %+v", got, none)
	}
}
