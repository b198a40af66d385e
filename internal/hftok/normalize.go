package hftok

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxGrowth bounds how many times as long as a text what normalizers make of it may be; the rest is dropped. Unicode's normal
// forms make 11 times as much of one character (U+FDFA) and 3 times as much of others.
const maxGrowth = 32

// A normalizer changes a text. It need not make more than limit bytes, and may make more.
type normalizer func(text string, limit int) string

// normalizers follow one after the other.
type normalizers []normalizer

func (ns normalizers) apply(text string) string {
	limit := maxGrowth*len(text) + 1024
	for _, n := range ns {
		if text = n(text, limit); len(text) > limit {
			text = valid(text[:limit])
		}
	}
	return text
}

// form returns a normal form of Unicode.
func form(f norm.Form) normalizer { return func(s string, _ int) string { return f.String(s) } }

// mapping returns the normalizer that maps each character, or drops it where that gives -1.
func mapping(change func(rune) rune) normalizer {
	return func(s string, _ int) string { return strings.Map(change, s) }
}

// lowercase writes each character in lower case, by itself: no letter depends on its neighbours.
func lowercase(s string, _ int) string {
	s = strings.Map(func(r rune) rune {
		if r == 'İ' {
			return r
		}
		return unicode.ToLower(r)
	}, s)
	return strings.ReplaceAll(s, "İ", "i\u0307") // the one character whose lower case is two
}

// stripAccents drops combining marks.
func stripAccents(r rune) rune {
	if unicode.Is(unicode.M, r) {
		return -1
	}
	return r
}

// nmt is SentencePiece's clean-up of control characters and unusual spaces.
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
	return func(s string, _ int) string {
		if left {
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
		}
		if right {
			s = strings.TrimRightFunc(s, unicode.IsSpace)
		}
		return s
	}
}

// prepend puts a prefix before a text that is not empty.
func prepend(prefix string) normalizer {
	return func(s string, _ int) string {
		if s == "" {
			return s
		}
		return prefix + s
	}
}

// replace replaces what find finds.
func replace(find finder, by string) normalizer {
	return func(s string, limit int) string {
		var b strings.Builder
		for i := 0; ; {
			start, end := find(s, i)
			if b.Len() == 0 && start == len(s) {
				return s[i:]
			}
			b.WriteString(s[i:start])
			if start == len(s) || b.Len() > limit {
				return b.String()
			}
			b.WriteString(by)
			i = end
		}
	}
}

// expression returns the finder of a regular expression that matches no empty text and looks at nothing but what it matches.
func expression(e *regexp.Regexp) finder {
	return func(s string, i int) (start, end int) {
		at := e.FindStringIndex(s[i:])
		if at == nil {
			return len(s), len(s)
		}
		return i + at[0], i + at[1]
	}
}

// bertClean drops control characters and makes white space spaces.
func bertClean(r rune) rune {
	switch {
	case r == '\t', r == '\n', r == '\r', unicode.IsSpace(r):
		return ' '
	case r == 0, r == 0xFFFD, unicode.In(r, unicode.C, unicode.Cn):
		return -1
	}
	return r
}

// chinese puts spaces around Chinese characters.
func chinese(s string, _ int) string {
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
			if unicode.Is(unicode.Mn, r) {
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
