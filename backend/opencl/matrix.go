//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
)

// matrixWay is an instruction that multiplies matrices of bytes, and adds the products up as integers.
type matrixWay struct {
	option    string // the option that matrix.cl knows it by
	extension string // what the device's extensions contain if it may have it
	lanes     int    // work-items that multiply together: MATRIX_LANES of matrix.cl
	m, n      int    // rows of its pieces: MATRIX_M and MATRIX_N
}

// matrixWays are the instructions that matrix.cl knows.
var matrixWays = [...]matrixWay{
	{" -DMATRIX_NV", "cl_nv_", 32, 16, 8}, // from compute capability 8.0 on
}

// plainWay has no instructions: tests compute by it, on any device, what matrix instructions compute elsewhere.
var plainWay = matrixWay{" -DMATRIX_PLAIN -cl-opt-disable", "", 1, 2, 2}

// probe returns the program that tries the way.
func (w *matrixWay) probe() program {
	return compiler.Of("common matrix probe_matrix", "-DGROUP=128 -DSTEP=4"+w.option)
}

// matrixWayOf returns a way that the device has, nil if no way compiles and computes correctly.
func matrixWayOf(q *queue) (*matrixWay, error) {
	for i := range matrixWays {
		way := &matrixWays[i]
		if !strings.Contains(q.device.Extensions, way.extension) {
			continue
		}
		if works, err := wayWorks(q, way.probe(), "probe_matrix", way.lanes, way.lanes); works || err != nil {
			return way, err
		}
	}
	return nil, nil
}

// matrixTile is the tile of a product that a group of gemm_matrix.cl computes: pieces of a team, and teams of a group, by rows of
// activations and of weights, and blocks of 32 columns that it takes at a time.
type matrixTile struct {
	mPieces, nPieces, mTeams, nTeams, step int
	// What an H200 was measured to take for a block of 32 columns of Q4_0 or Q4_K, in ns: for a group alone on a compute unit, and for each group
	// if a unit has many.
	alone, each int
}

// matrixTiles are those that products use, the largest first. In larger ones a work-item needs 255 registers, and a compute unit has too few work-items:
// an H200 takes 370 µs for 512 rows with Q4_K [14336, 4096] in tiles of 128 × 128, 274 in the first of these.
var matrixTiles = [...]matrixTile{
	{2, 4, 2, 2, 4, 230, 152}, {2, 2, 2, 2, 4, 160, 110}, {2, 2, 1, 4, 4, 190, 104}, {1, 2, 1, 4, 4, 150, 95}, {1, 2, 1, 2, 4, 120, 56},
}

// registers bounds those of a work-item, so that three groups of 128 are on a compute unit with 65,536: 274 µs in place of 307. Formats of 256 without
// minimums have a scale for each half of a block of 32, and so more sums: they would spill.
func (t *matrixTile) registers(format string) string {
	f, _ := formatOf(format)
	if t.mPieces*t.nPieces < 8 || f.blockLen == 256 && f.scaleBytes%4 != 0 {
		return ""
	}
	return " -cl-nv-maxrregcount=168"
}

// rows returns the rows of activations of a tile.
func (t *matrixTile) rows(w *matrixWay) int { return t.mPieces * t.mTeams * w.m }

// columns returns the rows of weights of a tile.
func (t *matrixTile) columns(w *matrixWay) int { return t.nPieces * t.nTeams * w.n }

// group returns the work-items of a group.
func (t *matrixTile) group(w *matrixWay) int { return t.mTeams * t.nTeams * w.lanes }

// matrices has the programs of products by the device's instructions for matrices.
type matrices struct {
	*queue
	tuning     *tuning
	matrix     *matrixWay  // nil: it has no such instructions
	forcedTile *matrixTile // the tile, if tests want one
}

