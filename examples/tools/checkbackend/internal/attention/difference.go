package attention

import (
	"fmt"
	"math"
	"strings"
)

// difference is how far a step's values are from what they should be.
type difference struct {
	Values   int     `json:"values"`       // how many were compared
	Bits     int     `json:"different"`    // how many have other bits
	Abs      float64 `json:"max_abs"`      // the largest difference
	Relative float64 `json:"max_relative"` // the largest difference as a part of the largest element of its vector
	ULP      uint64  `json:"max_ulp"`      // the largest number of steps between neighbouring float32 values
	first    *place  // the first value with other bits
	worst    *place  // the value with the largest relative difference
	vectors  [2]near // the vectors of first, with what stands around it
}

// near is a vector's values around a place.
type near struct {
	from      int
	got, want []float64
}

// place is one value, by its coordinates.
type place struct {
	at        []int
	got, want float64
}

// compare compares values with wanted ones. Relative differences are parts of the largest element of a vector, or of least if that is more.
func compare(got []vector, want [][]float64, least float64) (difference, error) {
	d := difference{}
	if len(got) != len(want) {
		return d, fmt.Errorf("%d vectors where there should be %d", len(got), len(want))
	}
	for i, v := range got {
		if len(v.x) != len(want[i]) {
			return d, fmt.Errorf("%d values at %v where there should be %d", len(v.x), v.at, len(want[i]))
		}
		scale := least
		for _, w := range want[i] {
			if !math.IsInf(w, 0) {
				scale = max(scale, math.Abs(w))
			}
		}
		for j, x := range v.x {
			d.Values++
			d.add(&v, j, x, want[i], scale)
		}
	}
	return d, nil
}

// add takes a value in.
func (d *difference) add(v *vector, j int, x float32, want []float64, scale float64) {
	w := float32(want[j])
	if math.Float32bits(x) == math.Float32bits(w) && float64(w) == want[j] || x != x && w != w {
		return
	}
	here := func() *place { return &place{append(append([]int(nil), v.at...), j), float64(x), want[j]} }
	d.Bits++
	if d.first == nil {
		d.first = here()
		d.vectors[0] = around(v.x, want, j)
	}
	abs := math.Abs(float64(x) - want[j])
	switch {
	case float64(x) == want[j]: // infinities of one sign, or zeros of two
		abs = 0
	case abs != abs:
		abs = math.Inf(1)
	}
	relative := abs
	if scale > 0 && abs > 0 {
		relative = abs / scale
	}
	if d.worst == nil || relative > d.Relative {
		d.worst, d.Relative = here(), relative
		d.vectors[1] = around(v.x, want, j)
	}
	d.Abs, d.ULP = max(d.Abs, abs), max(d.ULP, distance(x, w))
}

// around returns element j and its neighbours, two on each side.
func around(x []float32, want []float64, j int) near {
	n := near{from: max(j-2, 0)}
	for i := n.from; i < min(j+3, len(x)); i++ {
		n.got, n.want = append(n.got, float64(x[i])), append(n.want, want[i])
	}
	return n
}

// distance counts the float32 values from one to another. A NaN is as far from everything as can be.
func distance(a, b float32) uint64 {
	if a != a || b != b {
		return math.MaxUint32
	}
	order := func(x float32) int64 {
		bits := int64(math.Float32bits(x))
		if bits >= 1<<31 {
			return 1<<31 - bits
		}
		return bits
	}
	d := order(a) - order(b)
	return uint64(max(d, -d))
}

// wide returns vectors as wanted values.
func wide(list []vector) [][]float64 {
	all := make([][]float64, len(list))
	for i, v := range list {
		all[i] = make([]float64, len(v.x))
		for j, x := range v.x {
			all[i][j] = float64(x)
		}
	}
	return all
}

// text names a place, such as "query 3, head 1, dim 5: got 1, want 2".
func (p *place) text(names []string) string {
	var b strings.Builder
	for i, n := range p.at {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", names[i], n)
	}
	fmt.Fprintf(&b, ": got %.9g, want %.9g", p.got, p.want)
	return b.String()
}
