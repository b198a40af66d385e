package host

import "testing"

// TestCutsOfExperts lists pieces for many numbers of workers, pairs and rows: each row of each group is in one piece, pieces begin where
// kernels do, and no piece is much more than a worker's share of the rest.
func TestCutsOfExperts(t *testing.T) {
	for _, rows := range []int{1, 16, 63, 64, 100, 768, 2048} {
		for _, pairs := range [][]int{{1}, {1, 1, 1, 1, 1, 1, 1, 1}, {9, 3, 2, 2, 1, 1, 1}, {512, 1}} {
			for _, workers := range []int{1, 2, 16, 100} {
				p := expertPass{terms: make([]expertTerm, 2)}
				p.acts.K = 2048
				all := 0 // of the groups' work, as in cut
				for i := range p.terms {
					p.terms[i].n, p.terms[i].rowBytes = rows, 1152
				}
				for i, n := range pairs {
					first := len(p.sorted)
					p.sorted = append(p.sorted, make([]int32, n)...)
					p.groups = append(p.groups, expertGroup{int32(i), int32(first), int32(first + n)})
					all += rows * (n + pairsPerRead)
				}
				p.cut(workers)
				group, next, left := 0, 0, all
				for _, piece := range p.pieces {
					if next == rows {
						group, next = group+1, 0
					}
					lo, hi := int(piece.lo), int(piece.hi)
					if int(piece.group) != group || lo != next || hi <= lo || hi > rows || lo%rowsPerCut != 0 {
						t.Fatalf("%d rows, pairs %v, %d workers: piece %+v after row %d of group %d", rows, pairs, workers, piece, next, group)
					}
					cost := pairs[group] + pairsPerRead
					if hi-lo > left/(workers*cost)+rowsPerCut {
						t.Errorf("%d rows, pairs %v, %d workers: piece %+v, and a worker's share of the rest is %d rows",
							rows, pairs, workers, piece, left/(workers*cost))
					}
					left -= (hi - lo) * cost
					next = hi
				}
				if group != len(pairs)-1 || next != rows {
					t.Errorf("%d rows, pairs %v, %d workers: the pieces end with row %d of group %d", rows, pairs, workers, next, group)
				}
			}
		}
	}
}
