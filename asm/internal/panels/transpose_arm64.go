//go:build !purego

package panels

// transpose is transposition.portable for fields of whole chunks of each row, by the bytes of a unit. It is no table of functions, since what these are given
// would then be memory of the heap.
func transpose(unit int, dst, src *byte, rowBytes, blocks, srcStep, dstStep, chunks int) {
	switch unit {
	case 1:
		transpose1NEON(dst, src, rowBytes, blocks, srcStep, dstStep, chunks)
	case 2:
		transpose2NEON(dst, src, rowBytes, blocks, srcStep, dstStep, chunks)
	case 4:
		transpose4NEON(dst, src, rowBytes, blocks, srcStep, dstStep, chunks)
	}
}

// column is transposition.portable for fields of one unit, by the bytes of a unit.
func column(unit int, dst, src *byte, rowBytes, blocks, srcStep, dstStep int) {
	switch unit {
	case 2:
		column2NEON(dst, src, rowBytes, blocks, srcStep, dstStep)
	case 4:
		column4NEON(dst, src, rowBytes, blocks, srcStep, dstStep)
	}
}

// There are no quantizers: a row is quantised after the other, and then packed.
var quantizers []quantizer

// transpose4NEON is transposition.portable for a field of 16·chunks bytes, chunks > 0, in units of 4; blocks > 0.
//
//go:noescape
func transpose4NEON(dst, src *byte, rowBytes, blocks, srcStep, dstStep, chunks int)

// transpose2NEON is transposition.portable for a field of 16·chunks bytes, chunks > 0, in units of 2; blocks > 0.
//
//go:noescape
func transpose2NEON(dst, src *byte, rowBytes, blocks, srcStep, dstStep, chunks int)

// transpose1NEON is transposition.portable for a field of 16·chunks bytes, chunks > 0, in units of 1; blocks > 0.
//
//go:noescape
func transpose1NEON(dst, src *byte, rowBytes, blocks, srcStep, dstStep, chunks int)

// column4NEON is transposition.portable for a field of one unit, of 4 bytes; blocks > 0.
//
//go:noescape
func column4NEON(dst, src *byte, rowBytes, blocks, srcStep, dstStep int)

// column2NEON is transposition.portable for a field of one unit, of 2 bytes; blocks > 0.
//
//go:noescape
func column2NEON(dst, src *byte, rowBytes, blocks, srcStep, dstStep int)
