package bpe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A splitter returns the end of the piece of s that begins at byte i < len(s). No merge joins symbols of two pieces.
//
// Bytes that are not UTF-8 count as characters that are neither letter, number nor space, as U+FFFD itself does.
type splitter func(s string, i int) int

// The split rules that this package knows, as tokenizer.json writes them. GGUF calls Llama 3's "llama-bpe".
const (
	Llama3Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	gpt2Pattern   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
)

// splitterOf returns the splitter that does what a regular expression of tokenizer.json says, or nil.
func splitterOf(pattern string) splitter {
	switch pattern {
	case Llama3Pattern:
		return splitLlama3
	case gpt2Pattern:
		return splitGPT2
	}
	return nil
}

// splitLlama3 follows Llama3Pattern. The alternatives are tried in the pattern's order; each comment names one.
func splitLlama3(s string, i int) int {
	if s[i] == '\'' { // (?i:'s|'t|'re|'ve|'m|'ll|'d)
		if n := contraction(s[i+1:], foldASCII); n > 0 {
			return i + 1 + n
		}
	}
	c, n := classAt(s, i)
	switch c { // [^\r\n\p{L}\p{N}]?\p{L}+ and \p{N}{1,3}
	case letter:
		return run(s, i+n, letter)
	case number:
		return numbers(s, i+n, 2)
	}
	after := i + n
	if s[i] != '\r' && s[i] != '\n' && isAt(s, after, letter) {
		return run(s, after, letter)
	}
	if c == other { // ?[^\s\p{L}\p{N}]+[\r\n]*
		return newlines(s, run(s, after, other))
	}
	if s[i] == ' ' && isAt(s, after, other) {
		return newlines(s, run(s, after, other))
	}
	end, newline, last := spaces(s, i)
	if newline > i { // \s*[\r\n]+ gives back what follows the run's last line end
		return newline
	}
	return keepLast(s, i, end, last)
}

// splitGPT2 follows gpt2Pattern.
func splitGPT2(s string, i int) int {
	if s[i] == '\'' { // 's|'t|'re|'ve|'m|'ll|'d
		if n := contraction(s[i+1:], exact); n > 0 {
			return i + 1 + n
		}
	}
	start := i
	if s[i] == ' ' && i+1 < len(s) {
		start++
	}
	// ?\p{L}+ and ?\p{N}+ and ?[^\s\p{L}\p{N}]+
	if c, n := classAt(s, start); c != space {
		return run(s, start+n, c)
	}
	end, _, last := spaces(s, i)
	return keepLast(s, i, end, last)
}

// splitSpaces begins a piece at every space.
func splitSpaces(s string, i int) int {
	if n := strings.IndexByte(s[i+1:], ' '); n >= 0 {
		return i + 1 + n
	}
	return len(s)
}

// splitWords begins a piece at every run of spaces. SentencePiece trains vocabularies in which no token has a space after
// another character: with such a vocabulary the tokens are the same as without splitting, and merging takes less time.
func splitWords(s string, i int) int {
	for i++; i < len(s); i++ {
		if s[i] == ' ' && s[i-1] != ' ' {
			return i
		}
	}
	return i
}

// keepLast returns where the piece ends that \s+(?!\S)|\s+ matches in the run of white space s[i:end], whose last character
// begins at last: before its last character, which is left to the word that follows, unless it is the only one or no word
// follows.
func keepLast(s string, i, end, last int) int {
	if end < len(s) && last > i {
		return last
	}
	return end
}

// contraction returns the length of the English contraction that s begins with, without its apostrophe; 0 if there is none.
// fold is exact or foldASCII.
func contraction(s string, fold func(s string) (c byte, n int)) int {
	a, n := fold(s)
	switch a {
	case 's', 't', 'm', 'd':
		return n
	case 'r', 'v', 'l':
		b, m := fold(s[n:])
		if b == 'e' && a != 'l' || b == 'l' && a == 'l' {
			return n + m
		}
	}
	return 0
}

// exact returns the first byte of s, and its length.
func exact(s string) (c byte, n int) {
	if s == "" {
		return 0, 0
	}
	return s[0], 1
}

// foldASCII returns the ASCII letter that the first character of s folds to in Unicode, and that character's length.
// U+017F, LATIN SMALL LETTER LONG S, folds to s; no other letter of a contraction has a fold outside ASCII.
func foldASCII(s string) (c byte, n int) {
	if len(s) >= 2 && s[:2] == "ſ" {
		return 's', 2
	}
	c, n = exact(s)
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c, n
}

// A class is one of the kinds of characters that the split rules tell apart.
type class uint8

const (
	other  class = iota
	letter       // \p{L}
	number       // \p{N}
	space        // \s: Unicode's White_Space
)

// classAt returns the class and the length of the character at byte i < len(s).
func classAt(s string, i int) (class, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return asciiClass(c), 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return classOf(r), n
}

func asciiClass(c byte) class {
	switch {
	case 'a' <= c|0x20 && c|0x20 <= 'z':
		return letter
	case c == ' ', '\t' <= c && c <= '\r':
		return space
	case '0' <= c && c <= '9':
		return number
	}
	return other
}

func classOf(r rune) class {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// isAt reports whether the character at byte i, if there is one, is of class want.
func isAt(s string, i int, want class) bool {
	if i >= len(s) {
		return false
	}
	c, _ := classAt(s, i)
	return c == want
}

// run returns the end of the characters of class want that begin at byte i.
func run(s string, i int, want class) int {
	for i < len(s) {
		c, n := classAt(s, i)
		if c != want {
			break
		}
		i += n
	}
	return i
}

// numbers is run for at most limit numbers.
func numbers(s string, i, limit int) int {
	for ; limit > 0 && i < len(s); limit-- {
		c, n := classAt(s, i)
		if c != number {
			break
		}
		i += n
	}
	return i
}

// newlines returns the end of the carriage returns and line feeds that begin at byte i.
func newlines(s string, i int) int {
	for i < len(s) && (s[i] == '\r' || s[i] == '\n') {
		i++
	}
	return i
}

// spaces returns the end of the run of white space that begins at byte i, the end of its last carriage return or line feed
// (i when it has none), and where its last character begins.
func spaces(s string, i int) (end, newline, last int) {
	end, newline, last = i, i, i
	for end < len(s) {
		c, n := classAt(s, end)
		if c != space {
			break
		}
		last = end
		end += n
		if s[last] == '\r' || s[last] == '\n' {
			newline = end
		}
	}
	return end, newline, last
}
