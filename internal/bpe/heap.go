package bpe

// A binary heap of integers, least first. (container/heap calls through an interface, which here would cost more than the
// comparisons.)

// heapify makes a heap of h.
func heapify(h []uint64) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		siftDown(h, i)
	}
}

// heapPush adds x.
func heapPush(h []uint64, x uint64) []uint64 {
	h = append(h, x)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent] <= x {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = x
	return h
}

// heapPop removes h[0], the least element.
func heapPop(h []uint64) []uint64 {
	n := len(h) - 1
	h[0] = h[n]
	h = h[:n]
	siftDown(h, 0)
	return h
}

// siftDown restores the heap if only h[i] may be greater than its children: it moves h[i] down to its place.
func siftDown(h []uint64, i int) {
	if i >= len(h) {
		return
	}
	x := h[i]
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if x <= h[child] {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = x
}
