package storage

import "github.com/antigravity-go/antigravity/internal/exact"

// Step is an operation on the elements of a vector or a filter when they are read. Steps are comparable.
type Step interface {
	// Shape returns the shape of the result, for elements of a shape.
	Shape(of []int) []int
	// Apply computes the elements of the result from those of a shape. If the step does not change the shape, to may be from.
	Apply(to, from []float32, of []int)
}

// Plus adds a number to each element: norms of some folders are stored less one.
type Plus float32

// Times multiplies each element by a number.
type Times float32

// Decayed makes -exp(x) of each x: folders have logarithms of decays.
type Decayed struct{}

// Transposed makes [taps, channels] of a filter [channels, taps].
type Transposed struct{}

// Repeated repeats each element a number of times: a b becomes a a b b.
type Repeated int

// Shape returns of.
func (Plus) Shape(of []int) []int { return of }

// Shape returns of.
func (Times) Shape(of []int) []int { return of }

// Shape returns of.
func (Decayed) Shape(of []int) []int { return of }

// Shape swaps the two dimensions.
func (Transposed) Shape(of []int) []int { return []int{of[1], of[0]} }

// Shape multiplies the dimension.
func (n Repeated) Shape(of []int) []int { return []int{of[0] * int(n)} }

// Apply adds.
func (p Plus) Apply(to, from []float32, _ []int) {
	for i, v := range from {
		to[i] = v + float32(p)
	}
}

// Apply multiplies.
func (f Times) Apply(to, from []float32, _ []int) {
	for i, v := range from {
		to[i] = v * float32(f)
	}
}

// Apply computes -exp(x).
func (Decayed) Apply(to, from []float32, _ []int) {
	for i, v := range from {
		to[i] = -exact.Exp(v)
	}
}

// Apply transposes.
func (Transposed) Apply(to, from []float32, of []int) {
	channels, taps := of[0], of[1]
	for i, v := range from {
		to[i%taps*channels+i/taps] = v
	}
}

// Apply repeats.
func (n Repeated) Apply(to, from []float32, _ []int) {
	for i := range to {
		to[i] = from[i/int(n)]
	}
}
