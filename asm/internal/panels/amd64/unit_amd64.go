//go:build !purego

package amd64

import (
	"slices"

	"github.com/antigravity-go/antigravity/asm/internal/panels"
)

// unit is the tiles of one set of instructions.
type unit struct {
	blocks []blockFormat
	floats []panels.FloatTiles // the kernels for single rows add to out, see inParts
}

// blockFormat is the tiles of a format in blocks.
type blockFormat struct {
	layout  *panels.Layout
	rows    int                // a tile's height in rows of weights: 16 covers a panel, 8 half of one
	tiles   []panels.BlockTile // those for most tokens first; the last is for one
	single  singleKernel
	several *chunks // for several tokens; nil: the tiles are
}

// AVX2 returns panels that AVX2, FMA and F16C multiply.
func AVX2() []*panels.Panels { return unitAVX2.panels() }

// AVXVNNI returns panels that AVX-VNNI multiplies.
func AVXVNNI() []*panels.Panels { return unitAVXVNNI.panels() }

// AVX512 returns panels that AVX-512 F, BW, VL and DQ multiply.
func AVX512() []*panels.Panels { return unitAVX512.panels() }

// AVX512VNNI returns panels that AVX-512 VNNI multiplies.
func AVX512VNNI() []*panels.Panels { return unitAVX512VNNI.panels() }

// Near returns panels that AVX-512 VNNI multiplies, or AVX-512 if they are of floats: single rows of activations by kernels that ask the
// first-level cache.
func Near() []*panels.Panels {
	u := unit{slices.Clone(unitAVX512VNNI.blocks), slices.Clone(unitAVX512.floats)}
	for i := range u.blocks {
		u.blocks[i].single = singlesNear[u.blocks[i].layout]
	}
	for i := range u.floats {
		u.floats[i].Single = floatsNear[u.floats[i].Layout]
	}
	return u.panels()
}

// panels returns the panels of all of the unit's formats.
func (u *unit) panels() (list []*panels.Panels) {
	for _, f := range u.blocks {
		list = append(list, blockPanels(f.blockTiles(), f.single, f.several))
	}
	for _, f := range u.floats {
		f.Single = inParts(f.Layout, f.Single)
		list = append(list, f.Panels())
	}
	return list
}

// blockTiles returns the tiles in the form that multiplies panels.
func (f blockFormat) blockTiles() panels.BlockTiles {
	return panels.BlockTiles{Layout: f.layout, Rows: f.rows, Tiles: f.tiles}
}
