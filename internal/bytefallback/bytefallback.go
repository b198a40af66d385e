// Package bytefallback has what tokenizers do with a character that their vocabulary lacks: they write it as a run of byte tokens, one for
// each byte of its UTF-8. "é" becomes <0xC3><0xA9>.
package bytefallback

import "unicode/utf8"

// Byte returns the byte that a token's text of the form <0xNN> names; ok is false for another text.
func Byte[T string | []byte](text T) (b byte, ok bool) {
	if len(text) != 6 || string(text[:3]) != "<0x" || text[5] != '>' {
		return 0, false
	}
	for _, c := range [2]byte{text[3], text[4]} {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		b = b<<4 | c
	}
	return b, true
}

// ReplaceRun replaces the last n bytes of text, which come from n byte tokens, by n U+FFFD, unless they are UTF-8. It returns the text in
// the same memory, if that suffices.
func ReplaceRun(text []byte, n int) []byte {
	start := len(text) - n
	if utf8.Valid(text[start:]) {
		return text
	}
	text = text[:start]
	for range n {
		text = utf8.AppendRune(text, utf8.RuneError)
	}
	return text
}
