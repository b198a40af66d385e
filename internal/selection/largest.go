package selection

import "slices"

// usualMost is how many elements Largest finds without memory of its own: the most that a sampler asks for at each token.
const usualMost = 256

// Largest finds the len(indices) largest elements of x and stores them in order, the largest first: values[i] is the i-th of them, and
// indices[i] its index in x. len(values) is at least len(indices), and len(indices) at most len(x). Nothing is allocated if len(indices) is
// at most 256.
//
// The largest elements found so far lie in a heap with the smallest of them at its root, so that nearly every element of a long list takes
// one comparison (Knuth, The Art of Computer Programming, vol. 3, 5.2.3, on heaps). An element of the heap is one number, which has both
// the size of the element of x and its index: see indexed.
func Largest(x []float32, indices []int32, values []float32) {
	k := len(indices)
	if k == 0 {
		return
	}
	var memory [usualMost]uint64
	h := heap(memory[:0])
	if k > usualMost {
		h = make(heap, 0, k)
	}
	for i, v := range x[:k] {
		h = append(h, indexed(descendingKey(v), int32(i)))
	}
	for root := k/2 - 1; root >= 0; root-- {
		h.sink(root)
	}
	least := x[at(h[0])]
	for i := k; i < len(x); i++ {
		v := x[i]
		if v <= least || least != least { // of equals the first comes first, and nothing comes before NaN
			continue
		}
		h[0] = indexed(descendingKey(v), int32(i))
		h.sink(0)
		least = x[at(h[0])]
	}
	slices.Sort(h)
	for i, key := range h {
		indices[i], values[i] = at(key), x[at(key)]
	}
}

// heap is a binary heap of keys. No key is smaller than its children.
type heap []uint64

// sink moves the key at root down to its place.
func (h heap) sink(root int) {
	key := h[root]
	for {
		child := 2*root + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1] > h[child] {
			child++
		}
		if h[child] <= key {
			break
		}
		h[root] = h[child]
		root = child
	}
	h[root] = key
}
