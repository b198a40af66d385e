package selection

// Largest finds the len(indices) largest elements of x and stores them in order, the largest first: values[i] is the i-th of
// them, and indices[i] its index in x. len(values) is at least len(indices), and len(indices) at most len(x). Nothing is
// allocated.
//
// The largest elements found so far lie in a heap with the smallest of them at its root, so that nearly every element of a
// long list takes one comparison (Knuth, The Art of Computer Programming, vol. 3, 5.2.3, on heaps). indices and values are
// the heap's memory, and are sorted in place in the end.
func Largest(x []float32, indices []int32, values []float32) {
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
		if v <= least || least != least { // of equals the first comes first, and nothing comes before NaN
			continue
		}
		h.indices[0], h.values[0] = int32(i), v
		h.sink(0)
		least = h.values[0]
	}
	for last := k - 1; last > 0; last-- { // the least element goes to the end, and the heap gets shorter
		h.swap(0, last)
		heap{h.indices[:last], h.values[:last]}.sink(0)
	}
}

// heap is a binary heap of elements with their indices, both of the same length. No element comes before its children in the
// result's order, so that the root comes last.
type heap struct {
	indices []int32
	values  []float32
}

// before tells whether element i comes before element j in the result.
func (h heap) before(i, j int) bool {
	if order := compare(h.values[i], h.values[j]); order != 0 {
		return order < 0
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
