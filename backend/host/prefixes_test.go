package host

import (
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestPrefixes groups runs by their pages, which stand here as numbers, of the first head and of the second one.
func TestPrefixes(t *testing.T) {
	slab := new(tensor.Tensor)
	type run struct {
		first, second []int
		tokens        int
		window        int
	}
	alike := func(n int, first, second []int) (runs []run) {
		for i := range n {
			runs = append(runs, run{append(slices.Clone(first), 100+i), append(slices.Clone(second), 200+i), 1, 0})
		}
		return runs
	}
	for name, c := range map[string]struct {
		runs  []run
		want  [][]int32 // runs
		tiles [][]int32
	}{
		"one":                   {alike(1, []int{1, 2}, []int{3, 4}), nil, nil},
		"nothing in common":     {alike(3, nil, nil), nil, nil},
		"the example":           {[]run{{[]int{7, 4, 9, 5}, []int{1, 2}, 1, 0}, {[]int{7, 4, 9, 2, 8}, []int{1, 2}, 1, 0}, {[]int{7, 4, 9, 2}, []int{1, 3}, 1, 0}}, [][]int32{{2, 1, 0}}, [][]int32{{3, 1}}},
		"two that share more":   {append(alike(2, []int{1, 2, 3, 4, 5, 6}, []int{9}), run{[]int{1, 50}, []int{9}, 1, 0}), [][]int32{{0, 1}}, [][]int32{{6, 1}}},
		"heads differ":          {alike(2, []int{1, 2}, nil), [][]int32{{0, 1}}, [][]int32{{2, 0}}},
		"windows and prompts":   {[]run{{[]int{1, 2}, nil, 1, 9}, {[]int{1, 2}, nil, 1, 9}, {[]int{1, 2}, nil, 9, 0}, {[]int{1, 2}, nil, 9, 0}}, nil, nil},
		"drafts":                {[]run{{[]int{1, 2, 7}, nil, 8, 0}, {[]int{1, 2, 8}, nil, 8, 0}, {[]int{1, 2, 9}, nil, 1, 0}}, [][]int32{{0, 1}}, [][]int32{{2, 0}}},
		"more than a block has": {alike(20, []int{1, 2}, []int{3}), [][]int32{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {16, 17, 18, 19}}, [][]int32{{2, 1}, {2, 1}}},
		"too few tiles":         {alike(2, []int{1}, []int{2, 3}), nil, nil},
	} {
		a := attention{AttentionDims: backend.AttentionDims{KVHeads: 2}, group: 1}
		for _, r := range c.runs {
			s := attended{tokens: r.tokens, window: r.window}
			for _, numbers := range [][]int{r.first, r.second} {
				h := backend.HeadSlots{Len: asm.TileKeys*len(numbers) + r.tokens}
				for _, n := range append(slices.Clone(numbers), -len(a.runs)-1) {
					h.Pages = append(h.Pages, backend.Page{Slab: slab, Index: n})
				}
				s.heads = append(s.heads, h)
			}
			a.runs = append(a.runs, s)
		}
		a.prefixes.find(a.runs, a.group)
		var got, tiles [][]int32
		for _, p := range a.prefixes.list {
			got, tiles = append(got, p.runs), append(tiles, a.prefixes.tiles[p.tiles:][:2])
		}
		if !slices.EqualFunc(got, c.want, slices.Equal) || !slices.EqualFunc(tiles, c.tiles, slices.Equal) {
			t.Errorf("%s: the prefixes are of the runs %v, with %v tiles; want %v, %v", name, got, tiles, c.want, c.tiles)
		}
	}
}
