package selection

// Largest finds the len(indices) largest elements of x: values[i] is the i-th of them and indices[i] where it stands. values has
// the length of indices, which is at most x's; nothing is allocated.
//
// The best found so far lie in a heap whose root comes last among them, so that of a long list nearly every element costs one
// comparison (Knuth, The Art of Computer Programming, vol. 3, 5.2.3, on heaps). The heap is the caller's memory; in the end it is
// sorted where it lies.
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
		if v <= least || least != least { // an equal one comes too late, and nothing comes before NaN
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

// heap is a binary heap of elements with their indices, in which none comes before its parent.
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
