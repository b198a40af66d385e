package storage

import "github.com/antigravity-go/antigravity/internal/model"

// Order is an order of rows, or of columns, in files. Orders are comparable.
type Order interface {
	Stored(row int) int // the file's row for a row as it is wanted
	Wanted(row int) int // the inverse
}

// Paired is GGUF's order of the rows of queries and keys, in heads of HeadDim elements. RoPE rotates pairs of them. For Hugging Face, and for
// computing, a pair is an element of the head's first half and the one in the same place of its second half; in this order it is two neighbours. The
// elements of a bias move as rows do.
type Paired struct{ HeadDim int }

// Stored returns 0 2 4 6 1 3 5 7 for a head of 8 elements.
func (p Paired) Stored(row int) int {
	in, half := row%p.HeadDim, p.HeadDim/2
	return row - in + in%half*2 + in/half
}

// Wanted is the inverse of Stored.
func (p Paired) Wanted(row int) int {
	in := row % p.HeadDim
	return row - in + in%2*(p.HeadDim/2) + in/2
}

// Partial is the order of heads of HeadDim elements, if RoPE rotates only the first Rotated ones: these lie in front, as a head of Rotated elements, in
// both formats. For computing a pair is an element of the head's first half and the one in the same place of its second half, whether RoPE rotates it or
// not. Of 8 elements, 4 of them rotated in the pairs (0, 2) and (1, 3), the wanted order is 0 1 4 5 2 3 6 7. With Neighbours the elements of a rotated pair
// stand side by side in the files, (0, 1) and (2, 3), and the wanted order is 0 2 4 5 1 3 6 7.
type Partial struct {
	HeadDim, Rotated int
	Neighbours       bool
}

// Stored returns the files' row of queries or keys.
func (p Partial) Stored(row int) int {
	in, half, pairs := row%p.HeadDim, p.HeadDim/2, p.Rotated/2
	at, second := in%half, in/half // which pair, and which element of it
	switch {
	case at < pairs && p.Neighbours:
		return row - in + at*2 + second
	case at < pairs:
		return row - in + second*pairs + at
	}
	return row - in + p.Rotated + second*(half-pairs) + at - pairs
}

// Wanted is the inverse of Stored.
func (p Partial) Wanted(row int) int {
	in, half, pairs := row%p.HeadDim, p.HeadDim/2, p.Rotated/2
	switch {
	case in < p.Rotated && p.Neighbours:
		return row - in + in%2*half + in/2
	case in < p.Rotated:
		return row - in + in/pairs*half + in%pairs
	}
	rest := in - p.Rotated
	return row - in + rest/(half-pairs)*half + pairs + rest%(half-pairs)
}

// Quarters is the order of heads of HeadDim elements of a tower that turns the first half of a head by the column and the second half by the row: each half
// is a head of its own. For computing, pairs of the first half and then those of the second half are the pairs of the whole head. Of 8 elements, in the
// pairs (0, 2), (1, 3), (4, 6) and (5, 7), the wanted order is 0 1 4 5 2 3 6 7.
type Quarters struct{ HeadDim int }

// Stored returns the files' row of queries or keys.
func (q Quarters) Stored(row int) int {
	in, quarter := row%q.HeadDim, q.HeadDim/4
	switch in / quarter {
	case 1:
		return row + quarter
	case 2:
		return row - quarter
	}
	return row
}

// Wanted is the inverse of Stored, and the same.
func (q Quarters) Wanted(row int) int { return q.Stored(row) }

// Alternating is the order of two tables of Rows rows that take turns in a file: 0 3 1 4 2 5 of two tables of 3.
type Alternating struct{ Rows int }

// Stored returns the file's row.
func (a Alternating) Stored(row int) int { return row%a.Rows*2 + row/a.Rows }

// Wanted is the inverse of Stored.
func (a Alternating) Wanted(row int) int { return row%2*a.Rows + row/2 }

// Tiled is GGUF's order of value heads in models in which several share a head of queries and keys: see model.Tiling.
type Tiled struct{ model.Tiling }

// Stored returns GGUF's row.
func (t Tiled) Stored(row int) int { return t.Tiling.Tiled(row) }

// Wanted is the inverse of Stored.
func (t Tiled) Wanted(row int) int { return t.Grouped(row) }
