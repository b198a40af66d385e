package added

import (
	"iter"
	"sort"
	"strings"
)

// A Text is a text with trusted and other bytes. An added token is recognised only if all of its bytes are trusted. Bytes that a chat
// template itself writes are trusted; bytes of messages and other values from outside are not.
//
// A Text may be a part of a longer one. It then shares the longer one's spans, which count from the longer one's beginning and may reach
// beyond the part. Spans are in order, not empty, and no two of them overlap or touch.
type Text struct {
	s     string
	base  int    // the beginning of s in the text that spans count in
	spans []span // the trusted bytes
}

// span is the bytes [start, end) of a text.
type span struct{ start, end int }

// Trusted returns a text with all bytes trusted.
func Trusted(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{s: s, spans: []span{{0, len(s)}}}
}

// Join puts a text together from segments. The bool reports whether a segment is trusted. Cutting a segment in two makes no
// difference.
func Join(segments iter.Seq2[string, bool]) Text {
	var b textBuilder
	for s, trusted := range segments {
		b.write(s, trusted)
	}
	return b.text()
}

// String returns the text alone.
func (t Text) String() string { return t.s }

// trustedSpans calls yield with each run of trusted bytes, the last run first.
func (t Text) trustedSpans(yield func(start, end int)) {
	for i := len(t.spans) - 1; i >= 0; i-- {
		start, end := max(t.spans[i].start-t.base, 0), min(t.spans[i].end-t.base, len(t.s))
		if start < end {
			yield(start, end)
		}
	}
}

// slice returns the bytes [start, end) of the text.
func (t Text) slice(start, end int) Text {
	cut := Text{s: t.s[start:end], base: t.base + start}
	low := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].end > cut.base })
	high := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].start >= cut.base+len(cut.s) })
	if low < high {
		cut.spans = t.spans[low:high]
	}
	return cut
}

// AllTrusted reports whether every byte is trusted.
func (t Text) AllTrusted() bool {
	return t.s == "" || len(t.spans) > 0 && t.spans[0].start <= t.base && t.spans[0].end >= t.base+len(t.s)
}

// Replace replaces each occurrence of old, which must not be empty. A replacement is trusted if all bytes that it replaces
// were.
func (t Text) Replace(old, by string) Text {
	if !strings.Contains(t.s, old) {
		return t
	}
	var b textBuilder
	for at := 0; ; {
		n := strings.Index(t.s[at:], old)
		if n < 0 {
			b.append(t.slice(at, len(t.s)))
			return b.text()
		}
		b.append(t.slice(at, at+n))
		b.write(by, t.slice(at+n, at+n+len(old)).AllTrusted())
		at += n + len(old)
	}
}

// Map returns a text that next writes. Each call returns the bytes that replace those from the end of the call before up to from, until ok
// is false. They are trusted if all of the replaced bytes were.
func (t Text) Map(next func() (from int, to []byte, ok bool)) Text {
	var b textBuilder
	done := 0
	for {
		from, to, ok := next()
		if !ok {
			return b.text()
		}
		b.write(string(to), t.slice(done, from).AllTrusted())
		done = from
	}
}

// Prefix puts a prefix before the text. The prefix is trusted: it comes from the tokenizer.
func (t Text) Prefix(prefix string) Text {
	var b textBuilder
	b.write(prefix, true)
	b.append(t)
	return b.text()
}

// textBuilder builds a Text from parts; spans are as in a Text with base 0.
type textBuilder struct {
	strings.Builder
	spans []span
}

func (b *textBuilder) write(s string, trusted bool) {
	start := b.Len()
	b.WriteString(s)
	switch last := len(b.spans) - 1; {
	case !trusted || s == "":
	case last >= 0 && b.spans[last].end == start:
		b.spans[last].end = b.Len()
	default:
		b.spans = append(b.spans, span{start, b.Len()})
	}
}

func (b *textBuilder) append(t Text) {
	at := 0
	for _, s := range t.spans {
		start, end := max(s.start-t.base, at), min(s.end-t.base, len(t.s))
		b.write(t.s[at:start], false)
		b.write(t.s[start:end], true)
		at = end
	}
	b.write(t.s[at:], false)
}

func (b *textBuilder) text() Text { return Text{s: b.String(), spans: b.spans} }
