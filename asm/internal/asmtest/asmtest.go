// Package asmtest is what the tests of the families of kernels share: memory that ends at protected pages, inputs of many kinds,
// and the comparison of bits.
package asmtest

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// FencedFloats returns n floats that end at a protected page.
func FencedFloats(t testing.TB, n int) []float32 {
	t.Helper()
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(Fenced(t, 4*max(n, 1))))), max(n, 1))[max(n, 1)-n:]
}

// Fill is a kind of input: At gives element i.
type Fill struct {
	Name string
	At   func(r *rand.Rand, i int) float32
}

// Fills are the kinds of input, the first of them the ordinary one.
var Fills = []Fill{
	{"random", func(r *rand.Rand, _ int) float32 { return float32(r.NormFloat64()) }},
	{"wide", func(r *rand.Rand, _ int) float32 { return float32(r.NormFloat64() * math.Exp2(float64(r.IntN(60)-30))) }},
	{"any bits", func(r *rand.Rand, _ int) float32 { return finite(math.Float32frombits(r.Uint32())) }},
	{"tiny", func(r *rand.Rand, _ int) float32 { return math.Float32frombits(r.Uint32() & 0x80ffffff) }},
	{"zero", func(*rand.Rand, int) float32 { return 0 }},
	{"halves", func(r *rand.Rand, i int) float32 { return float32(r.IntN(255)-127) / 2 * float32(1-i%2*2) }},
	{"infinities", func(r *rand.Rand, _ int) float32 {
		return [...]float32{1, -1, 0, float32(math.Inf(1)), float32(math.Inf(-1))}[r.IntN(5)]
	}},
	{"NaNs", func(r *rand.Rand, _ int) float32 {
		if r.IntN(4) == 0 {
			return float32(math.NaN())
		}
		return float32(r.NormFloat64())
	}},
}

// finite returns v, or 1 if v is NaN or infinite.
func finite(v float32) float32 {
	if v-v != 0 {
		return 1
	}
	return v
}

// Lengths are those around whole strips and calls, and the usual ones.
var Lengths = append(sequence(0, 70), 127, 128, 129, 1000, 2048, 16383, 16384, 16401)

// sequence returns from … to.
func sequence(from, to int) (s []int) {
	for i := from; i <= to; i++ {
		s = append(s, i)
	}
	return s
}

// SameFloats fails unless the bits agree; NaNs are all alike.
func SameFloats(t testing.TB, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !SameFloat(got[i], want[i]) {
			t.Fatalf("%s: element %d of %d is %v (%#x), the portable form has %v (%#x)",
				what, i, len(want), got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

// SameFloat reports whether two floats are the same, all NaNs being one.
func SameFloat(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

// FencedCopy returns a copy of s that ends at a protected page.
func FencedCopy[T any](t testing.TB, s []T) []T {
	t.Helper()
	if len(s) == 0 {
		return nil
	}
	bytes := Fenced(t, len(s)*int(unsafe.Sizeof(s[0])))
	c := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), len(s))
	copy(c, s)
	return c
}
