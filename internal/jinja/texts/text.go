// Package texts has strings that know where each of their bytes comes from ([Text]), and the meter that is asked before work is done on
// them or memory is taken ([Meter]).
//
// "Hello " of the template and "Ann" of the caller's message make "Hello Ann" with two spans: six bytes of origin 0 and three of the message's.
// Whatever is done then (trim, slice, split, upper case), each byte keeps its origin.
package texts

import (
	"context"
	"slices"
	"sort"
)

// Origin says where bytes of a text come from: 0 is the template itself, and the numbers of the others are the caller's. Bytes of a
// positive origin come from outside. Those of a negative one count as the template's, but can be distinguished.
type Origin int32

// Outside reports whether bytes of this origin are neither the template's nor count as its own.
func (o Origin) Outside() bool { return o > 0 }

// Text is a string that knows the origin of each of its bytes. Every operation keeps it; comparisons, lengths and tests
// do not see it.
type Text struct {
	s    string
	from *origins // nil: all of it is the template's
}

// origins are the spans of a text. They are never changed, so that texts share them.
//
// Invariants: spans[0].start is 0, starts increase, neighbours differ in their origin. A start may lie beyond the end of a
// text of a single origin only in that the text is empty.
type origins struct{ spans []span }

// span is a stretch of bytes of one origin, which reaches to the next span's start, or to the end of the text.
type span struct {
	start  int32
	origin Origin
}

// spanBytes is the memory of a span.
const spanBytes = 8

// From returns a text of one origin.
func From(s string, o Origin) Text {
	if o == 0 || s == "" {
		return Text{s: s}
	}
	return Text{s, &origins{[]span{{0, o}}}}
}

// Joined returns a text of parts. Nothing is paid for it: it is for texts that come with a call, not for what a template does.
func Joined(parts ...Text) Text {
	var all []byte
	var spans []span
	for _, t := range parts {
		for s, o := range t.Spans {
			if n := len(spans); n == 0 || spans[n-1].origin != o {
				spans = append(spans, span{int32(len(all)), o})
			}
			all = append(all, s...)
		}
	}
	return Text{string(all), &origins{spans}}.Slice(0, len(all))
}

// Own returns a text of origin 0: one that the template or this package writes.
func Own(s string) Text { return Text{s: s} }

// String returns the text without its origins.
func (t Text) String() string { return t.s }

// Spans calls yield for each stretch of one origin, in order.
func (t Text) Spans(yield func(s string, o Origin) bool) {
	if t.from == nil {
		if t.s != "" {
			yield(t.s, 0)
		}
		return
	}
	spans := t.from.spans
	for i, x := range spans {
		end := len(t.s)
		if i+1 < len(spans) {
			end = int(spans[i+1].start)
		}
		if int(x.start) < end && !yield(t.s[x.start:end], x.origin) {
			return
		}
	}
}

// Map applies change to each stretch of one origin; the result has the same origin.
func (t Text) Map(change func(s string) string) Text {
	m := NewMeter(context.Background(), 1)
	b := m.Builder()
	for s, o := range t.Spans {
		b.Write(change(s), o)
	}
	out, _ := b.Text()
	return out
}

// Single returns the origin of a text that has only one.
func (t Text) Single() (Origin, bool) {
	switch {
	case t.from == nil:
		return 0, true
	case len(t.from.spans) == 1:
		return t.from.spans[0].origin, true
	}
	return 0, false
}

// Slice is t.s[i:j] with its origins. It takes memory for the origins only if the text has several.
func (t Text) Slice(i, j int) Text {
	if t.from == nil || i >= j {
		return Text{s: t.s[i:j]}
	}
	spans := t.from.spans
	if len(spans) == 1 {
		return Text{t.s[i:j], t.from}
	}
	first := spanAt(spans, i)
	last := first
	for last+1 < len(spans) && int(spans[last+1].start) < j {
		last++
	}
	if first == last {
		return From(t.s[i:j], spans[first].origin)
	}
	cut := slices.Clone(spans[first : last+1])
	for k := range cut {
		cut[k].start = max(0, cut[k].start-int32(i))
	}
	return Text{t.s[i:j], &origins{cut}}
}

// OriginAt returns the origin of byte i.
func (t Text) OriginAt(i int) Origin {
	if t.from == nil {
		return 0
	}
	return t.from.spans[spanAt(t.from.spans, i)].origin
}

// spanAt returns the index of the span that holds byte i.
func spanAt(spans []span, i int) int {
	return sort.Search(len(spans), func(k int) bool { return int(spans[k].start) > i }) - 1
}

// Bytes returns the memory that a copy of the text takes, its spans included.
func (t Text) Bytes() int {
	if t.from == nil || len(t.from.spans) == 1 {
		return len(t.s)
	}
	return len(t.s) + spanBytes*len(t.from.spans)
}

// SpanCount returns how many stretches of one origin there are, at most.
func (t Text) SpanCount() int {
	if t.from == nil {
		return 1
	}
	return len(t.from.spans)
}

// with is a text of t's single origin o.
func (t Text) with(s string, o Origin) Text {
	if s == "" {
		return Text{}
	}
	if o == 0 {
		return Text{s: s}
	}
	return Text{s, t.from}
}
