package bpe

import (
	"slices"
	"unicode/utf8"
)

// An encoder is the state of one call that encodes a text.
type encoder struct {
	*Tokenizer
	merger
}

// text appends the tokens of a stretch of text, normalised and without added tokens. first reports whether the stretch begins
// the whole text.
func (e *encoder) text(dst []int32, s string, first bool) []int32 {
	switch {
	case s == "", s[0] == ' ':
	case e.space == unlessPrefix, e.space == firstPrefix && first:
		s = " " + s
	}
	if e.split == nil {
		return e.piece(dst, s)
	}
	e.split(s, func(piece string) { dst = e.piece(dst, piece) })
	return dst
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
