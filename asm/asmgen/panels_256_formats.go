package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// The formats with blocks of 256 that have tiles of their own, and what all of these read: patterns of bits, and the table of runs.

// format256 describes a format with blocks of 256, which are worked through in eight runs of 32 quants. The low four bits of a
// run's quants are nibbles of eight lines. The other bits, where quants have more than four, stand in eight further lines, behind
// the nibbles of all runs.
type format256 struct {
	name          string
	quantsOfBlock int                 // bytes of a block's quants in the panel
	scales        int                 // bytes of a block's binary16 scales
	inner         int                 // bytes of a block's inner scales
	innerUnit     int                 // how many of them stand together for a row
	high          uint32              // which bits of a quant, above its low four, come from the lines behind
	madds         int                 // how many VPMADDUBSW may be added in 16 bits
	run           func(i int) runBits // where run i is
	decode        bool                // inner scales as in Q4_K, with minimums; else as in Q6_K, with quants that are 32 too great
}

// runBits is the place of a run's quants: offsets of its lines in the block, and the lowest bit in each byte.
type runBits struct{ low, lowBit, high, highBit int }

var formats256 = []format256{
	sized(format256{name: "q4_K", inner: 192, innerUnit: 4, madds: 8, decode: true, run: func(i int) runBits {
		return runBits{low: i / 2 * 512, lowBit: i % 2 * 4}
	}}),
	sized(format256{name: "q5_K", inner: 192, innerUnit: 4, high: 0x10101010, madds: 4, decode: true, run: func(i int) runBits {
		return runBits{low: i / 2 * 512, lowBit: i % 2 * 4, high: 2048, highBit: i}
	}}),
	sized(format256{name: "q6_K", inner: 256, innerUnit: 1, high: 0x30303030, madds: 2, run: func(i int) runBits {
		part, f := i/4, i%4
		return runBits{low: part*1024 + f%2*512, lowBit: f / 2 * 4, high: 2048 + part*512, highBit: 2 * f}
	}}),
}

// sized returns a format with the sizes that package quant's table gives.
func sized(f format256) format256 {
	f.quantsOfBlock, f.scales, _ = planes(f.name, f.inner)
	return f
}

// patterns are constants in memory, of 64 bytes. Those for VPSHUFB are the same in each 16 bytes, but for spread.
type patterns struct {
	scales    [4]operand.Mem // byte g of each 32 bits: as a word, twice, or, with VNNI, alone
	minimums  [2]operand.Mem // bytes 2g and 2g+1 of each 32 bits, as words
	lowerWord operand.Mem    // the lower word of each 32 bits, twice
	spread    operand.Mem    // one of 16 bytes to each 32 bits: into the upper byte of both words

	thirtyTwo, lowerSix, upperTwo operand.Mem // in each byte: 32, the lower six bits of eight, and the upper two bits of six
}

// newPatterns writes the constants of a file.
func newPatterns(c *build.Context, u panelUnit) (p patterns) {
	const zero = 0x80
	constant := func(name string, word func(i int) uint32) operand.Mem {
		m := c.StaticGlobal(name + u.name)
		c.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 16 {
			c.AddDatum(4*i, operand.U32(word(i)))
		}
		return m
	}
	pattern := func(name string, bytes ...int) operand.Mem {
		return constant(name, func(i int) (word uint32) {
			for j, b := range bytes {
				if b != zero {
					b += 4 * (i % 4)
				}
				word |= uint32(b) << (8 * j)
			}
			return word
		})
	}
	everywhere := func(name string, word uint32) operand.Mem { return constant(name, func(int) uint32 { return word }) }
	for g := range p.scales {
		second := g
		if u.vnni {
			second = zero
		}
		p.scales[g] = pattern(fmt.Sprintf("scale%d", g), g, zero, second, zero)
	}
	for g := range p.minimums {
		p.minimums[g] = pattern(fmt.Sprintf("minimums%d", g), 2*g, zero, 2*g+1, zero)
	}
	p.lowerWord = pattern("lowerWord", 0, 1, 0, 1)
	p.spread = constant("spread", func(i int) uint32 { return uint32(i)<<24 | zero<<16 | uint32(i)<<8 | zero })
	p.thirtyTwo, p.lowerSix, p.upperTwo = everywhere("thirtyTwo", 0x20202020), everywhere("lowerSix", 0x3f3f3f3f), everywhere("upperTwo", 0x30303030)
	return p
}

// runTable writes a format's table of runs: bytesOfRun each.
func runTable(c *build.Context, u panelUnit, f format256) operand.Mem {
	m := c.StaticGlobal(f.name + "Runs" + u.name)
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 8 {
		r := f.run(i)
		shift := r.highBit
		if u.wide {
			shift = (r.highBit + 28) % 32 // a rotation that leaves the bits four higher
		}
		for j, v := range []int{r.low, r.lowBit, r.high, shift} {
			c.AddDatum(i*bytesOfRun+4*j, operand.U32(uint32(v)))
		}
	}
	return m
}
