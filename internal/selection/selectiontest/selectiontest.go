// Package selectiontest is for tests of selections: it has the order that package selection defines, by sorting, and lists
// of numbers that are hard to select from.
package selectiontest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Largest returns the indices of all elements of x, the largest element first, by package selection's rule.
func Largest(x []float32) []int32 {
	return sorted(x, func(a, b float32) bool { return a > b })
}

// Smallest returns the indices of all elements of x, the smallest element first, by package selection's rule.
func Smallest(x []float32) []int32 {
	return sorted(x, func(a, b float32) bool { return a < b })
}

// sorted returns the indices of all elements: NaN first, and equals in their order.
func sorted(x []float32, before func(a, b float32) bool) []int32 {
	order := make([]int32, len(x))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := x[i], x[j]
		switch {
		case before(a, b), a != a && b == b:
			return -1
		case before(b, a), b != b && a == a:
			return 1
		}
		return cmp.Compare(i, j)
	})
	return order
}

// List is a list of numbers with a name for messages.
type List struct {
	Name    string
	Numbers []float32
}

// Lists returns short and long lists, with ties, zeros of both signs, infinities, NaNs, and ascending and descending
// numbers.
func Lists() []List {
	nan, inf, zero := float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1))
	random := rand.New(rand.NewPCG(1, 2))
	lists := []List{
		{"one", []float32{3}},
		{"zeros of both signs", []float32{-1, zero, 0, zero, 1}},
		{"NaN among others", []float32{1, nan, inf, nan, -inf, 2}},
		{"NaN only", []float32{nan, nan, nan}},
		{"NaN of both signs", []float32{nan, 1, -nan, math.Float32frombits(0xffc00001), -1}},
		{"-Inf only", []float32{-inf, -inf, -inf}},
		{"infinities", []float32{-inf, inf, 0, inf, -inf}},
		{"equal", slices.Repeat([]float32{0.7}, 50)},
		{"subnormal", []float32{0x1p-149, zero, -0x1p-149, 0, 0x1p-148}},
	}
	const n = 3000
	for _, kind := range []struct {
		name string
		at   func(i int) float32
	}{
		{"ascending", func(i int) float32 { return float32(i) }},
		{"descending", func(i int) float32 { return float32(-i) }},
		{"many of few", func(int) float32 { return float32(random.IntN(5)) }},
		{"random", func(int) float32 { return float32(random.NormFloat64()) }},
		{"any bits", func(int) float32 { return math.Float32frombits(random.Uint32()) }},
	} {
		list := List{kind.name, make([]float32, n)}
		for i := range list.Numbers {
			list.Numbers[i] = kind.at(i)
		}
		lists = append(lists, list)
	}
	return lists
}
