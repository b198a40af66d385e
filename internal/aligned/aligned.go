// Package aligned has texts that normalizers change, and that know where each of their bytes comes from. The places are those of Hugging Face's
// tokenizers. For example, NFC makes one character of "e" and a combining accent; its place is that of the "e". A Chinese character that gets spaces
// around it shares its place with them.
package aligned

import (
	"iter"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Span is a stretch of the original text, in bytes.
type Span struct{ Start, End int32 }

// Text is a text, and for each byte of it the character of the original that it comes from.
type Text struct {
	Text  string
	Spans []Span // len(Text)
}

// Of returns a text as it is. A byte that belongs to no character of UTF-8 is by itself.
func Of(text string) *Text {
	t := &Text{text, make([]Span, 0, len(text))}
	for at := 0; at < len(text); {
		_, n := utf8.DecodeRuneInString(text[at:])
		for range n {
			t.Spans = append(t.Spans, Span{int32(at), int32(at + n)})
		}
		at += n
	}
	return t
}

// Valid replaces each run of bytes that are not UTF-8 by U+FFFD.
func (t *Text) Valid() {
	if utf8.ValidString(t.Text) {
		return
	}
	var b builder
	for at := 0; at < len(t.Text); {
		r, n := utf8.DecodeRuneInString(t.Text[at:])
		end := at + n
		for r == utf8.RuneError && n == 1 && end < len(t.Text) {
			if next, size := utf8.DecodeRuneInString(t.Text[end:]); next != utf8.RuneError || size != 1 {
				break
			}
			end++
		}
		b.add(r, Span{t.Spans[at].Start, t.Spans[end-1].End})
		at = end
	}
	*t = b.text()
}

// Slice returns a part of the text, which shares its memory.
func (t *Text) Slice(from, to int) Text { return Text{t.Text[from:to], t.Spans[from:to]} }

// Place returns the stretch of the original that the bytes from one to another, at least one, come from.
func (t *Text) Place(from, to int) Span { return Span{t.Spans[from].Start, t.Spans[to-1].End} }

// builder makes a text.
type builder struct {
	b     []byte
	spans []Span
}

func (b *builder) add(r rune, at Span) {
	before := len(b.b)
	b.b = utf8.AppendRune(b.b, r)
	for range len(b.b) - before {
		b.spans = append(b.spans, at)
	}
}

func (b *builder) text() Text { return Text{string(b.b), b.spans} }

// Edit is a character of a new text. Change is 0 if it replaces the next character of the old one, 1 if it comes on top of the character before, and
// −n if it replaces the next one, and the n after that are dropped.
type Edit struct {
	Rune   rune
	Change int
}

// Transform replaces the text by another one. The first skip characters of the old one are dropped.
func (t *Text) Transform(edits []Edit, skip int) {
	at := 0
	drop := func(n int) (size int) { // returns the bytes of the first dropped character
		for i := range n {
			if at == len(t.Text) {
				break
			}
			_, n := utf8.DecodeRuneInString(t.Text[at:])
			if at += n; i == 0 {
				size = n
			}
		}
		return size
	}
	drop(skip)
	var b builder
	for _, e := range edits {
		var from Span
		switch {
		case e.Change <= 0 && at < len(t.Spans):
			from = t.Spans[at]
		case at > 0:
			from = t.Spans[at-1]
		}
		if b.add(e.Rune, from); e.Change <= 0 {
			drop(1 - e.Change)
		}
	}
	*t = b.text()
}

// Map replaces each character c by change(c), or drops it if that is −1.
func (t *Text) Map(change func(rune) rune) {
	var b builder
	for at, r := range t.Text {
		if r = change(r); r >= 0 {
			b.add(r, t.Spans[at])
		}
	}
	*t = b.text()
}

// Trim keeps the bytes from one to another.
func (t *Text) Trim(from, to int) { *t = t.Slice(from, to) }

// Prepend puts a prefix before a text that is not empty. Its place is that of the first character.
func (t *Text) Prepend(prefix string) {
	if t.Text == "" {
		return
	}
	spans := make([]Span, len(prefix), len(prefix)+len(t.Spans))
	for i := range spans {
		spans[i] = t.Spans[0]
	}
	*t = Text{prefix + t.Text, append(spans, t.Spans...)}
}

// Replace replaces each match. matches yields the begin and the end of each match in a text. The place of a replacement is that of the match's last
// character.
func (t *Text) Replace(matches func(text string) iter.Seq2[int, int], by string) {
	var b builder
	done := 0
	keep := func(to int) {
		b.b, b.spans = append(b.b, t.Text[done:to]...), append(b.spans, t.Spans[done:to]...)
	}
	for start, end := range matches(t.Text) {
		keep(start)
		for _, r := range by {
			b.add(r, t.Spans[max(end-1, 0)])
		}
		done = end
	}
	keep(len(t.Text))
	*t = b.text()
}

// ReplaceAll is Replace for the matches of a text.
func (t *Text) ReplaceAll(old, by string) {
	if !strings.Contains(t.Text, old) {
		return
	}
	t.Replace(func(text string) iter.Seq2[int, int] {
		return func(yield func(int, int) bool) {
			for at := 0; ; {
				n := strings.Index(text[at:], old)
				if n < 0 || !yield(at+n, at+n+len(old)) {
					return
				}
				at += n + len(old)
			}
		}
	}, by)
}

// Form brings the text into one of Unicode's normal forms. normal does the same to a string, and decides if its tables differ from those here.
func (t *Text) Form(f norm.Form, normal func(string) string) {
	want := normal(t.Text)
	if want == t.Text {
		return
	}
	before := *t
	apart := norm.NFD
	if f == norm.NFKC || f == norm.NFKD {
		apart = norm.NFKD
	}
	edits := decomposed(t.Text, apart)
	if f == norm.NFC || f == norm.NFKC {
		edits = composed(edits)
	}
	if t.Transform(edits, 0); t.Text != want {
		*t = before
		t.become(want)
	}
}

// become replaces the text by another one. What stands between their common beginning and their common end has one place.
func (t *Text) become(text string) {
	begin := 0
	for begin < min(len(text), len(t.Text)) && text[begin] == t.Text[begin] {
		begin++
	}
	end := 0
	for end < min(len(text), len(t.Text))-begin && text[len(text)-1-end] == t.Text[len(t.Text)-1-end] {
		end++
	}
	spans := append(make([]Span, 0, len(text)), t.Spans[:begin]...)
	var middle Span
	switch last := len(t.Text) - end; {
	case last > begin:
		middle = t.Place(begin, last)
	case begin > 0:
		middle = t.Spans[begin-1]
	}
	for range len(text) - begin - end {
		spans = append(spans, middle)
	}
	*t = Text{text, append(spans, t.Spans[len(t.Text)-end:]...)}
}

// decomposed takes characters apart, and puts the marks after each in their order.
func decomposed(text string, f norm.Form) (edits []Edit) {
	var classes []uint8
	sorted := 0
	order := func() { // by insertion: marks of the same class keep their order
		for i := sorted + 1; i < len(edits); i++ {
			for j := i; j > sorted && classes[j-1] > classes[j]; j-- {
				edits[j-1], edits[j], classes[j-1], classes[j] = edits[j], edits[j-1], classes[j], classes[j-1]
			}
		}
		sorted = len(edits)
	}
	push := func(r rune, change int) {
		class := uint8(0)
		if r >= firstMark {
			class = norm.NFD.PropertiesString(string(r)).CCC()
		}
		if class == 0 || len(edits)-sorted > mostMarks {
			order()
		}
		edits, classes = append(edits, Edit{r, change}), append(classes, class)
		if class == 0 {
			sorted = len(edits)
		}
	}
	for _, r := range text {
		if r < firstComposed {
			push(r, 0)
			continue
		}
		change := 0
		for _, part := range f.String(string(r)) {
			push(part, change)
			change = 1
		}
	}
	order()
	return edits
}

// The first characters that are marks, and that may be taken apart.
const (
	firstMark     = 0x300
	firstComposed = 0xA0
)

// mostMarks is how many marks are ordered at a time: more follow no character of any writing, and ordering takes time in proportion to the square.
const mostMarks = 64

// composed puts characters together with the marks after them.
func composed(edits []Edit) []Edit {
	out := make([]Edit, 0, len(edits))
	base := -1 // the place in out of the character that marks join
	last := uint8(0)
	for _, e := range edits {
		class := uint8(0)
		if e.Rune >= firstMark {
			class = norm.NFD.PropertiesString(string(e.Rune)).CCC()
		}
		next := base >= 0 && base == len(out)-1 // nothing stands between
		if base >= 0 && e.Rune >= firstMark && (next || last < class) {
			if whole, ok := pair(out[base].Rune, e.Rune); ok {
				out[base] = Edit{whole, out[base].Change + e.Change - 1}
				continue
			}
		}
		if last = class; class == 0 {
			base = len(out)
		}
		out = append(out, e)
	}
	return out
}

// pair returns the character that two others make together.
func pair(a, b rune) (rune, bool) {
	both := norm.NFC.String(string(a) + string(b))
	r, n := utf8.DecodeRuneInString(both)
	return r, n == len(both)
}
