package queue

import "container/heap"

// waitingList is a linked list of one client's places that wait, in the order of their arrival. A Place is its own link, so that one that waits
// takes no further memory and leaves in constant time.
//
// Invariants: first and last are nil together, and exactly when len is 0; len counts the places from first along next.
type waitingList struct {
	first, last *Place
	len         int
}

// push adds p at the end.
func (l *waitingList) push(p *Place) {
	p.prev = l.last
	if l.last == nil {
		l.first = p
	} else {
		l.last.next = p
	}
	l.last = p
	l.len++
}

// remove takes p out, which is in the line.
func (l *waitingList) remove(p *Place) {
	if p.prev == nil {
		l.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		l.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.prev, p.next = nil, nil
	l.len--
}

// clientHeap is the clients that wait, as a heap of package container/heap: the client that gets the next free place is the first.
type clientHeap []*client

// moved restores a client's place in the heap after its places or its turn changed. A client that does not wait is not in the heap.
func (o *clientHeap) moved(c *client) {
	if c.line.len > 0 {
		heap.Fix(o, c.rank)
	}
}

// Len is part of heap.Interface.
func (o clientHeap) Len() int { return len(o) }

// Less reports whether the client at i gets a place before the one at j. No two clients have had the same turn.
func (o clientHeap) Less(i, j int) bool {
	a, b := o[i], o[j]
	return a.held < b.held || a.held == b.held && a.last < b.last
}

// Swap is part of heap.Interface.
func (o clientHeap) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].rank, o[j].rank = i, j
}

// Push is part of heap.Interface.
func (o *clientHeap) Push(x any) {
	c := x.(*client)
	c.rank = len(*o)
	*o = append(*o, c)
}

// Pop is part of heap.Interface.
func (o *clientHeap) Pop() any {
	last := len(*o) - 1
	c := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return c
}
