// Package postprocess is what a tokenizer puts around texts: what Hugging Face's library calls a post-processor, and what GGUF says in
// add_bos_token, add_eos_token and add_sep_token.
//
// BERT's template makes of a text "[CLS] text [SEP]", and of two "[CLS] first [SEP] second [SEP]", in which the second text and the
// token after it have the type 1.
package postprocess

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/aligned"
)

// Source says what a part of a template stands for.
type Source uint8

// What a part of a template stands for.
const (
	Token  Source = iota // Part.ID
	First                // the tokens of the text, or of the first one
	Second               // the tokens of the second text
)

// A Part is one part of a template.
type Part struct {
	Source Source
	ID     int32 // of a Token
	Type   int32 // of the part's tokens: what models like BERT add the embedding of
}

// A Template is the tokens around one text, and around two. Single has at most one First and no Second; without a First it must be empty.
// Pair has a First and a Second, or is empty. The zero Template adds nothing: two texts follow each other, with the types 0 and 1.
type Template struct {
	Single, Pair []Part
	Trimmed      bool // spaces at the ends of tokens do not belong to their places,
	Prefixed     bool // but the first one of a text's first token, which was put there
}

// Valid reports whether the template has the texts that it must have.
func (t *Template) Valid() bool {
	count := func(parts []Part, s Source) (n int) {
		for _, p := range parts {
			if p.Source == s {
				n++
			}
		}
		return n
	}
	single := len(t.Single) == 0 || count(t.Single, First) == 1 && count(t.Single, Second) == 0
	pair := len(t.Pair) == 0 || count(t.Pair, First) == 1 && count(t.Pair, Second) == 1
	return single && pair
}

// Tokens returns all tokens of the template.
func (t *Template) Tokens() (ids []int32) {
	for _, p := range slices.Concat(t.Single, t.Pair) {
		if p.Source == Token {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// Before returns the tokens before a single text.
func (t *Template) Before() (ids []int32) {
	for _, p := range t.Single {
		if p.Source == First {
			break
		}
		ids = append(ids, p.ID)
	}
	return ids
}

// After returns the tokens after a single text.
func (t *Template) After() (ids []int32) {
	at := slices.IndexFunc(t.Single, func(p Part) bool { return p.Source == First })
	for _, p := range t.Single[at+1:] {
		ids = append(ids, p.ID)
	}
	return ids
}

// Join returns the tokens of two texts with those around them, and the type of each token.
func (t *Template) Join(first, second []int32) (ids, types []int32) {
	parts := t.Pair
	if len(parts) == 0 {
		parts = plain
	}
	for _, p := range parts {
		list := []int32{p.ID}
		switch p.Source {
		case First:
			list = first
		case Second:
			list = second
		}
		ids = append(ids, list...)
		types = append(types, slices.Repeat([]int32{p.Type}, len(list))...)
	}
	return ids, types
}

// plain is two texts with nothing around them.
var plain = []Part{{Source: First}, {Source: Second, Type: 1}}

// Around returns the template that puts tokens before the first text, after each text, and once more before the second; a negative token is
// left out. The second text and the tokens after it have the type secondType.
func Around(before, after, between, secondType int32) Template {
	add := func(parts []Part, id, kind int32) []Part {
		if id >= 0 {
			parts = append(parts, Part{ID: id, Type: kind})
		}
		return parts
	}
	single := add(append(add(nil, before, 0), Part{Source: First}), after, 0)
	pair := add(slices.Clone(single), between, 0)
	return Template{Single: single, Pair: add(append(pair, Part{Source: Second, Type: secondType}), after, secondType)}
}

// Trim takes spaces off the places of a text's tokens, if the template says so. text returns a token as the vocabulary writes it.
func (t *Template) Trim(ids []int32, spans []aligned.Span, text func(id int32) string) {
	if !t.Trimmed {
		return
	}
	isSpace := func(r rune) bool { return r == byteSpace || unicode.IsSpace(r) }
	for i, id := range ids {
		s, token := &spans[i], text(id)
		left := int32(utf8.RuneCountInString(token) - utf8.RuneCountInString(strings.TrimLeftFunc(token, isSpace)))
		right := int32(utf8.RuneCountInString(token) - utf8.RuneCountInString(strings.TrimRightFunc(token, isSpace)))
		if left > 0 && t.Prefixed && (i == 0 || s.Start == 0) {
			left--
		}
		s.Start = min(s.Start+left, s.End)
		if right > 0 && s.End >= right {
			s.End = max(s.End-right, s.Start)
		}
	}
}

// byteSpace is how vocabularies of bytes write a space.
const byteSpace = 'Ġ'
