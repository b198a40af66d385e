package asm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/antigravity-go/antigravity/quant"
)

// tileCase describes a tile.
type tileCase struct {
	format   *quant.Format
	headDim  int
	visible  []int // of each row
	padding  int   // bytes between slots
	elements func(r *rand.Rand, i int) float32
	seed     uint64
}

// tile returns the tile, its keys and values just before a protected page.
func (c tileCase) tile(t testing.TB, k *Kernels) *AttentionTile {
	t.Helper()
	r := rand.New(rand.NewPCG(c.seed, 1))
	longest, rows := 1, len(c.visible)
	for _, n := range c.visible {
		longest = max(longest, n)
	}
	size := c.format.Bytes(c.headDim)
	tile := &AttentionTile{
		Format: c.format, Stride: size + c.padding, HeadDim: c.headDim, Visible: c.visible,
		Queries: &quant.Activation{}, Results: make([]Partial, rows),
		Scores: fencedFloats(t, rows*TileKeys), Value: make([]float32, c.headDim), Panel: fencedFloats(t, PanelKeys*c.headDim),
	}
	tile.K, tile.V = fenced(t, (longest-1)*tile.Stride+size), fenced(t, (longest-1)*tile.Stride+size)
	vector := func() []float32 {
		x := make([]float32, c.headDim)
		for i := range x {
			x[i] = c.elements(r, i)
		}
		return x
	}
	for _, cache := range [][]byte{tile.K, tile.V} {
		for j := range longest {
			if err := c.format.Quantize(cache[j*tile.Stride:][:size], vector()); err != nil {
				t.Fatal(err)
			}
		}
	}
	tile.Queries.Reserve(c.format.Partner, rows, c.headDim)
	tile.Queries.X = fencedFloats(t, rows*c.headDim)
	for row := range rows {
		x := tile.Queries.X[row*c.headDim:][:c.headDim]
		for i, v := range vector() {
			x[i] = v / 8
		}
		k.Prepare(tile.Queries, row, x)
		tile.Results[row].Out = fencedFloats(t, c.headDim)
	}
	return tile
}

// check fails unless every tier attends as the portable form does.
func (c tileCase) check(t *testing.T) {
	t.Helper()
	want := c.tile(t, &generic)
	attend(want)
	for _, k := range Tiers()[1:] {
		got := c.tile(t, k)
		k.Attend(got)
		for r := range want.Results {
			g, w := &got.Results[r], &want.Results[r]
			row := fmt.Sprintf("%s, row %d: ", k.Tier, r)
			if g.Max != w.Max && (g.Max == g.Max || w.Max == w.Max) {
				t.Fatalf("%sthe maximum is %v, the portable form has %v", row, g.Max, w.Max)
			}
			sameFloats(t, row+"sum", []float32{g.Sum}, []float32{w.Sum})
			sameFloats(t, row+"out", g.Out, w.Out)
			sameFloats(t, row+"weights", got.Scores[r*TileKeys:][:c.visible[r]], want.Scores[r*TileKeys:][:c.visible[r]])
		}
		only := c.tile(t, k)
		only.V = nil
		k.Attend(only)
		for r := range want.Results {
			row := fmt.Sprintf("%s without values, row %d: ", k.Tier, r)
			sameFloats(t, row+"sum", []float32{only.Results[r].Sum}, []float32{want.Results[r].Sum})
			sameFloats(t, row+"weights", only.Scores[r*TileKeys:][:c.visible[r]], want.Scores[r*TileKeys:][:c.visible[r]])
		}
	}
}

// mask returns how many slots rows see, the last of them n, when group rows belong to each token.
func mask(rows, group, n int) (visible []int) {
	tokens := (rows + group - 1) / group
	for r := range rows {
		visible = append(visible, min(max(n-tokens+1+r/group, 0), TileKeys))
	}
	return visible
}

var cacheFormats = []*quant.Format{quant.F32, quant.F16, quant.BF16, quant.Q8_0, quant.Q4_0, quant.Q4_1}

