package bpe

import (
	"bytes"
	"unicode/utf8"
)

// The byte alphabet of GPT-2 writes each of the 256 bytes as one printable character, so that a vocabulary of byte strings
// can live in a text file. The 188 bytes that print in Latin-1 stand for themselves; the other 68 take, in order, the
// characters from U+0100 on (a space is Ġ, a line feed Ċ).
const (
	alphabetShift = 0x100                // bytes 0x00…0x20
	alphabetDEL   = alphabetShift + 0x21 // bytes 0x7F…0xA0
	alphabetSHY   = alphabetDEL + 0x22   // byte 0xAD, the soft hyphen
)

// byteOf returns the byte that a character of the byte alphabet stands for.
func byteOf(r rune) (b byte, ok bool) {
	switch {
	case '!' <= r && r <= '~', 0xA1 <= r && r <= 0xFF && r != 0xAD:
		return byte(r), true
	case alphabetShift <= r && r < alphabetDEL:
		return byte(r - alphabetShift), true
	case alphabetDEL <= r && r < alphabetSHY:
		return byte(r - alphabetDEL + 0x7F), true
	case r == alphabetSHY:
		return 0xAD, true
	}
	return 0, false
}

// runeOf is the inverse of byteOf.
func runeOf(b byte) rune {
	switch {
	case b <= 0x20:
		return alphabetShift + rune(b)
	case 0x7F <= b && b <= 0xA0:
		return alphabetDEL + rune(b) - 0x7F
	case b == 0xAD:
		return alphabetSHY
	}
	return rune(b)
}

// A codec translates between a token's text, as vocabulary files write it, and the bytes that the token stands for. Within
// the texts that appendBytes accepts, the translation is one to one.
type codec uint8

const (
	byteLevel codec = iota // the byte alphabet: GPT-2 and its descendants, Llama 3 among them
	metaspace              // SentencePiece, which writes a space as U+2581, LOWER ONE EIGHTH BLOCK
)

// spaceMark is how SentencePiece writes a space.
const spaceMark = "\u2581"

// appendBytes appends the bytes that text stands for. If text is not of the codec's form, it returns dst and false.
func (c codec) appendBytes(dst, text []byte) ([]byte, bool) {
	if c == metaspace {
		return appendMarked(dst, text)
	}
	n := len(dst)
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		b, ok := byteOf(r)
		if !ok {
			return dst[:n], false
		}
		dst = append(dst, b)
		i += size
	}
	return dst, true
}

// appendMarked is appendBytes for metaspace.
func appendMarked(dst, text []byte) ([]byte, bool) {
	n := len(dst)
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == ' ':
			return dst[:n], false
		case text[i] == spaceMark[0] && bytes.HasPrefix(text[i:], []byte(spaceMark)):
			dst = append(dst, ' ')
			i += len(spaceMark) - 1
		default:
			dst = append(dst, text[i])
		}
	}
	return dst, true
}

// appendText is the inverse of appendBytes: it appends the text of the token that stands for b.
func (c codec) appendText(dst, b []byte) []byte {
	for _, x := range b {
		switch {
		case c == byteLevel:
			dst = utf8.AppendRune(dst, runeOf(x))
		case x == ' ':
			dst = append(dst, spaceMark...)
		default:
			dst = append(dst, x)
		}
	}
	return dst
}
