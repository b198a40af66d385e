package bpe

import "strings"

// A splitter calls yield with the pieces of a text, in their order, and with where each begins. No merge joins symbols of two pieces.
//
// Bytes that are not UTF-8 count as characters that are neither letter, number nor space, as U+FFFD itself does.
type splitter func(text string, yield func(at int, piece string))

// splitSpaces begins a piece at every space.
func splitSpaces(s string, yield func(at int, piece string)) {
	for at := 0; s != ""; {
		n := strings.IndexByte(s[1:], ' ') + 1
		if n == 0 {
			n = len(s)
		}
		yield(at, s[:n])
		s, at = s[n:], at+n
	}
}

// splitWords begins a piece at every run of spaces. SentencePiece trains vocabularies in which no token has a space after
// another character: with such a vocabulary the tokens are the same as without splitting, and merging takes less time.
func splitWords(s string, yield func(at int, piece string)) {
	start := 0
	for i := 1; i < len(s); i++ {
		if s[i] == ' ' && s[i-1] != ' ' {
			yield(start, s[start:i])
			start = i
		}
	}
	if start < len(s) {
		yield(start, s[start:])
	}
}
