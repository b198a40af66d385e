package jinja

import (
	"context"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// Origin says where bytes of a text come from: 0 is the template itself, and the numbers of the others are the caller's.
// Bytes of a positive origin come from outside. Those of a negative one count as the template's, but can be told apart.
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
	m := newMeter(context.Background())
	b := builder{m: &m}
	for s, o := range t.Spans {
		b.write(change(s), o)
	}
	out, _ := b.text()
	return out
}

// single returns the origin of a text that has only one.
func (t Text) single() (Origin, bool) {
	switch {
	case t.from == nil:
		return 0, true
	case len(t.from.spans) == 1:
		return t.from.spans[0].origin, true
	}
	return 0, false
}

// slice is t.s[i:j] with its origins. It takes memory for the origins only where the text has several.
func (t Text) slice(i, j int) Text {
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

// originAt returns the origin of byte i.
func (t Text) originAt(i int) Origin {
	if t.from == nil {
		return 0
	}
	return t.from.spans[spanAt(t.from.spans, i)].origin
}

// spanAt returns the index of the span that holds byte i.
func spanAt(spans []span, i int) int {
	return sort.Search(len(spans), func(k int) bool { return int(spans[k].start) > i }) - 1
}

// bytes returns the memory that a copy of the text takes, its spans included.
func (t Text) bytes() int {
	if t.from == nil || len(t.from.spans) == 1 {
		return len(t.s)
	}
	return len(t.s) + spanBytes*len(t.from.spans)
}

// A builder puts a text together. It asks the meter before it grows, and after a refusal does nothing more.
type builder struct {
	m     *meter
	b     strings.Builder
	spans []span
	err   error
}

// reserve makes room for n bytes and k spans.
func (b *builder) reserve(n, k int) bool {
	if b.err != nil {
		return false
	}
	if free := b.b.Cap() - b.b.Len(); n > free {
		if b.err = b.m.take(2*b.b.Cap() + n + 16); b.err != nil { // what Grow allocates
			return false
		}
		b.b.Grow(n)
	}
	if k > cap(b.spans)-len(b.spans) {
		grow := max(k, len(b.spans), 2)
		if b.err = b.m.take(spanBytes * (len(b.spans) + grow)); b.err != nil {
			return false
		}
		b.spans = slices.Grow(b.spans, grow)
	}
	b.err = b.m.spend(n>>3 + smallDict)
	return b.err == nil
}

// write appends bytes of one origin.
func (b *builder) write(s string, o Origin) {
	if s == "" {
		return
	}
	if n := len(b.spans); n == 0 && o == 0 || n > 0 && b.spans[n-1].origin == o {
		if b.reserve(len(s), 0) {
			b.b.WriteString(s)
		}
		return
	}
	if !b.reserve(len(s), 2) {
		return
	}
	if len(b.spans) == 0 && b.b.Len() > 0 {
		b.spans = append(b.spans, span{0, 0})
	}
	b.spans = append(b.spans, span{int32(b.b.Len()), o})
	b.b.WriteString(s)
}

// own appends a string of origin 0: one that the template or this package writes.
func (b *builder) own(s string) { b.write(s, 0) }

func (b *builder) add(t Text) {
	if t.from == nil {
		b.write(t.s, 0)
		return
	}
	b.reserve(len(t.s), 0)
	for s, o := range t.Spans {
		b.write(s, o)
	}
}

// part appends t.s[i:j].
func (b *builder) part(t Text, i, j int) {
	if t.from == nil || i >= j {
		b.own(t.s[i:j])
		return
	}
	spans := t.from.spans
	for k := spanAt(spans, i); i < j; k++ {
		end := j
		if k+1 < len(spans) {
			end = min(j, int(spans[k+1].start))
		}
		b.write(t.s[i:end], spans[k].origin)
		i = end
	}
}

func (b *builder) text() (Text, error) {
	if b.err != nil {
		return Text{}, b.err
	}
	if len(b.spans) == 0 {
		return Text{s: b.b.String()}, nil
	}
	return Text{b.b.String(), &origins{b.spans}}, nil
}

// concat joins texts.
func (m *meter) concat(separator Text, parts ...Text) (Text, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	n, k := 0, 2
	for i, p := range parts {
		if i > 0 {
			n += len(separator.s)
			k += separator.spanCount()
		}
		n += len(p.s)
		k += p.spanCount()
		if n > maxMemory {
			break
		}
	}
	b := builder{m: m}
	if n > 0 {
		b.reserve(n, 0)
	}
	for i, p := range parts {
		if i > 0 {
			b.add(separator)
		}
		b.add(p)
		if b.err != nil {
			break
		}
	}
	return b.text()
}

func (t Text) spanCount() int {
	if t.from == nil {
		return 1
	}
	return len(t.from.spans)
}

// mapped is Text.Map within the budget, for a change that looks at every byte and at most doubles the length.
func (m *meter) mapped(t Text, change func(string) string) (Text, error) {
	if err := m.spend(16 * len(t.s)); err != nil {
		return Text{}, err
	}
	if err := m.take(2 * len(t.s)); err != nil {
		return Text{}, err
	}
	if o, ok := t.single(); ok {
		return t.with(change(t.s), o), nil
	}
	b := builder{m: m}
	for s, o := range t.Spans {
		b.write(change(s), o)
	}
	return b.text()
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

// count is the number of characters of a text.
func (m *meter) count(t Text) (int, error) {
	return utf8.RuneCountInString(t.s), m.spend(len(t.s))
}

// window returns the bytes that count characters from a character on take, in a string of n.
func (m *meter) window(s string, n, from, count int) (start, end int, err error) {
	if n == len(s) {
		return from, from + count, nil
	}
	start = offset(s, from)
	end = start + offset(s[start:], count)
	return start, end, m.spend(4 * end)
}

// offset returns the byte at which character i begins.
func offset(s string, i int) int {
	at := 0
	for ; i > 0 && at < len(s); i-- {
		_, n := utf8.DecodeRuneInString(s[at:])
		at += n
	}
	return at
}
