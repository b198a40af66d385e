package hftok

import (
	"strings"

	"github.com/antigravity-go/antigravity/internal/bytefallback"
)

// A decoder puts the texts of tokens together. Its zero value writes a space before each token but the first.
type decoder struct {
	marks      bool   // a space mark in a token becomes a space, and no spaces are written between tokens
	dropFirst  bool   // the space marks of the first token are dropped instead
	strip      int    // how many spaces are removed from the beginning of the text, at most
	bytes      bool   // the token <0xNN> stands for a byte
	pieces     bool   // for WordPiece: a token that begins with continuing loses it, and no space is written before the token
	continuing string // "##", as a rule
	tidy       bool   // spaces before punctuation are dropped
}

// Decode returns the text of tokens. Special tokens and ids that are not in use are skipped. Bytes that are no characters
// become U+FFFD, one for each of a run of byte tokens.
func (t *Tokenizer) Decode(tokens []int32) string {
	var b []byte
	run := 0 // how many bytes at the end of b come from a run of byte tokens
	first := true
	for _, id := range tokens {
		e := t.entry(id)
		if e == nil || e.special {
			continue
		}
		if c, ok := bytefallback.Byte(e.text); ok && t.decoder.bytes {
			b = append(b, c)
			run++
		} else {
			b = bytefallback.ReplaceRun(b, run)
			run = 0
			b = t.decoder.appendToken(b, e.text, first)
		}
		first = false
	}
	text := string(bytefallback.ReplaceRun(b, run))
	for i := 0; i < t.decoder.strip && strings.HasPrefix(text, " "); i++ {
		text = text[1:]
	}
	return text
}

// appendToken appends a token's text; first reports whether the token begins the text.
func (d *decoder) appendToken(b []byte, text string, first bool) []byte {
	switch {
	case d.marks && first && d.dropFirst:
		return append(b, strings.ReplaceAll(text, spaceMark, "")...)
	case d.marks:
		return append(b, strings.ReplaceAll(text, spaceMark, " ")...)
	case !first && d.pieces && strings.HasPrefix(text, d.continuing):
		text = text[len(d.continuing):]
	case !first:
		text = " " + text
	}
	if d.tidy {
		text = tidy(text)
	}
	return append(b, text...)
}

// tidy drops spaces that English does not have, as the WordPiece decoder's "cleanup" does.
func tidy(s string) string {
	for _, pair := range [][2]string{{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"},
		{" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}} {
		s = strings.ReplaceAll(s, pair[0], pair[1])
	}
	return s
}

// AppendBytes appends the text of one token, with the space that goes before a word, to dst. It appends nothing for special
// tokens and ids that are not in use. WordPiece's cleaning up ("a ," to "a,") needs a whole text and is left to Decode.
func (t *Tokenizer) AppendBytes(dst []byte, id int32) []byte {
	e := t.entry(id)
	if e == nil || e.special {
		return dst
	}
	if c, ok := bytefallback.Byte(e.text); ok && t.decoder.bytes {
		return append(dst, c)
	}
	d := t.decoder
	d.tidy = false
	return d.appendToken(dst, e.text, false)
}

// LeadingSpace reports whether AppendBytes gives the first token of a text a leading space that Decode leaves out.
func (t *Tokenizer) LeadingSpace() bool {
	return !t.decoder.marks || t.decoder.dropFirst || t.decoder.strip > 0
}
