package hftok

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/aligned"
	"github.com/antigravity-go/antigravity/internal/characters"
	"github.com/antigravity-go/antigravity/internal/split"
)

// A piece is a stretch of text on its way through the pre-tokenizers.
type piece struct {
	text  string
	first bool           // it begins the whole text
	spans []aligned.Span // of the bytes of the text; nil if the places are not asked for
}

// part returns a part of the piece.
func (p *piece) part(from, to int) piece {
	part := piece{text: p.text[from:to], first: p.first && from == 0}
	if p.spans != nil {
		part.spans = p.spans[from:to]
	}
	return part
}

// A splitStep is a pre-tokenizer: it splits pieces further.
type splitStep func(pieces []piece) []piece

// A finder returns the begin and the end of the next delimiter in s, at byte i or later. start is len(s) if there is no further delimiter.
type finder func(s string, i int) (start, end int)

// splitAt returns the step that splits at delimiters.
func splitAt(find finder, b split.Behavior) splitStep {
	return func(pieces []piece) []piece {
		var out []piece
		for _, p := range pieces {
			from := 0 // p.text[:from] is done: in out, or a delimiter that was removed
			cut := func(to int) {
				if from < to {
					out = append(out, p.part(from, to))
				}
				from = to
			}
			for i := 0; i < len(p.text); {
				start, end := find(p.text, i)
				if start == len(p.text) {
					break
				}
				for b == split.Contiguous && end < len(p.text) {
					next, after := find(p.text, end)
					if next != end {
						break
					}
					end = after
				}
				if b != split.MergedWithPrevious {
					cut(start)
				}
				switch b {
				case split.Removed:
					from = end
				case split.MergedWithNext:
				default:
					cut(end)
				}
				i = end
			}
			cut(len(p.text))
		}
		return out
	}
}

// class returns the finder of single characters of a kind.
func class(is func(rune) bool) finder {
	return func(s string, i int) (start, end int) {
		n := strings.IndexFunc(s[i:], is)
		if n < 0 {
			return len(s), len(s)
		}
		_, size := utf8.DecodeRuneInString(s[i+n:])
		return i + n, i + n + size
	}
}

// literal returns the finder of a text.
func literal(text string) finder {
	return func(s string, i int) (start, end int) {
		n := strings.Index(s[i:], text)
		if n < 0 {
			return len(s), len(s)
		}
		return i + n, i + n + len(text)
	}
}

// all yields the begin and the end of each delimiter of a text.
func (find finder) all(s string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for i := 0; i < len(s); {
			start, end := find(s, i)
			if start == len(s) || !yield(start, end) {
				return
			}
			i = end
		}
	}
}

// splitWhitespace is \w+|[^\w\s]+: words, and runs of characters that are neither of words nor white space.
func splitWhitespace(pieces []piece) []piece {
	kind := func(r rune) int {
		switch {
		case unicode.IsSpace(r):
			return 0
		case characters.Word(r):
			return 1
		}
		return 2
	}
	var out []piece
	for _, p := range pieces {
		start, current := 0, 0
		for i, r := range p.text {
			if k := kind(r); k != current {
				if current != 0 {
					out = append(out, p.part(start, i))
				}
				start, current = i, k
			}
		}
		if current != 0 {
			out = append(out, p.part(start, len(p.text)))
		}
	}
	return out
}

// prefixScheme says when Metaspace puts a space mark before a text that does not begin with one.
type prefixScheme uint8

const (
	never     prefixScheme = iota
	always                 // before each piece
	onlyFirst              // before the piece that begins the whole text
)

// markSpaces is the pre-tokenizer Metaspace without splitting: spaces become space marks, and a piece gets a further one in front if the
// scheme says so.
func markSpaces(scheme prefixScheme) splitStep {
	return func(pieces []piece) []piece {
		for i, p := range pieces {
			text := strings.ReplaceAll(p.text, " ", spaceMark)
			prefixed := (scheme == always || scheme == onlyFirst && p.first) && !strings.HasPrefix(text, spaceMark)
			if prefixed {
				text = spaceMark + text
			}
			if pieces[i].text = text; p.spans != nil {
				t := aligned.Text{Text: p.text, Spans: p.spans}
				if t.ReplaceAll(" ", spaceMark); prefixed {
					t.Prepend(spaceMark)
				}
				pieces[i].spans = t.Spans
			}
		}
		return pieces
	}
}
