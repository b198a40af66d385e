package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"

	"github.com/antigravity-go/antigravity/quant"
)

// The formats with blocks of 32, and what all of their tiles read: tables of values and patterns of bits.

// format32 describes a format with blocks of 32, as a unit multiplies it.
type format32 struct {
	name    string
	quants  int      // bytes of a block's quants in the panel
	scales  int      // bytes of a block's scales
	source  source32 // what the quants are made of
	shift   int      // 2^shift is added to each quant, which makes it unsigned, and taken off the sums; 0: nothing is
	powers  bool     // scales are powers of two, stored as bytes of exponents
	minimum bool     // a second half scales the sum of the activations
	vectors int      // how many registers the unpacked quants of a block take
	unpack  func(g *tile)
	dot     func(g *tile, t int) // leaves the dot product of the quants with a token's in T0; nil: VPDPBUSD does it
}

// source32 is what the quants of a block of 32 are made of.
type source32 int

const (
	fromNibbles source32 = iota // four lines of nibbles
	fromFive                    // four lines of nibbles, and one with the fifth bits
	fromTable                   // four lines of nibbles, each the place of a byte in a table
	fromBytes                   // eight lines of signed bytes
	fromFP4                     // four lines of nibbles, each the place of a byte between −12 and 12 in a table
)

// whole reports whether quants take all the bits of a byte: a product of two bytes leaves no room for a second one in 16 bits.
func (s source32) whole() bool { return s == fromTable || s == fromBytes }

// madds returns how many VPMADDUBSW may be added in 16 bits: 16·15·127 = 30480, 8·31·127 = 31496.
func (s source32) madds() int { return map[source32]int{fromNibbles: 8, fromFive: 4, fromFP4: 4}[s] }

// centre returns the power of two that, taken off nibbles or quants of five bits, makes them signed.
func (s source32) centre() int { return map[source32]int{fromNibbles: 3, fromFive: 4}[s] }

// formats32 returns the formats with blocks of 32.
func formats32(u panelUnit) []format32 {
	q4_0 := format32{name: "q4_0", shift: 3, vectors: 8, unpack: (*tile).nibbles, dot: (*tile).dotNibbles}
	q4_1 := format32{name: "q4_1", vectors: 8, unpack: (*tile).nibbles, dot: (*tile).dotNibbles}
	q8_0 := format32{name: "q8_0", source: fromBytes, shift: 7, vectors: 16, unpack: (*tile).splitBytes, dot: (*tile).dotSplit}
	q5_0 := format32{name: "q5_0", source: fromFive, shift: 4, vectors: 8, unpack: (*tile).fives, dot: (*tile).dotFives}
	q5_1 := format32{name: "q5_1", source: fromFive, vectors: 8, unpack: (*tile).fives, dot: (*tile).dotFives}
	iq4_nl := format32{name: "iq4_nl", source: fromTable, shift: 7, vectors: 16, unpack: (*tile).splitValues, dot: (*tile).dotSplit}
	mxfp4 := format32{name: "mxfp4", source: fromFP4, shift: 4, vectors: 8, unpack: (*tile).raisedFP4, dot: (*tile).dotFives}
	switch {
	case u.vnni:
		q4_0.dot, q4_1.dot, q8_0.dot, q5_0.dot, q5_1.dot, iq4_nl.dot, mxfp4.dot = nil, nil, nil, nil, nil, nil, nil
		q8_0.vectors, q8_0.unpack = 8, (*tile).raiseBytes
		iq4_nl.vectors, iq4_nl.unpack = 8, (*tile).raisedValues
	case !u.wide:
		q8_0.vectors, q8_0.shift, q8_0.unpack, q8_0.dot = 8, 0, (*tile).magnitudes, (*tile).dotSigned
		iq4_nl.vectors, iq4_nl.shift, iq4_nl.unpack, iq4_nl.dot = 8, 0, (*tile).values, (*tile).dotValues
	}
	list := []format32{q4_0, q4_1, q8_0, q5_0, q5_1, iq4_nl, mxfp4}
	for i := range list {
		f := &list[i]
		f.quants, f.scales, f.minimum = planes(f.name, 0)
		f.powers = f.scales == rowsOfPanel
	}
	return list
}

