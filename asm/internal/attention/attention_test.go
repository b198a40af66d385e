package attention_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/asm/internal/asmtest"
	"github.com/antigravity-go/antigravity/asm/internal/attention"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/quant"
)

// tileCase describes a tile.
type tileCase struct {
	format   quant.Format
	headDim  int
	visible  []int // of each row
	elements func(r *rand.Rand, i int) float32
	seed     uint64
	limit    float32 // of scores
	anyBytes bool    // integers and the signs of scales are any, not what Quantize makes of elements
}

// tile returns the tile of a page that is just before a protected page and has slots beyond those that rows see, some of them with garbage.
func (c tileCase) tile(t testing.TB, k *asm.Kernels) *attention.Tile {
	t.Helper()
	r := rand.New(rand.NewPCG(c.seed, 1))
	longest, rows := 0, len(c.visible)
	for _, n := range c.visible {
		longest = max(longest, n)
	}
	size := c.format.Bytes(c.headDim)
	tile := &attention.Tile{
		Format: c.format, HeadDim: c.headDim, Cap: c.limit, Visible: c.visible, Queries: &quant.Activation{}, Results: make([]attention.Partial, rows),
		Out: asmtest.FencedFloats(t, rows*c.headDim), Scores: asmtest.FencedFloats(t, rows*attention.TileKeys),
		Weights: &quant.Activation{}, Wide: asmtest.FencedFloats(t, attention.WideSlots*c.headDim),
	}
	tile.Weights.Reserve(quant.Int8x32, rows, attention.TileKeys)
	vector := func() []float32 {
		x := make([]float32, c.headDim)
		for i := range x {
			x[i] = c.elements(r, i)
		}
		return x
	}
	for side, half := range []*[]byte{&tile.Keys, &tile.Values} {
		*half = asmtest.Fenced(t, attention.TileKeys*size)
		for i := range *half {
			(*half)[i] = 0xff // scales that are no numbers
		}
		rows := make([]byte, longest*size)
		for j := range longest {
			if err := c.format.Quantize(rows[j*size:][:size], vector()); err != nil {
				t.Fatal(err)
			}
		}
		if c.anyBytes {
			c.mix(r, rows)
		}
		k.Pages().Store(attention.Side(side), c.format, c.headDim, *half, 0, rows)
	}
	tile.Queries.Reserve(c.format.ActivationForm(), rows, c.headDim)
	tile.Queries.X = asmtest.FencedFloats(t, rows*c.headDim)
	for row := range rows {
		x := tile.Queries.X[row*c.headDim:][:c.headDim]
		for i, v := range vector() {
			x[i] = v / 8
		}
		k.Prepare(tile.Queries, row, x)
		tile.Results[row].Out = tile.Out[row*c.headDim:][:c.headDim]
	}
	return tile
}

// mix replaces all integers of blocks, which stand behind two bytes, and some signs of scales.
func (c tileCase) mix(r *rand.Rand, rows []byte) {
	for block := range slices.Chunk(rows, c.format.BlockBytes()) {
		block[1] ^= byte(r.IntN(2)) << 7
		for i := range block[2:] {
			block[2+i] = byte(r.Uint32())
		}
	}
}

