package rare

import _ "embed"

// grid is a codebook: entries of some integers each. An entry has 16 bits, little-endian. Each integer takes a few of them, the first one
// the lowest.
type grid struct {
	entries string
	bits    int
	levels  [8]int8 // what the bits of an integer say
}

// The folder grids has ggml's codebooks. It was made from the tables of ggml-common.h by numbering the values that occur in a table.
var (
	//go:embed grids/iq2_xxs.bin
	gridIQ2XXS string
	//go:embed grids/iq2_xs.bin
	gridIQ2XS string
	//go:embed grids/iq2_s.bin
	gridIQ2S string
	//go:embed grids/iq3_xxs.bin
	gridIQ3XXS string
	//go:embed grids/iq3_s.bin
	gridIQ3S string
	//go:embed grids/iq1_s.bin
	gridIQ1 string
)

// levels2 are the values of the codebooks of IQ2: eight integers an entry.
var levels2 = [8]int8{8, 25, 43}

// put writes the integers of entry i, as many as q has room for; bit j of signs negates integer j.
func (g *grid) put(q []int8, i int, signs byte) {
	code := uint(g.entries[2*i]) | uint(g.entries[2*i+1])<<8
	for j := range q {
		minus := -int8(signs >> j & 1) // −1 or 0: signs are as good as random, and branches would be mispredicted
		q[j] = (g.levels[code>>(j*g.bits)&(1<<g.bits-1)] ^ minus) - minus
	}
}
