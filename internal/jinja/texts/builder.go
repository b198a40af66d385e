package texts

import (
	"slices"
	"strings"
)

// A Builder puts a text together. It asks the meter before it grows, and after a refusal does nothing more.
type Builder struct {
	Err error // the refusal, or nil

	m     *Meter
	b     strings.Builder
	spans []span
}

// Builder returns a builder that asks the meter.
func (m *Meter) Builder() *Builder { return &Builder{m: m} }

// Reserve makes room for n bytes and k spans.
func (b *Builder) Reserve(n, k int) bool {
	if b.Err != nil {
		return false
	}
	if free := b.b.Cap() - b.b.Len(); n > free {
		if b.Err = b.m.Take(2*b.b.Cap() + n + 16); b.Err != nil { // what Grow allocates
			return false
		}
		b.b.Grow(n)
	}
	if k > cap(b.spans)-len(b.spans) {
		grow := max(k, len(b.spans), 2)
		if b.Err = b.m.Take(spanBytes * (len(b.spans) + grow)); b.Err != nil {
			return false
		}
		b.spans = slices.Grow(b.spans, grow)
	}
	b.Err = b.m.Spend(n>>3 + 8)
	return b.Err == nil
}

// Write appends bytes of one origin.
func (b *Builder) Write(s string, o Origin) {
	if s == "" {
		return
	}
	if n := len(b.spans); n == 0 && o == 0 || n > 0 && b.spans[n-1].origin == o {
		if b.Reserve(len(s), 0) {
			b.b.WriteString(s)
		}
		return
	}
	if !b.Reserve(len(s), 2) {
		return
	}
	if len(b.spans) == 0 && b.b.Len() > 0 {
		b.spans = append(b.spans, span{0, 0})
	}
	b.spans = append(b.spans, span{int32(b.b.Len()), o})
	b.b.WriteString(s)
}

// Own appends a string of origin 0: one that the template or this package writes.
func (b *Builder) Own(s string) { b.Write(s, 0) }

// Add appends a text.
func (b *Builder) Add(t Text) {
	if t.from == nil {
		b.Write(t.s, 0)
		return
	}
	b.Reserve(len(t.s), 0)
	for s, o := range t.Spans {
		b.Write(s, o)
	}
}

// Part appends the bytes i to j of a text.
func (b *Builder) Part(t Text, i, j int) {
	if t.from == nil || i >= j {
		b.Own(t.s[i:j])
		return
	}
	spans := t.from.spans
	for k := spanAt(spans, i); i < j; k++ {
		end := j
		if k+1 < len(spans) {
			end = min(j, int(spans[k+1].start))
		}
		b.Write(t.s[i:end], spans[k].origin)
		i = end
	}
}

// Text returns the text, or the refusal. The builder must not be used after it.
func (b *Builder) Text() (Text, error) {
	if b.Err != nil {
		return Text{}, b.Err
	}
	if len(b.spans) == 0 {
		return Text{s: b.b.String()}, nil
	}
	return Text{b.b.String(), &origins{b.spans}}, nil
}

// Concat joins texts.
func (m *Meter) Concat(separator Text, parts ...Text) (Text, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	n, k := 0, 2
	for i, p := range parts {
		if i > 0 {
			n += len(separator.s)
			k += separator.SpanCount()
		}
		n += len(p.s)
		k += p.SpanCount()
		if n > MaxMemory {
			break
		}
	}
	b := m.Builder()
	if n > 0 {
		b.Reserve(n, 0)
	}
	for i, p := range parts {
		if i > 0 {
			b.Add(separator)
		}
		b.Add(p)
		if b.Err != nil {
			break
		}
	}
	return b.Text()
}

// Mapped is Text.Map within the budget, for a change that looks at every byte and at most doubles the length.
func (m *Meter) Mapped(t Text, change func(string) string) (Text, error) {
	if err := m.Spend(16 * len(t.s)); err != nil {
		return Text{}, err
	}
	if err := m.Take(2 * len(t.s)); err != nil {
		return Text{}, err
	}
	if o, ok := t.Single(); ok {
		return t.with(change(t.s), o), nil
	}
	b := m.Builder()
	for s, o := range t.Spans {
		b.Write(change(s), o)
	}
	return b.Text()
}
