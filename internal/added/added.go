// Package added finds added tokens in a text. An added token is looked for in the text as it is written, before the text is
// normalised, split and turned into tokens of a vocabulary. "<|eot_id|>" is an example.
package added

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/characters"
	"github.com/antigravity-go/antigravity/internal/trie"
)

// maxLen bounds the text of an added token, and maxTotal that of all of them, in bytes. The automaton that looks for them
// takes 17 bytes for each byte of their texts.
const (
	maxLen   = 1024
	maxTotal = 2 << 20
)

// A Token is an added token, as tokenizer.json describes it.
type Token struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // found only with no letter, digit or underscore next to it
	LStrip     bool   `json:"lstrip"`      // the white space on its left becomes part of it
	RStrip     bool   `json:"rstrip"`      // the white space on its right becomes part of it
	Normalized bool   `json:"normalized"`  // looked for in the normalised text, and normalised itself
	Special    bool   `json:"special"`     // left out when tokens are decoded
}

// A Matcher finds added tokens in a text: of tokens that overlap the leftmost, and of those that begin at the same byte the
// longest. It is immutable, but for
// IsSpace before it is used.
//
// It is the automaton of Aho and Corasick ("Efficient String Matching: An Aid to Bibliographic Search", 1975) for the
// contents written backwards, and runs from the text's end to its beginning. So it knows at every byte, in time linear in
// the text, the longest content that begins there.
//
// A node of the automaton stands for a string: the bytes on the way to it from the root of the trie.
type Matcher struct {
	// IsSpace says which characters LStrip and RStrip make part of a token: unicode.IsSpace, as NewMatcher has it.
	IsSpace func(rune) bool

	tokens  []Token    // sorted by their contents written backwards, each content once
	trie    *trie.Trie // of the contents written backwards, in the order of tokens
	fail    []uint32   // by node: the node of the longest suffix of its string, other than the string itself, that is in the trie
	longest []int32    // by node: the index in tokens of the longest content that its string ends with, backwards; -1 without one
	last    [256]bool  // by byte: whether any content ends with it
}

// NewMatcher returns the matcher of tokens. Each token has an id of its own. Of tokens with the same content, only the one with the lowest
// id is ever found; tokens without content never are.
func NewMatcher(tokens []Token) (*Matcher, error) {
	m := &Matcher{IsSpace: unicode.IsSpace}
	total := 0
	backwards := make(map[int32]string, len(tokens))
	for _, t := range tokens {
		if t.Content == "" {
			continue
		}
		if len(t.Content) > maxLen {
			return nil, fmt.Errorf("added token %d, %.40q…, has %d bytes; at most %d would be right", t.ID, t.Content, len(t.Content), maxLen)
		}
		if total += len(t.Content); total > maxTotal {
			return nil, fmt.Errorf("the texts of %d added tokens have more than %d bytes together", len(tokens), maxTotal)
		}
		m.last[t.Content[len(t.Content)-1]] = true
		b := []byte(t.Content)
		slices.Reverse(b)
		backwards[t.ID] = string(b)
		m.tokens = append(m.tokens, t)
	}
	slices.SortFunc(m.tokens, func(a, b Token) int {
		return cmp.Or(cmp.Compare(backwards[a.ID], backwards[b.ID]), cmp.Compare(a.ID, b.ID))
	})
	m.tokens = slices.CompactFunc(m.tokens, func(a, b Token) bool { return a.Content == b.Content })
	keys := make([]string, len(m.tokens))
	for i, t := range m.tokens {
		keys[i] = backwards[t.ID]
	}
	var err error
	if m.trie, err = trie.New(keys); err != nil {
		return nil, err
	}
	m.link()
	return m, nil
}

// link fills fail and longest, in the order of the nodes' numbers: a node's entries follow from those of nodes nearer to the
// root, which have lower numbers.
func (m *Matcher) link() {
	m.fail = make([]uint32, m.trie.Len())
	m.longest = make([]int32, m.trie.Len())
	for node := range uint32(m.trie.Len()) {
		if m.longest[node] = m.trie.Key(node); m.longest[node] < 0 && node > 0 {
			m.longest[node] = m.longest[m.fail[node]]
		}
		first, _, labels := m.trie.Children(node)
		for i, c := range labels {
			if node > 0 {
				m.fail[first+uint32(i)] = m.step(m.fail[node], c)
			}
		}
	}
}

// step returns the node of the longest suffix, of a node's string with c appended, that is in the trie.
func (m *Matcher) step(node uint32, c byte) uint32 {
	for {
		if child := m.trie.Child(node, c); child != 0 || node == 0 {
			return child
		}
		node = m.fail[node]
	}
}

// Empty reports whether there are no tokens to be found.
func (m *Matcher) Empty() bool { return len(m.tokens) == 0 }

// match is an added token that was found in a text.
type match struct {
	start int   // the beginning of its content in the text, in bytes
	token int32 // its index in Matcher.tokens
}

// matches returns, for each byte of text at which an added token with trusted bytes begins, the longest such token; from the text's end to
// its beginning.
func (m *Matcher) matches(text Text) []match {
	var found []match
	text.trustedSpans(func(start, end int) {
		node := uint32(0)
		for i := end - 1; i >= start; i-- {
			c := text.s[i]
			if node == 0 && !m.last[c] {
				continue
			}
			node = m.step(node, c)
			if token := m.longest[node]; token >= 0 {
				found = append(found, match{i, token})
			}
		}
	})
	return found
}

// Split cuts text at its added tokens. It calls yield for each part in turn, with the byte at which the part begins: token is the added
// token that the part is, or nil for the text between added tokens, which is never empty. The time is linear in the text.
func (m *Matcher) Split(text Text, yield func(start int, part Text, token *Token)) {
	s := text.s
	found := m.matches(text)
	done := 0 // s[:done] has been yielded
	next := 0 // the end of the last match: whatever begins before overlaps it
	for k := len(found) - 1; k >= 0; k-- {
		if found[k].start < next {
			continue
		}
		token := &m.tokens[found[k].token]
		start, end := found[k].start, found[k].start+len(token.Content)
		next = end
		if token.SingleWord && (endsWithWord(s[:start]) || startsWithWord(s[end:])) {
			continue
		}
		if token.LStrip {
			start = done + len(strings.TrimRightFunc(s[done:start], m.IsSpace))
		}
		if token.RStrip {
			end = len(s) - len(strings.TrimLeftFunc(s[end:], m.IsSpace))
			next = end
		}
		if done < start {
			yield(done, text.slice(done, start), nil)
		}
		yield(start, text.slice(start, end), token)
		done = end
	}
	if done < len(s) {
		yield(done, text.slice(done, len(s)), nil)
	}
}

func endsWithWord(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && characters.Word(r)
}

func startsWithWord(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && characters.Word(r)
}