// check fails unless every tier attends as the portable form does.
func (c tileCase) check(t *testing.T) {
	t.Helper()
	want := c.tile(t, asm.Portable())
	attention.Attend(want)
	for _, k := range asm.Tiers()[1:] {
		got := c.tile(t, k)
		k.Pages().Attend(got)
		for r := range want.Results {
			g, w := &got.Results[r], &want.Results[r]
			row := fmt.Sprintf("%s, row %d: ", k.Tier(), r)
			if g.Max != w.Max && (g.Max == g.Max || w.Max == w.Max) {
				t.Fatalf("%sthe maximum is %v, the portable form has %v", row, g.Max, w.Max)
			}
			asmtest.SameFloats(t, row+"sum", []float32{g.Sum}, []float32{w.Sum})
			asmtest.SameFloats(t, row+"out", g.Out, w.Out)
			asmtest.SameFloats(t, row+"weights", got.Scores[r*attention.TileKeys:][:c.visible[r]], want.Scores[r*attention.TileKeys:][:c.visible[r]])
		}
		biased, plain := c.tile(t, k), c.tile(t, asm.Portable())
		for _, tile := range []*attention.Tile{biased, plain} {
			tile.Bias = asmtest.FencedFloats(t, tile.Queries.Rows*attention.TileKeys)
			for i := range tile.Bias {
				tile.Bias[i] = float32(i%37)/16 - 1
			}
		}
		k.Pages().Attend(biased)
		attention.Attend(plain)
		for r := range plain.Results {
			row := fmt.Sprintf("%s with a bias, row %d: ", k.Tier(), r)
			asmtest.SameFloats(t, row+"sum", []float32{biased.Results[r].Sum}, []float32{plain.Results[r].Sum})
			asmtest.SameFloats(t, row+"weights", biased.Scores[r*attention.TileKeys:][:c.visible[r]], plain.Scores[r*attention.TileKeys:][:c.visible[r]])
		}
		scored, products := c.tile(t, k), c.tile(t, asm.Portable())
		k.Pages().Score(scored)
		attention.Score(products)
		for r := range plain.Results {
			asmtest.SameFloats(t, fmt.Sprintf("%s, row %d: scores", k.Tier(), r), scored.Scores[r*attention.TileKeys:][:c.visible[r]], products.Scores[r*attention.TileKeys:][:c.visible[r]])
		}
		forget(got)
		got.Values = nil
		k.Pages().Attend(got)
		for r := range want.Results {
			row := fmt.Sprintf("%s without values, row %d: ", k.Tier(), r)
			asmtest.SameFloats(t, row+"sum", []float32{got.Results[r].Sum}, []float32{want.Results[r].Sum})
			asmtest.SameFloats(t, row+"weights", got.Scores[r*attention.TileKeys:][:c.visible[r]], want.Scores[r*attention.TileKeys:][:c.visible[r]])
		}
	}
}

// forget clears all that attending leaves in a tile.
func forget(t *attention.Tile) {
	clear(t.Out)
	clear(t.Scores)
	clear(t.Wide)
	clear(t.Weights.Q)
	clear(t.Weights.D)
	clear(t.Weights.Sums)
	for r := range t.Results {
		t.Results[r] = attention.Partial{Out: t.Results[r].Out}
	}
}

// mask returns how many slots rows see, the last of them n, when group rows belong to each token.
func mask(rows, group, n int) (visible []int) {
	tokens := (rows + group - 1) / group
	for r := range rows {
		visible = append(visible, min(max(n-tokens+1+r/group, 0), attention.TileKeys))
	}
	return visible
}

var cacheFormats = []quant.Format{quant.F32, quant.F16, quant.BF16, quant.Q8_0, quant.Q4_0, quant.Q4_1}

func TestAttend(t *testing.T) {
	for _, f := range cacheFormats {
		for j, headDim := range []int{8, 16, 23, 32, 64, 72, 96, 100, 256} {
			if headDim%f.BlockLen() != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", f, headDim), func(t *testing.T) {
				for i, visible := range [][]int{
					{1}, {0}, {7, 7}, {17, 0, 3}, {128, 128, 128, 128}, {31, 32, 33, 34, 35}, {128, 1, 64, 100, 127, 0, 16},
					mask(12, 4, 5), mask(7, 3, 130), mask(9, 1, 65),
				} {
					if !effort.Share(i+j, 4) {
						continue
					}
					t.Run(fmt.Sprint(visible), func(t *testing.T) { // its memory serves again
						tileCase{format: f, headDim: headDim, visible: visible, elements: asmtest.Fills[0].At, seed: uint64(i)}.check(t)
						tileCase{format: f, headDim: headDim, visible: visible, elements: asmtest.Fills[0].At, seed: uint64(i), limit: 0.5}.check(t)
					})
				}
			})
		}
		for i, fill := range asmtest.Fills {
			t.Run(f.String()+"/"+fill.Name, func(t *testing.T) {
				for seed := range uint64(4) {
					if !effort.Share(i+int(seed), 4) {
						continue
					}
					tileCase{format: f, headDim: 64, visible: []int{5, 40, 40, 41, 77}, elements: fill.At, seed: seed, limit: float32(seed) * 30}.check(t)
				}
			})
		}
	}
}

