package hub

import "slices"

// span is the bytes of a file from one offset to before another.
type span struct{ from, to int64 }

// spans are in order. They neither overlap nor touch, and no span is empty.
type spans []span

// add adds a span.
func (s spans) add(n span) spans {
	if n.from >= n.to {
		return s
	}
	first := 0 // of the spans that n overlaps or touches
	for first < len(s) && s[first].to < n.from {
		first++
	}
	last := first
	for ; last < len(s) && s[last].from <= n.to; last++ {
		n.from, n.to = min(n.from, s[last].from), max(n.to, s[last].to)
	}
	return slices.Replace(s, first, last, n)
}

// gap returns the first span within in that is missing. It is empty if nothing is missing.
func (s spans) gap(in span) span {
	for _, have := range s {
		if have.to <= in.from {
			continue
		}
		if have.from > in.from {
			return span{in.from, min(in.to, have.from)}
		}
		if in.from = have.to; in.from >= in.to {
			return span{in.to, in.to}
		}
	}
	return in
}

// size returns how many bytes there are.
func (s spans) size() (n int64) {
	for _, have := range s {
		n += have.to - have.from
	}
	return n
}
