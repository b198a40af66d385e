package bpe

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/aligned"
)

// An encoder is the state of one call that encodes a text.
type encoder struct {
	*Tokenizer
	merger
	places *aligned.Text // the text, if the places of tokens are asked for; else nil
	spans  []aligned.Span
}

// text appends the tokens of a stretch of text, normalised and without added tokens. first reports whether the stretch begins
// the whole text.
func (e *encoder) text(dst []int32, s string, first bool) []int32 {
	switch {
	case s == "", s[0] == ' ':
	case e.space == unlessPrefix, e.space == firstPrefix && first:
		s = " " + s
	}
	each := func(at int, piece string) {
		before := len(dst)
		if dst = e.piece(dst, piece); e.places != nil {
			e.place(at, piece, dst[before:])
		}
	}
	if e.split == nil {
		each(0, s)
	} else {
		e.split(s, each)
	}
	return dst
}

// place notes the places of the tokens of a piece, which begins at a byte of the text.
func (e *encoder) place(first int, piece string, ids []int32) {
	at := 0
	for _, id := range ids {
		n := 0
		for at < len(piece) && n == 0 {
			rest := piece[at:]
			switch b := e.vocab.bytesOf(id); {
			case id != e.unknown && len(b) > 0 && strings.HasPrefix(rest, string(b)):
				n = len(b)
			case id == e.unknown:
				n = e.unknownLength(rest)
			default: // a character that is no token was dropped
				at += e.characterLength(rest)
			}
		}
		e.spans = append(e.spans, e.places.Place(first+min(at, len(piece)-1), first+max(min(at+n, len(piece)), 1)))
		at += n
	}
}

// characterLength returns the length of the first symbol of a text: a byte, or a character.
func (e *encoder) characterLength(s string) int {
	if e.vocab.codec == byteLevel {
		return 1
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// unknownLength returns how much of the beginning of a text one unknown token stands for.
func (e *encoder) unknownLength(s string) int {
	n := e.characterLength(s)
	for e.fuseUnknown && n < len(s) {
		next := e.characterLength(s[n:])
		if _, known := e.vocab.lookup(s[n : n+next]); known {
			break
		}
		n += next
	}
	return n
}

// piece appends the tokens of a piece.
func (e *encoder) piece(dst []int32, s string) []int32 {
	if s == "" {
		return dst
	}
	if e.ignoreMerges {
		if id, ok := e.vocab.lookup(s); ok {
			return append(dst, id)
		}
	}
	if e.vocab.codec == byteLevel {
		e.byteSymbols(s)
	} else {
		e.charSymbols(s)
	}
	return e.merge(dst)
}

// byteSymbols stores in e.ids the symbols of a piece: the tokens of its bytes.
func (e *encoder) byteSymbols(s string) {
	e.ids = slices.Grow(e.ids[:0], len(s))
	for i := range len(s) {
		if id := e.symbols[s[i]]; id >= 0 {
			e.ids = append(e.ids, id)
		} else {
			e.unknownSymbol(i > 0 && e.symbols[s[i-1]] < 0)
		}
	}
}

// charSymbols stores in e.ids the symbols of a piece: the tokens of its characters; for a character without a token those of
// its bytes, or the unknown token.
func (e *encoder) charSymbols(s string) {
	e.ids = e.ids[:0]
	unknown := false // the last character was unknown
	for i := 0; i < len(s); {
		n := 1
		id := e.symbols[s[i]]
		if s[i] >= utf8.RuneSelf {
			_, n = utf8.DecodeRuneInString(s[i:])
			var ok bool
			if id, ok = e.vocab.lookup(s[i : i+n]); !ok {
				id = -1
			}
		}
		switch {
		case id >= 0:
			e.ids = append(e.ids, id)
			unknown = false
		case e.byteFallback && e.byteTokens(s[i:i+n]):
			unknown = false
		default:
			e.unknownSymbol(unknown)
			unknown = true
		}
		i += n
	}
}

// byteTokens appends the byte tokens of a character, if there is one for each of its bytes.
func (e *encoder) byteTokens(char string) bool {
	n := len(e.ids)
	for i := range len(char) {
		id := e.vocab.bytes[char[i]]
		if id < 0 {
			e.ids = e.ids[:n]
			return false
		}
		e.ids = append(e.ids, id)
	}
	return true
}

// unknownSymbol appends the unknown token, if the tokenizer has one. again says that the character before was unknown too: if unknown
// tokens fuse, both are then one token.
func (e *encoder) unknownSymbol(again bool) {
	if e.unknown >= 0 && !(again && e.fuseUnknown) {
		e.ids = append(e.ids, e.unknown)
	}
}