// TestAttendToAnyBytes attends to blocks that Quantize never makes: of −128, and with negative scales.
func TestAttendToAnyBytes(t *testing.T) {
	for _, f := range []quant.Format{quant.Q8_0, quant.Q4_0} {
		for _, visible := range [][]int{{128, 128, 128, 128}, {31, 32, 33, 34, 35}, mask(23, 1, 70), mask(20, 4, 128)} {
			tileCase{format: f, headDim: 64, visible: visible, elements: asmtest.Fills[0].At, seed: 1, anyBytes: true}.check(t)
		}
	}
}

func FuzzAttend(f *testing.F) {
	f.Add(uint8(1), uint8(8), uint8(4), uint8(128), uint8(0), uint64(1))
	f.Add(uint8(0), uint8(3), uint8(7), uint8(9), uint8(1), uint64(2))
	f.Add(uint8(3), uint8(8), uint8(5), uint8(50), uint8(2), uint64(3))
	f.Add(uint8(1), uint8(99), uint8(11), uint8(128), uint8(0), uint64(4))
	f.Fuzz(func(t *testing.T, format, size, rows, seen, fill uint8, seed uint64) {
		c := tileCase{format: cacheFormats[int(format)%len(cacheFormats)], seed: seed, elements: asmtest.Fills[int(fill)%len(asmtest.Fills)].At}
		c.headDim = 1 + int(size)
		if n := c.format.BlockLen(); n > 1 {
			c.headDim = (1 + int(size)%8) * n
		}
		r := rand.New(rand.NewPCG(seed, 2))
		if seed%3 == 0 {
			c.limit = r.Float32() * 60
		}
		for range 1 + rows%12 {
			c.visible = append(c.visible, r.IntN(min(int(seen), attention.TileKeys)+1))
		}
		c.check(t)
	})
}

func TestAttendDoesNotAllocate(t *testing.T) {
	for _, k := range asm.Tiers() {
		for i, f := range cacheFormats {
			headDim := []int{72, 100, 24, 64, 64, 64}[i]
			tile := tileCase{format: f, headDim: headDim, visible: mask(8, 4, 70), elements: asmtest.Fills[0].At, seed: 1}.tile(t, k)
			if n := testing.AllocsPerRun(5, func() { k.Pages().Attend(tile) }); n != 0 {
				t.Errorf("%s: %v allocations for %s, want none", k.Tier(), n, f)
			}
		}
	}
}

