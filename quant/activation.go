package quant

// Partner is the form of activations that a format's rows are multiplied with.
type Partner uint8

// The forms.
const (
	Float    Partner = iota // the float32 themselves
	Int8x32                 // 8 bits, a scale and a sum for each 32
	Int8x256                // 8 bits, a scale for each 256 and a sum for each 16
)

// Activation is a row of activations in one of the forms. Prepare fills it; its memory is used again by the next Prepare.
// The zero value is ready.
type Activation struct {
	X    []float32 // Float: the row itself, not a copy
	Q    []int8    // the elements, X ≈ Q·D
	D    []float32 // scales, one a block
	Sums []int32   // ΣQ of each 32 (Int8x32) or 16 (Int8x256) elements
}

// Prepare brings a row into the form that the format wants; the row must be whole blocks of the format. For the float formats
// a refers to x from then on.
//
// A block's scale is d = max|x|/127, kept in float32, and Q = x·(1/d) rounded to nearest even, between −127 and 127. A block
// of zeros, or so small that 1/d overflows, has Q = 0. NaNs become 0 and infinities make the block's scale infinite, so that
// they show in the result.
func (f *Format) Prepare(a *Activation, x []float32) {
	switch f.Partner {
	case Float:
		a.X = x
	case Int8x32:
		a.prepare(x, 32, 32)
	case Int8x256:
		a.prepare(x, 256, 16)
	}
}

func (a *Activation) prepare(x []float32, block, group int) {
	a.Q, a.D, a.Sums = resize(a.Q, len(x)), resize(a.D, len(x)/block), resize(a.Sums, len(x)/group)
	for b := range a.D {
		row := x[b*block : (b+1)*block]
		d := largest(row) / 127
		inverse := reciprocal(d)
		a.D[b] = d
		q := a.Q[b*block : (b+1)*block]
		for i, v := range row {
			q[i] = roundEven(v * inverse)
		}
	}
	for g := range a.Sums {
		sum := int32(0)
		for _, q := range a.Q[g*group : (g+1)*group] {
			sum += int32(q)
		}
		a.Sums[g] = sum
	}
}

// resize returns s with n elements, whatever they are.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// roundEven rounds to the nearest integer, halves to even, and limits it to ±127; NaN becomes 0. Adding 1.5·2²³ leaves the
// rounded number in the lower bits.
func roundEven(v float32) int8 {
	switch {
	case v >= 127:
		return 127
	case v <= -127:
		return -127
	case v != v:
		return 0
	}
	const magic = 12582912
	return int8(int32(v+magic) - magic)
}