// rowsOfPanel is how many rows of weights a panel interleaves.
const rowsOfPanel = 16

// planes returns how many bytes a panel's block has for the quants of a format and for its scales, and whether there are
// minimums. The format is named in any case; inner is the bytes of inner scales.
func planes(name string, inner int) (quants, scales int, minimum bool) {
	for _, f := range quant.Formats() {
		if strings.EqualFold(f.String(), name) {
			halves := len(f.ScalesAt())
			scales = rowsOfPanel * 2 * halves
			if _, exponents := f.ExponentAt(); exponents {
				scales = rowsOfPanel
			}
			return rowsOfPanel*f.BlockBytes() - scales - inner, scales, halves > 1
		}
	}
	panic("asmgen: no format is named " + name)
}

// patterns32 are constants in memory for formats with blocks of 32, of 64 bytes.
type patterns32 struct {
	fifths  [4]operand.Mem // for VPSHUFB: byte i of each 32 bits, four times
	bits    [2]operand.Mem // in the bytes of each 32 bits: the lower four bits, and the upper four
	sixteen operand.Mem    // in each byte

	fp4, raisedFP4         operand.Mem // those of MXFP4: signed, and raised by 16
	leastPower, halfAFloat operand.Mem // in each 32 bits: 2^−127 and 0.5 as float32

	values, raised, lowValues, highValues operand.Mem // the values that nibbles choose from: signed, raised by 128, and the halves of that
}

// nonlinear4 are the values that nibbles choose from, as in package quant.
var nonlinear4 = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// fp4 are the values of MXFP4, as in package quant.
var fp4 = [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// bytesInMemory writes a constant of 64 bytes.
func bytesInMemory(c *build.Context, name string, at func(i int) byte) operand.Mem {
	m := c.StaticGlobal(name)
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		word := uint32(0)
		for j := range 4 {
			word |= uint32(at(4*i+j)) << (8 * j)
		}
		c.AddDatum(4*i, operand.U32(word))
	}
	return m
}

// newPatterns32 writes the constants of a file.
func newPatterns32(c *build.Context, u panelUnit) (p patterns32) {
	constant := func(name string, at func(i int) byte) operand.Mem { return bytesInMemory(c, name+u.name, at) }
	for b := range p.fifths {
		p.fifths[b] = constant(fmt.Sprintf("fifths%d", b), func(i int) byte { return byte(i%16/4*4 + b) })
	}
	for b := range p.bits {
		p.bits[b] = constant(fmt.Sprintf("bits%d", b), func(i int) byte { return 1 << (4*b + i%4) })
	}
	p.sixteen = constant("sixteen", func(int) byte { return 16 })
	p.values = constant("values", func(i int) byte { return byte(nonlinear4[i%16]) })
	p.raised = constant("raisedValues", func(i int) byte { return byte(nonlinear4[i%16]) ^ 0x80 })
	p.lowValues = constant("lowValues", func(i int) byte { return byte(nonlinear4[i%16]) & 15 })
	p.fp4 = constant("fp4", func(i int) byte { return byte(fp4[i%16]) })
	p.raisedFP4 = constant("raisedFP4", func(i int) byte { return byte(fp4[i%16] + 16) })
	p.leastPower = constant("leastPower", func(i int) byte { return [4]byte{2: 0x40}[i%4] })
	p.halfAFloat = constant("halfAFloat", func(i int) byte { return [4]byte{3: 0x3f}[i%4] })
	p.highValues = constant("highValues", func(i int) byte { return (byte(nonlinear4[i%16]) ^ 0x80) >> 4 })
	return p
}
