package hftok

import (
	"iter"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/antigravity-go/antigravity/internal/aligned"
	"github.com/antigravity-go/antigravity/internal/characters"
)

// A normalised text may have maxGrowth bytes for each byte of the text, and freeGrowth bytes in any case; the rest is
// dropped. Unicode's normal forms make one character 11 times as long (U+FDFA), and others at most 3 times.
const (
	maxGrowth  = 32
	freeGrowth = 1024
)

// A normalizer changes a text, in two ways of one result: string by string, and with the place of each byte. The first may stop when it has made more
// than limit bytes: the caller drops the rest.
type normalizer struct {
	plain func(text string, limit int) string
	track func(t *aligned.Text)
}

// normalizers are applied one after another.
type normalizers []normalizer

func (ns normalizers) apply(text string) string {
	limit := growth(text)
	for _, n := range ns {
		if text = n.plain(text, limit); len(text) > limit {
			text = valid(text[:limit])
		}
	}
	return text
}

// track is apply for a text that knows its places.
func (ns normalizers) track(t *aligned.Text) {
	limit := growth(t.Text)
	for _, n := range ns {
		if n.track(t); len(t.Text) > limit {
			t.Trim(0, limit)
			t.Valid()
		}
	}
}

// growth returns how many bytes a normalised text may have.
func growth(text string) int { return maxGrowth*len(text) + freeGrowth }

// form returns the normalizer for one of Unicode's normal forms.
func form(f norm.Form) normalizer {
	normal := func(s string) string { return characters.Normal(f, s) }
	return normalizer{func(s string, _ int) string { return normal(s) }, func(t *aligned.Text) { t.Form(f, normal) }}
}

// mapping returns the normalizer that replaces each character c by change(c), or drops it if change(c) is -1.
func mapping(change func(rune) rune) normalizer {
	return normalizer{func(s string, _ int) string { return strings.Map(change, s) }, func(t *aligned.Text) { t.Map(change) }}
}

// lowercase writes each character in lower case, by itself: no letter depends on its neighbours. One character has a lower case of two characters.
var lowercase = normalizer{
	func(s string, _ int) string {
		return strings.ReplaceAll(strings.Map(characters.Lower, s), dottedI, lowerDottedI)
	},
	func(t *aligned.Text) {
		t.Map(characters.Lower)
		t.ReplaceAll(dottedI, lowerDottedI)
	},
}

const dottedI, lowerDottedI = "İ", "i\u0307"

// stripAccents drops combining marks.
func stripAccents(r rune) rune {
	if characters.Mark(r) {
		return -1
	}
	return r
}

// nmt drops control characters and replaces unusual spaces by spaces, as SentencePiece's normalizer of that name does.
func nmt(r rune) rune {
	switch {
	case 1 <= r && r <= 8, r == 0x0B, 0x0E <= r && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
		return -1
	case r == '\t', r == '\n', r == 0x0C, r == '\r', r == 0x1680, 0x200B <= r && r <= 0x200F, r == 0x2028, r == 0x2029,
		r == 0x2581, r == 0xFEFF, r == 0xFFFD:
		return ' '
	}
	return r
}

// strip takes white space off a text's ends.
func strip(left, right bool) normalizer {
	ends := func(s string) (from, to int) {
		to = len(s)
		if left {
			from = to - len(strings.TrimLeftFunc(s, unicode.IsSpace))
		}
		if right {
			to = max(len(strings.TrimRightFunc(s, unicode.IsSpace)), from)
		}
		return from, to
	}
	return normalizer{
		func(s string, _ int) string {
			from, to := ends(s)
			return s[from:to]
		},
		func(t *aligned.Text) { t.Trim(ends(t.Text)) },
	}
}

// prepend puts a prefix before a text that is not empty.
func prepend(prefix string) normalizer {
	return normalizer{
		func(s string, _ int) string {
			if s == "" {
				return s
			}
			return prefix + s
		},
		func(t *aligned.Text) { t.Prepend(prefix) },
	}
}

// replace returns the normalizer that replaces each match. matches yields the begin and the end of each match in a text.
func replace(matches func(text string) iter.Seq2[int, int], by string) normalizer {
	return normalizer{
		func(s string, limit int) string {
			var b strings.Builder
			done := 0 // s[:done] is in b, or replaced
			for start, end := range matches(s) {
				b.WriteString(s[done:start])
				b.WriteString(by)
				if done = end; b.Len() > limit {
					return b.String()
				}
			}
			if done == 0 {
				return s
			}
			b.WriteString(s[done:])
			return b.String()
		},
		func(t *aligned.Text) { t.Replace(matches, by) },
	}
}

// bertClean drops control characters, form feeds among them, and makes other white space spaces.
func bertClean(r rune) rune {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return ' '
	case r == 0xFFFD, characters.Other(r):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// chinese puts spaces around Chinese characters.
var chinese = normalizer{
	func(s string, _ int) string {
		if strings.IndexFunc(s, isChinese) < 0 {
			return s
		}
		var b strings.Builder
		for _, r := range s {
			if isChinese(r) {
				b.WriteByte(' ')
				b.WriteRune(r)
				b.WriteByte(' ')
			} else {
				b.WriteRune(r)
			}
		}
		return b.String()
	},
	func(t *aligned.Text) {
		var edits []aligned.Edit
		for _, r := range t.Text {
			if isChinese(r) {
				edits = append(edits, aligned.Edit{Rune: ' '}, aligned.Edit{Rune: r, Change: 1}, aligned.Edit{Rune: ' ', Change: 1})
			} else {
				edits = append(edits, aligned.Edit{Rune: r})
			}
		}
		t.Transform(edits, 0)
	},
}

// isChinese is BERT's notion of a Chinese character, one gap included (the extension E begins at U+2B820).
func isChinese(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FFF || 0x3400 <= r && r <= 0x4DBF || 0x20000 <= r && r <= 0x2A6DF || 0x2A700 <= r && r <= 0x2B73F ||
		0x2B740 <= r && r <= 0x2B81F || 0x2B920 <= r && r <= 0x2CEAF || 0xF900 <= r && r <= 0xFAFF || 0x2F800 <= r && r <= 0x2FA1F
}

// bert is BertNormalizer.
func bert(clean, spaceChinese, accents, lower bool) normalizers {
	var ns normalizers
	if clean {
		ns = append(ns, mapping(bertClean))
	}
	if spaceChinese {
		ns = append(ns, chinese)
	}
	if accents {
		ns = append(ns, form(norm.NFD), mapping(func(r rune) rune {
			if characters.Nonspacing(r) {
				return -1
			}
			return r
		}))
	}
	if lower {
		ns = append(ns, lowercase)
	}
	return ns
}