func BenchmarkAttend(b *testing.B) {
	const headDim = 64
	for _, f := range cacheFormats {
		for _, rows := range []int{1, 3, 4, 64} {
			for _, k := range asm.Tiers() {
				b.Run(fmt.Sprintf("%s/%dx%d/%s", f, rows, attention.TileKeys, k.Tier()), func(b *testing.B) {
					tile := tileCase{format: f, headDim: headDim, visible: mask(rows, rows, attention.TileKeys), elements: asmtest.Fills[0].At, seed: 1}.tile(b, k)
					b.SetBytes(int64(2 * attention.TileKeys * f.Bytes(headDim)))
					for b.Loop() {
						k.Pages().Attend(tile)
					}
					b.ReportMetric(float64(2*rows*attention.TileKeys*headDim)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
				})
			}
		}
	}
}

// BenchmarkAttendMemory walks the pages of a long context, with heads of 64 elements and 4 query rows: a decode step's tiles.
func BenchmarkAttendMemory(b *testing.B) {
	const headDim, pages = 64, 1 << 12
	for _, f := range []quant.Format{quant.F16, quant.Q8_0, quant.Q4_0} {
		for _, k := range asm.Tiers()[1:] {
			b.Run(f.String()+"/"+k.Tier(), func(b *testing.B) {
				tile := tileCase{format: f, headDim: headDim, visible: mask(4, 4, attention.TileKeys), elements: asmtest.Fills[0].At, seed: 1}.tile(b, k)
				half := len(tile.Keys)
				memory := slices.Concat(slices.Repeat([][]byte{tile.Keys, tile.Values}, pages)...)
				b.SetBytes(int64(2 * half))
				keys := func(page int) []byte { return memory[2*(page%pages)*half:][:half] }
				for page := 0; b.Loop(); page++ {
					tile.Keys, tile.Values, tile.Next = keys(page), memory[(2*(page%pages)+1)*half:][:half], keys(page+1)
					k.Pages().Attend(tile)
				}
			})
		}
	}
}

// TestStoreAndLoad compares the slots that each tier loads with those stored, in another order than the slots', with slots stored again.
// Neighbours of stored slots must stay unharmed.
func TestStoreAndLoad(t *testing.T) {
	for _, k := range asm.Tiers() {
		for _, f := range cacheFormats {
			for _, headDim := range []int{32, 64, 96, 100} {
				if headDim%f.BlockLen() != 0 {
					continue
				}
				r := rand.New(rand.NewPCG(uint64(headDim), 3))
				size := f.Bytes(headDim)
				keys, same, rows := make([]byte, attention.TileKeys*size), make([]byte, attention.TileKeys*size), make([]byte, attention.TileKeys*size)
				for i := range rows {
					rows[i] = byte(r.Uint32())
				}
				k.Pages().Store(attention.Keys, f, headDim, keys, 0, rows)
				k.Pages().Load(attention.Values, f, headDim, same, k.Pages().ValuesOf(f, headDim, keys, make([]byte, len(keys)), make([]byte, len(keys))), 0)
				if i := mismatch(same, rows); i >= 0 {
					t.Fatalf("%s, %s, heads of %d: byte %d of keys as values is %d, want %d", k.Tier(), f, headDim, i, same[i], rows[i])
				}
				for _, side := range []attention.Side{attention.Keys, attention.Values} {
					half, want := asmtest.Fenced(t, attention.TileKeys*size), make([]byte, attention.TileKeys*size)
					for range 200 {
						first := r.IntN(attention.TileKeys)
						n := 1 + r.IntN(attention.TileKeys-first)
						rows := want[first*size:][:n*size]
						for i := range rows {
							rows[i] = byte(r.Uint32())
						}
						k.Pages().Store(side, f, headDim, half, first, rows)
					}
					k.Pages().Store(side, f, headDim, half, 0, want[:size])
					for _, first := range []int{0, 5, 127} {
						got := make([]byte, len(want)-first*size)
						k.Pages().Load(side, f, headDim, got, half, first)
						if i := mismatch(got, want[first*size:]); i >= 0 && first == 0 {
							t.Fatalf("%s, %s, heads of %d: byte %d of side %d, from slot %d, is %d, want %d", k.Tier(), f, headDim, i, side, first, got[i], want[i])
						}
					}
				}
			}
		}
	}
}

// mismatch returns the first index where two slices differ, -1 if they are equal.
func mismatch(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// TestMerge joins the results of tiles; either may be of no slots.
func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range asm.Tiers()[1:] {
		for _, fill := range asmtest.Fills {
			t.Run(k.Tier()+"/"+fill.Name, func(t *testing.T) {
				for _, n := range asmtest.Lengths {
					for _, sums := range [][2]float32{{2, 3}, {0, 3}, {2, 0}, {0, 0}} {
						var got, want [2]attention.Partial
						for i := range got {
							got[i] = attention.Partial{Max: 1 + float32(i)/2, Sum: sums[i], Out: asmtest.FencedFloats(t, n)[:n]}
							for j := range n {
								got[i].Out[j] = fill.At(r, j)
							}
							want[i] = got[i]
							want[i].Out = slices.Clone(got[i].Out)
						}
						k.Merge(got[:1], got[1:])
						attention.Merge(want[:1], want[1:])
						what := fmt.Sprintf("sums %v: ", sums)
						asmtest.SameFloats(t, what+"values", got[0].Out, want[0].Out)
						asmtest.SameFloats(t, what+"maximum and sum", []float32{got[0].Max, got[0].Sum}, []float32{want[0].Max, want[0].Sum})
					}
				}
			})
		}
	}
}
