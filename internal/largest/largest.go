// Package largest finds the largest of many numbers without ordering the rest.
//
// The best found so far lie in a heap whose root is the least of them, so that of a long list nearly every element costs one
// comparison (Knuth, The Art of Computer Programming, vol. 3, 5.2.3, on heaps). The heap is the caller's memory; in the end
// it is sorted where it lies.
package largest

// Find finds the len(indices) largest elements of x: values[i] is the i-th largest and indices[i] where it stands. Equal ones,
// as 0 and −0 are, come in the order of their indices, and NaN counts as larger than everything. values has the length of
// indices, which is at most x's; nothing is allocated.
func Find(x []float32, indices []int32, values []float32) {
	k := len(indices)
	if k == 0 {
		return
	}
	h := heap{indices, values[:k]}
	copy(h.values, x[:k])
	for i := range indices {
		indices[i] = int32(i)
	}
	for root := k/2 - 1; root >= 0; root-- {
		h.sink(root)
	}
	least := h.values[0]
	for i := k; i < len(x); i++ {
		v := x[i]
		if v <= least || least != least { // an equal one comes too late, and NaNs cannot be surpassed
			continue
		}
		h.indices[0], h.values[0] = int32(i), v
		h.sink(0)
		least = h.values[0]
	}
	for last := k - 1; last > 0; last-- { // the least to the end
		h.swap(0, last)
		heap{h.indices[:last], h.values[:last]}.sink(0)
	}
}

// heap is a binary heap of elements with their indices, in which none is before its parent.
type heap struct {
	indices []int32
	values  []float32
}

// before tells whether element i comes before element j in the result.
func (h heap) before(i, j int) bool {
	a, b := h.values[i], h.values[j]
	switch {
	case a > b, a != a && b == b:
		return true
	case a < b, b != b && a == a:
		return false
	}
	return h.indices[i] < h.indices[j]
}

func (h heap) swap(i, j int) {
	h.indices[i], h.indices[j] = h.indices[j], h.indices[i]
	h.values[i], h.values[j] = h.values[j], h.values[i]
}

// sink moves an element down to its place below the root.
func (h heap) sink(root int) {
	for {
		child := 2*root + 1
		if child >= len(h.indices) {
			return
		}
		if child+1 < len(h.indices) && h.before(child, child+1) {
			child++
		}
		if h.before(child, root) {
			return
		}
		h.swap(root, child)
		root = child
	}
}
