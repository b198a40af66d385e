package quant

// ActivationForm is the form that activations must have to be multiplied with the rows of a format.
type ActivationForm uint8

// The forms.
const (
	Float    ActivationForm = iota // the float32 themselves
	Int8x32                        // integers of 8 bits, with a scale and a sum for each 32 of them
	Int8x256                       // integers of 8 bits, with a scale for each 256 and a sum for each 16 of them
)

// BlockLen returns how many elements share a scale, 1 for Float.
func (form ActivationForm) BlockLen() int { return [...]int{1, 32, 256}[form] }

// GroupLen returns how many elements share a sum, 1 for Float, which has no sums.
func (form ActivationForm) GroupLen() int { return [...]int{1, 32, 16}[form] }

// Activation is rows of activations, [Rows, K], in one of the forms. Reserve makes room, and Prepare fills a row. The zero value is ready
// for Reserve. After Reserve the lengths of Q, D and Sums are those in their comments; for Float all three are unused, and the caller sets
// X.
type Activation struct {
	Form    ActivationForm
	Rows, K int
	X       []float32 // Float: [Rows, K], the caller's own memory
	Q       []int8    // [Rows, K]: the elements, X ≈ Q·D
	D       []float32 // [Rows, K/BlockLen]: scales
	Sums    []int32   // [Rows, K/GroupLen]: ΣQ of each group
}

// Reserve makes room for the given number of rows of k elements, which must be whole blocks of the form. Rows prepared before are
// lost. For Float it makes no room: the caller sets X.
func (a *Activation) Reserve(form ActivationForm, rows, k int) {
	a.Form, a.Rows, a.K = form, rows, k
	if form == Float {
		return
	}
	a.Q = resize(a.Q, rows*k)
	a.D = resize(a.D, rows*(k/form.BlockLen()))
	a.Sums = resize(a.Sums, rows*(k/form.GroupLen()))
}

// Row returns row t as an Activation of one row. Its slices are views of the same memory.
func (a *Activation) Row(t int) Activation { return a.Part(t, t+1) }

// Part returns rows [lo, hi) as an Activation. Its slices are views of the same memory.
func (a *Activation) Part(lo, hi int) Activation {
	part := Activation{Form: a.Form, Rows: hi - lo, K: a.K}
	if a.Form == Float {
		part.X = a.X[lo*a.K : hi*a.K]
		return part
	}
	blocks, groups := a.K/a.Form.BlockLen(), a.K/a.Form.GroupLen()
	part.Q = a.Q[lo*a.K : hi*a.K]
	part.D = a.D[lo*blocks : hi*blocks]
	part.Sums = a.Sums[lo*groups : hi*groups]
	return part
}

// Columns returns columns [lo, hi) of row t, which are whole blocks, as an Activation of one row, of a form other than Float. Its slices are
// views of the same memory.
func (a *Activation) Columns(t, lo, hi int) Activation {
	block, group := a.Form.BlockLen(), a.Form.GroupLen()
	from, to := t*a.K+lo, t*a.K+hi
	return Activation{
		Form: a.Form, Rows: 1, K: hi - lo, Q: a.Q[from:to], D: a.D[from/block : to/block], Sums: a.Sums[from/group : to/group],
	}
}

// CopyRow makes row to a copy of row from.
func (a *Activation) CopyRow(to, from int) {
	dst, src := a.Row(to), a.Row(from)
	copy(dst.X, src.X)
	copy(dst.Q, src.Q)
	copy(dst.D, src.D)
	copy(dst.Sums, src.Sums)
}

// Prepare brings x [K] into the form, as row t. For Float it does nothing: X is the caller's.
//
// A block's scale is d = max|x|/127, kept in float32, and Q = x·(1/d) rounded to nearest even, between −127 and 127. If all elements of a
// block are 0, or so small that 1/d overflows, Q = 0. An infinity makes the block's scale infinite and a NaN makes it NaN, both with Q = 0.
// The products are then NaN, so that a damaged model shows.
func (a *Activation) Prepare(t int, x []float32) {
	if a.Form == Float {
		return
	}
	row, block, group := a.Row(t), a.Form.BlockLen(), a.Form.GroupLen()
	for b := range row.D {
		in, q := x[b*block:(b+1)*block], row.Q[b*block:(b+1)*block]
		d := largest(in) / maxInt8
		inverse := reciprocal(d)
		row.D[b] = d
		for i, v := range in {
			q[i] = roundEven(float32(v * inverse)) // the conversion keeps the compiler from fusing it with the addition in roundEven
		}
	}
	for g := range row.Sums {
		sum := int32(0)
		for _, q := range row.Q[g*group : (g+1)*group] {
			sum += int32(q)
		}
		row.Sums[g] = sum
	}
}

// leastLargest is what PrepareWhole takes the largest magnitude of a row for if it is smaller.
const leastLargest = 1e-5

// PrepareWhole is Prepare with one scale for all of a row, as BitNet's activations have (arXiv 2402.17764, and AutoBitLinear of transformers): with
// s = 127/max(max|x|, 1e-5), each step in float32, Q = x·s rounded to nearest even, between −127 and 127, and each block's scale is 1/s. An infinity or
// a NaN makes the scale infinite or NaN, with Q = 0 or ±127. For Float X must be memory of the activation's own, and becomes the product of Q and the
// scale.
func (a *Activation) PrepareWhole(t int, x []float32) {
	most := largest(x)
	if most < leastLargest {
		most = leastLargest
	}
	s := maxInt8 / most
	d := 1 / s
	row := a.Row(t)
	if a.Form == Float {
		for i, v := range x {
			row.X[i] = float32(roundEven(float32(v*s))) * d
		}
		return
	}
	for b := range row.D {
		row.D[b] = d
	}
	group := a.Form.GroupLen()
	for g := range row.Sums {
		sum, q := int32(0), row.Q[g*group:(g+1)*group]
		for i, v := range x[g*group : (g+1)*group] {
			rounded := roundEven(float32(v * s)) // the conversion keeps the compiler from fusing it with the addition in roundEven
			q[i] = rounded
			sum += int32(rounded)
		}
		row.Sums[g] = sum
	}
}

// resize returns a slice of n elements, a part of s if s has room for them. The elements' values are undefined.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// roundEven rounds to the nearest integer, halves to even, and limits it to ±127; NaN becomes 0.
func roundEven(v float32) int8 {
	switch {
	case v >= maxInt8:
		return maxInt8
	case v <= -maxInt8:
		return -maxInt8
	case v != v:
		return 0
	}
	// From 2²³ to 2²⁴ neighbouring float32 are 1 apart, so that adding 1.5·2²³ rounds v to an integer, in the way that all
	// float32 are rounded: to nearest, ties to even. The half keeps negative v in this range, too.
	const shift = 0x1.8p23
	return int8(int32(v+shift) - shift)
}