func TestAttend(t *testing.T) {
	for _, f := range cacheFormats {
		for _, headDim := range []int{8, 16, 32, 64, 80, 96, 256} {
			if headDim%f.BlockLen != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", f, headDim), func(t *testing.T) {
				for i, visible := range [][]int{
					{1}, {0}, {7, 7}, {17, 0, 3}, {128, 128, 128, 128}, {31, 32, 33, 34, 35}, {128, 1, 64, 100, 127, 0, 16},
					mask(12, 4, 5), mask(7, 3, 130), mask(9, 1, 65),
				} {
					tileCase{f, headDim, visible, 2 * i, fills[0].at, uint64(i)}.check(t)
				}
			})
		}
		for _, fill := range fills {
			t.Run(f.Name+"/"+fill.name, func(t *testing.T) {
				for seed := range uint64(4) {
					tileCase{f, 64, []int{5, 40, 40, 41, 77}, 3, fill.at, seed}.check(t)
				}
			})
		}
	}
}

func FuzzAttend(f *testing.F) {
	f.Add(uint8(1), uint8(8), uint8(4), uint8(128), uint8(0), uint64(1))
	f.Add(uint8(0), uint8(3), uint8(7), uint8(9), uint8(1), uint64(2))
	f.Add(uint8(3), uint8(8), uint8(5), uint8(50), uint8(2), uint64(3))
	f.Fuzz(func(t *testing.T, format, size, rows, seen, fill uint8, seed uint64) {
		c := tileCase{format: cacheFormats[int(format)%len(cacheFormats)], seed: seed, elements: fills[int(fill)%len(fills)].at}
		c.headDim = (1 + int(size)%16) * max(8, c.format.BlockLen)
		c.padding = int(seed % 7)
		r := rand.New(rand.NewPCG(seed, 2))
		for range 1 + rows%12 {
			c.visible = append(c.visible, r.IntN(min(int(seen), TileKeys)+1))
		}
		c.check(t)
	})
}

func TestAttendDoesNotAllocate(t *testing.T) {
	for _, k := range Tiers() {
		for _, f := range cacheFormats {
			tile := tileCase{f, 64, mask(8, 4, 70), 0, fills[0].at, 1}.tile(t, k)
			if n := testing.AllocsPerRun(5, func() { k.Attend(tile) }); n != 0 {
				t.Errorf("%s: %v allocations for %s, want none", k.Tier, n, f)
			}
		}
	}
}

func BenchmarkAttend(b *testing.B) {
	const headDim = 64
	for _, f := range cacheFormats {
		for _, rows := range []int{1, 3, 4, 64} {
			for _, k := range Tiers() {
				b.Run(fmt.Sprintf("%s/%dx%d/%s", f, rows, TileKeys, k.Tier), func(b *testing.B) {
					tile := tileCase{f, headDim, mask(rows, rows, TileKeys), 0, fills[0].at, 1}.tile(b, k)
					b.SetBytes(int64(2 * TileKeys * f.Bytes(headDim)))
					for b.Loop() {
						k.Attend(tile)
					}
					b.ReportMetric(float64(2*rows*TileKeys*headDim)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
				})
			}
		}
	}
}

// BenchmarkAttendMemory walks a long context, 8 KV heads of 64 elements in F16, with 4 query rows: a decode step's tiles.
func BenchmarkAttendMemory(b *testing.B) {
	const heads, headDim, slots = 8, 64, 1 << 16
	for _, k := range Tiers()[1:] {
		b.Run(k.Tier, func(b *testing.B) {
			tile := tileCase{quant.F16, headDim, mask(4, 4, TileKeys), 0, fills[0].at, 1}.tile(b, k)
			tile.Stride = heads * quant.F16.Bytes(headDim)
			keys, values := make([]byte, slots*tile.Stride), make([]byte, slots*tile.Stride)
			for i := range keys {
				keys[i], values[i] = byte(i)&0x3f, byte(i)&0x3f
			}
			b.SetBytes(int64(2 * TileKeys * quant.F16.Bytes(headDim)))
			piece := 0
			for b.Loop() {
				at := piece/heads%(slots/TileKeys)*TileKeys*tile.Stride + piece%heads*quant.F16.Bytes(headDim)
				tile.K, tile.V = keys[at:], values[at:]
				piece++
				at = piece/heads%(slots/TileKeys)*TileKeys*tile.Stride + piece%heads*quant.F16.Bytes(headDim)
				tile.Next = keys[at:]
				k.Attend(tile)
			}
		})
	}
}