// matrixProgram returns the program of gemm_matrix for blocks of a format, k columns, and one weight, or two with joined products. If it is grouped,
// rows are those of pairs with experts.
func (p *matrices) matrixProgram(format string, tile matrixTile, k, sets int, grouped bool) program {
	whole := k/32%tile.step == 0
	key := productVariant{kernel: "gemm_matrix", format: format, lanes: sets, tile: tile, whole: whole, grouped: grouped}
	variant, ok := p.tuning.programs[key]
	if !ok {
		variant.Files = "common exact formats dot blocks matrix " + rowsOf[grouped] + " gemm_matrix"
		variant.Options = fmt.Sprintf("-DGROUP=%d -DFORMAT=%s%s%s -DM_PIECES=%d -DN_PIECES=%d -DM_TEAMS=%d -DN_TEAMS=%d -DSTEP=%d -DSETS=%d",
			tile.group(p.matrix), format, p.tuning.dot, p.matrix.option, tile.mPieces, tile.nPieces, tile.mTeams, tile.nTeams, tile.step, sets)
		if whole {
			variant.Options += " -DWHOLE"
		}
		if isNVIDIA(p.device) {
			variant.Options += tile.registers(format)
		}
		p.tuning.programs[key] = variant
	}
	return variant
}

// matrixTileFor returns the tile for a product of m rows of activations with n of weights: the one that should be fastest.
func (p *matrices) matrixTileFor(m, n int) matrixTile { return p.matrixTileOf(1, m, n) }

// matrixTileOf returns the tile for some products of m rows of activations with n of weights.
func (p *matrices) matrixTileOf(products, m, n int) matrixTile {
	if p.forcedTile != nil {
		return *p.forcedTile
	}
	best, least := matrixTiles[0], math.MaxInt
	for _, tile := range matrixTiles {
		perUnit := groups(products*groups(m, tile.rows(p.matrix))*groups(n, tile.columns(p.matrix)), p.device.Units)
		if took := max(tile.alone, perUnit*tile.each); took < least {
			best, least = tile, took
		}
	}
	return best
}

// readyTile returns a tile and its program; for as long as that is not ready another tile that is, the next smaller or larger one. If no tile is,
// the program of the first is compiled when its kernel is wanted.
func (p *matrices) readyTile(format string, tile matrixTile, k, sets int, grouped bool) (matrixTile, program) {
	wanted := p.matrixProgram(format, tile, k, sets, grouped)
	if p.forcedTile != nil || p.ready(wanted, "gemm_matrix") {
		return tile, wanted
	}
	at := slices.Index(matrixTiles[:], tile)
	for away := 1; away < len(matrixTiles); away++ {
		for _, i := range [...]int{at + away, at - away} {
			if i < 0 || i >= len(matrixTiles) {
				continue
			}
			if other := p.matrixProgram(format, matrixTiles[i], k, sets, grouped); p.queue.programs.Has(other, "gemm_matrix") {
				return matrixTiles[i], other
			}
		}
	}
	return tile, wanted
}

// multiplyMatrix multiplies rounded activations with weights in blocks by the device's instructions for matrices; with up, which has
// the rows of c's weights, out becomes silu(c)·(up's product).
func (p *products) multiplyMatrix(a activations, c *product, up *weights) error {
	n, sets := c.hi-c.lo, 1
	if up != nil {
		sets = 2
	}
	tile, program := p.readyTile(c.w.format.name, p.matrixTileFor(a.m, n*sets), a.k, sets, false)
	kernel, err := p.kernel(program, "gemm_matrix")
	if err != nil {
		return err
	}
	a.pass(kernel)
	kernel.Mem(c.part.mem).Int(c.part.scalesAt).Int(c.lo - c.part.row)
	if up != nil {
		part := &up.parts[0]
		kernel.Mem(part.mem).Int(part.scalesAt).Int(up.first - part.row)
	}
	floats(kernel.Int(c.w.stride), c.out).Int(a.m).Int(n).Int(a.k).Int(c.width).Int(flag(c.add))
	return p.run(c.what, kernel, tile.group(p.matrix), groups(n*sets, tile.columns(p.matrix)), groups(a.m, tile.rows(p.matrix)), 1)
}

// matrixSwiGLU computes NormSwiGLU of many rows in one product with a kernel that joins the two.
func (f *fused) matrixSwiGLU(c *normProduct) error {
	if err := f.vectors.norm(c.x, c.gain, c.normed, c.m, c.k, c.eps); err != nil {
		return err
	}
	rounded, err := f.round(c.what, c.normed, c.m, c.k, c.w[0].format.blockLen)
	if err != nil {
		return err
	}
	gate, n := &c.w[0], c.counts[0]
	one := product{what: c.what, m: c.m, w: *gate, part: &gate.parts[0], lo: gate.first, hi: gate.first + n, out: c.out[0], width: n}
	return f.multiplyMatrix(rounded, &one, &c.w[1])
}
