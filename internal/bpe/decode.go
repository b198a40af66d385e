package bpe

import (
	"bytes"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/bytefallback"
)

// A decoder says which spaces, that encoding put before a text, Decode removes.
type decoder struct {
	strip      int  // how many spaces at the beginning of the text, at most
	stripToken bool // every space of the first token instead
}

// Decode returns the text of tokens. Special tokens and ids that are not in use are skipped.
//
// Bytes that are not UTF-8 become U+FFFD as in Hugging Face's tokenizers: at byte level, one for each maximal beginning of a character
// (Unicode's "substitution of maximal subparts"); in a SentencePiece vocabulary, one for each token of a run of byte tokens that is not
// UTF-8 as a whole. A SentencePiece text loses the space that encoding put before it.
func (t *Tokenizer) Decode(tokens []int32) string {
	var text []byte
	first := true
	run := 0 // how many bytes at the end of text come from a run of byte tokens
	for _, id := range tokens {
		if !t.vocab.has(id, inUse) || t.IsSpecial(id) {
			continue
		}
		b := t.vocab.bytesOf(id)
		if t.vocab.has(id, byteOnly) {
			run++
		} else {
			text = bytefallback.ReplaceRun(text, run)
			run = 0
			if first && t.decoder.stripToken {
				b = bytes.ReplaceAll(b, []byte(" "), nil)
			}
		}
		first = false
		text = append(text, b...)
	}
	text = bytefallback.ReplaceRun(text, run)
	for i := 0; i < t.decoder.strip && len(text) > 0 && text[0] == ' '; i++ {
		text = text[1:]
	}
	return lossy(text)
}

// AppendBytes appends the bytes that one token stands for to dst, for streaming: a character may be spread over several
// tokens. It appends nothing for special tokens and ids that are not in use.
func (t *Tokenizer) AppendBytes(dst []byte, id int32) []byte {
	if t.IsSpecial(id) {
		return dst
	}
	return append(dst, t.vocab.bytesOf(id)...)
}

// LeadingSpace reports whether Decode takes a space off the beginning of a text, because Encode puts one there. A program that streams a
// text from its beginning with AppendBytes has to drop that space; a continuation keeps its own.
func (t *Tokenizer) LeadingSpace() bool { return t.decoder.strip > 0 || t.decoder.stripToken }

// lossy returns b as a string, with one U+FFFD for each maximal subpart of a character that is not complete (The Unicode
// Standard, section 3.9).
func lossy(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	text := make([]byte, 0, len(b)+len(b)/4)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = MaximalSubpart(b)
		}
		text = utf8.AppendRune(text, r)
		b = b[n:]
	}
	return string(text)
}

// MaximalSubpart returns how many bytes of b, which begins with no whole character, one U+FFFD stands for: the longest beginning
// of b that also begins some character, and at least 1 (The Unicode Standard, section 3.9).
func MaximalSubpart(b []byte) int {
	n := 1
	for n < len(b) && !utf8.FullRune(b[:n+1]) {
		n++
	}
	return n
}
