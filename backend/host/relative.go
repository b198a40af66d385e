package host

import (
	"slices"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/quant"
)

// relativeScratch is the memory of a worker that adds to scores what depends on distances.
type relativeScratch struct {
	bias    []float32         // [rows, TileKeys]
	page    []byte            // rows of a table, as keys of a page
	tile    asm.AttentionTile // of rows with them
	queries quant.Activation
	x       []float32 // the rows
	scores  []float32 // [rows, TileKeys]
	made    []float32 // [rows, buckets]
	of      []int     // the buckets of the distances between rows and slots
}

// bias returns the numbers to add to the scores of a piece's rows, which begin at row first of a text, with the slots of a tile: [rows, TileKeys].
//
// The products with a table are made for the buckets between those of the nearest distance and of the farthest. For example, rows 128 to 255 with the
// slots 0 to 127 are 1 to 255 apart, which are few buckets if these grow with the distance.
func (t *texts) bias(worker int, l *lane, s *attended, head, tile, first int) []float32 {
	r, c := t.relative, &t.scratch[worker]
	rows, slots := len(l.tile.Visible), min(s.tokens-tile*asm.TileKeys, asm.TileKeys)
	c.bias = room(c.bias, rows*asm.TileKeys)
	nearest, farthest := first-tile*asm.TileKeys-(slots-1), first+rows-1-tile*asm.TileKeys
	c.of = room(c.of, farthest-nearest+1)
	for i := range c.of { // the farthest first, so that the slots of each row have theirs in their order
		c.of[i] = r.Of(farthest - i)
	}
	low, high := slices.Min(c.of), slices.Max(c.of)
	for i := range rows {
		row, of := c.bias[i*asm.TileKeys:][:slots], c.of[rows-1-i:][:slots]
		if r.Bias == nil {
			clear(row)
			continue
		}
		by := r.Bias[head*r.Buckets:]
		for j, b := range of {
			row[j] = by[b]
		}
	}
	buckets := high - low + 1
	table := func(x []float32) []float32 { return x[(head*r.Buckets+low)*t.HeadDim:][:buckets*t.HeadDim] }
	if r.Keys != nil {
		made := t.products(c, l.scaled, rows, false, table(r.Keys))
		for i := range rows {
			row, by := c.bias[i*asm.TileKeys:][:slots], made[i*buckets:][:buckets]
			for j, b := range c.of[rows-1-i:][:slots] {
				row[j] += by[b-low]
			}
		}
	}
	if r.Queries != nil {
		c.x = room(c.x, slots*t.HeadDim)
		for j := range slots {
			at := ((s.row+tile*asm.TileKeys+j)*t.KVHeads + head) * t.HeadDim
			copy(c.x[j*t.HeadDim:][:t.HeadDim], t.k[at:])
		}
		made := t.products(c, c.x, slots, true, table(r.Queries))
		for i := range rows {
			row := c.bias[i*asm.TileKeys:][:slots]
			for j, b := range c.of[rows-1-i:][:slots] {
				row[j] += made[j*buckets+b-low]
			}
		}
	}
	return c.bias
}

// products returns the products of rows x with those of a table, [rows, rows of the table]. The rows may have to be divided by √headDim yet.
func (t *texts) products(c *relativeScratch, x []float32, rows int, scale bool, table []float32) []float32 {
	d := t.HeadDim
	if scale {
		t.kernels.Scale(x[:rows*d], asm.QueryScale(d))
	}
	format := quant.F32
	c.queries.Reserve(format.ActivationForm(), rows, d)
	c.queries.X = x
	for r := range rows {
		t.kernels.Prepare(&c.queries, r, x[r*d:][:d])
	}
	buckets := len(table) / d
	c.scores, c.made, c.page = room(c.scores, rows*asm.TileKeys), room(c.made, rows*buckets), room(c.page, asm.TileKeys*4*d)
	c.tile.Format, c.tile.HeadDim, c.tile.Queries, c.tile.Scores, c.tile.Keys = format, d, &c.queries, c.scores, c.page
	c.tile.Visible = room(c.tile.Visible, rows)
	for from := 0; from < buckets; from += asm.TileKeys {
		n := min(buckets-from, asm.TileKeys)
		t.layout.Store(asm.PageKeys, format, d, c.page, 0, bytesOf(table[from*d:][:n*d]))
		for r := range rows {
			c.tile.Visible[r] = n
		}
		t.layout.Score(&c.tile)
		for r := range rows {
			copy(c.made[r*buckets+from:][:n], c.scores[r*asm.TileKeys:])
		}
	}
	c.tile.Release()
	return c.made
}

// room returns a slice of n elements, the one given if it is long enough. They hold leftovers of earlier use.
func room[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}
