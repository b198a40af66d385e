package bpe

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxAddedLen bounds the text of an added token, in bytes, and with it the time that looking for added tokens can take.
const maxAddedLen = 1024

// An addedToken is a token that is looked for in the text before the text is split and merged.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // not next to a letter, digit or underscore
	LStrip     bool   `json:"lstrip"`      // takes the white space on its left along
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"` // looked for in the normalised text, and normalised itself
	Special    bool   `json:"special"`
}

// A matcher finds added tokens in a text: the leftmost first, and the longest of those that begin at one place.
type matcher struct {
	tokens []addedToken // in the order of their contents, which makes the slice a trie
	first  [256]bool    // the bytes that contents begin with
}

func newMatcher(tokens []addedToken) (*matcher, error) {
	m := &matcher{tokens: slices.Clone(tokens)}
	slices.SortFunc(m.tokens, func(a, b addedToken) int { return cmp.Compare(a.Content, b.Content) })
	for _, t := range m.tokens {
		if len(t.Content) > maxAddedLen {
			return nil, fmt.Errorf("added token %d, %.40q…, has %d bytes; at most %d would be right", t.ID, t.Content, len(t.Content), maxAddedLen)
		}
		m.first[t.Content[0]] = true
	}
	return m, nil
}

// split cuts text at its added tokens. It calls yield for each stretch of other text, which begins at byte start, and each
// added token, in turn; token is nil for other text, which is never empty.
func (m *matcher) split(text string, yield func(start int, part string, token *addedToken)) {
	done := 0 // text[:done] has been yielded
	for i := 0; i < len(text); {
		token := m.longestAt(text, i)
		if token == nil {
			i++
			continue
		}
		start, end := i, i+len(token.Content)
		i = end
		if token.SingleWord && (endsWithWord(text[:start]) || startsWithWord(text[end:])) {
			continue
		}
		if token.LStrip {
			start = max(done, len(strings.TrimRightFunc(text[:start], unicode.IsSpace)))
		}
		if token.RStrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
			i = end
		}
		if done < start {
			yield(done, text[done:start], nil)
		}
		yield(start, text[start:end], token)
		done = end
	}
	if done < len(text) {
		yield(done, text[done:], nil)
	}
}

// longestAt returns the longest token whose content begins at byte i of text, or nil.
func (m *matcher) longestAt(text string, i int) *addedToken {
	if !m.first[text[i]] {
		return nil
	}
	var longest *addedToken
	candidates := m.tokens // those that agree with the first depth bytes of text[i:]; the shortest comes first
	for depth := 0; ; depth++ {
		if len(candidates) > 0 && len(candidates[0].Content) == depth {
			longest = &candidates[0]
			candidates = candidates[1:]
		}
		if len(candidates) == 0 || i+depth == len(text) {
			return longest
		}
		c := text[i+depth]
		lo := sort.Search(len(candidates), func(k int) bool { return candidates[k].Content[depth] >= c })
		hi := sort.Search(len(candidates), func(k int) bool { return candidates[k].Content[depth] > c })
		candidates = candidates[lo:hi]
	}
}

func endsWithWord(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && isWord(r)
}

func startsWithWord(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && isWord(r)
}

// isWord reports whether r is what regular expressions call \w, in Unicode's definition (UTS #18, annex C).
func isWord(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200C', '\u200D'
	return unicode.In(r, unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc) ||
		r == zeroWidthNonJoiner || r == zeroWidthJoiner
}
