package selection_test

import (
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/internal/selection/selectiontest"
)

func TestWithoutSmallest(t *testing.T) {
	for _, list := range selectiontest.Lists() {
		t.Run(list.Name, func(t *testing.T) {
			order := selectiontest.Smallest(list.Numbers)
			for _, n := range []int{0, 1, 2, 3, 5, 40, 256, 2999, len(list.Numbers)} {
				if n > len(list.Numbers) {
					continue
				}
				want := []int{-1} // the earlier contents stay
				for _, i := range order[n:] {
					want = append(want, int(i))
				}
				slices.Sort(want)
				if got := selection.WithoutSmallest([]int{-1}, list.Numbers, n); !slices.Equal(got, want) {
					t.Errorf("without the %d smallest of %d: %v, want %v", n, len(list.Numbers), got, want)
				}
			}
		})
	}
}
