package host

import "testing"

// TestPiecesShrink cuts rows in pieces that become smaller: they cover all rows, in order, and but for rounding no piece has more than the one before.
func TestPiecesShrink(t *testing.T) {
	for _, rows := range []int{64, 1000, 128256, 1 << 30} {
		for _, pieces := range []int{1, 2, 7, 128, 2048} {
			if shrinking(rows, 0, pieces) != 0 || shrinking(rows, pieces, pieces) != rows {
				t.Errorf("%d rows in %d pieces: they go from %d to %d", rows, pieces, shrinking(rows, 0, pieces), shrinking(rows, pieces, pieces))
			}
			before := rows
			for i := range pieces {
				n := shrinking(rows, i+1, pieces) - shrinking(rows, i, pieces)
				if n < 0 || n > before+1 {
					t.Errorf("%d rows in %d pieces: piece %d has %d, the one before %d", rows, pieces, i, n, before)
				}
				before = n
			}
		}
	}
}
