package bpe

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// ErrUnsupported is wrapped by the error for a well-formed tokenizer of a kind that this package does not implement.
var ErrUnsupported = errors.New("unsupported tokenizer")

// A Tokenizer translates between text and token ids. It is immutable and safe for concurrent use.
type Tokenizer struct {
	vocab *vocabulary
	pairs *pairs

	added      *matcher // looked for in the text as it is
	normalized *matcher // looked for in the normalised text
	specials   []string

	bos    int32   // -1 for none
	prefix []int32 // what EncodeSpecial begins with

	split        splitter // how text falls into pieces; nil: as a whole
	ignoreMerges bool     // a piece that is a token is that token, whatever the merges would make of it
	space        spacePrefix
	byteFallback bool  // a character that is no token becomes its bytes' tokens
	unknown      int32 // what becomes of it otherwise; -1: it is dropped
	fuseUnknown  bool  // neighbouring unknown characters become one token

	symbols [256]int32 // the tokens of single bytes (byte level) or ASCII characters (SentencePiece); -1 for none
	decoder decoder
}

// spacePrefix says when a space is put before a text.
type spacePrefix uint8

const (
	neverPrefix  spacePrefix = iota
	alwaysPrefix             // before every stretch of text between added tokens
	unlessPrefix             // the same, unless the stretch begins with a space
	firstPrefix              // the same, and only where the stretch begins the text
)

// Encode appends the tokens of text to dst. No added token is recognised, special or not: "<|eot_id|>" is ten characters
// like any others, so that text from outside cannot forge a conversation's structure. No begin token is added.
//
// Bytes that are not UTF-8 are kept where the vocabulary has tokens for them.
func (t *Tokenizer) Encode(dst []int32, text string) []int32 {
	return t.encode(dst, text, true)
}

// EncodeContinuation is Encode for a stretch of text that follows an added token. It differs where a tokenizer puts a space
// before the beginning of a whole text only, as SentencePiece vocabularies with the prepend scheme "first" do.
func (t *Tokenizer) EncodeContinuation(dst []int32, text string) []int32 {
	return t.encode(dst, text, false)
}

func (t *Tokenizer) encode(dst []int32, text string, first bool) []int32 {
	e := encoder{Tokenizer: t, merger: merger{pairs: t.pairs}}
	return e.text(dst, t.normalize(text), first)
}

// EncodeSpecial appends the tokens of text to dst, and recognises added tokens in it as Hugging Face's tokenizers do. With
// bos, it first appends what the tokenizer's post-processor puts before a text: Llama's begin token, as a rule.
// (What a post-processor puts after a text is left to the caller.)
func (t *Tokenizer) EncodeSpecial(dst []int32, text string, bos bool) []int32 {
	e := encoder{Tokenizer: t, merger: merger{pairs: t.pairs}}
	if bos {
		dst = append(dst, t.prefix...)
	}
	t.added.split(text, func(start int, part string, token *addedToken) {
		if token != nil {
			dst = append(dst, token.ID)
			return
		}
		first := start == 0
		t.normalized.split(t.normalize(part), func(start int, part string, token *addedToken) {
			if token != nil {
				dst = append(dst, token.ID)
				return
			}
			dst = e.text(dst, part, first && start == 0)
		})
	})
	return dst
}

// normalize returns text as the normaliser leaves it. SentencePiece's space mark and the space are one thing to the
// vocabulary, so it stays a space here.
func (t *Tokenizer) normalize(text string) string {
	if t.vocab.codec == metaspace {
		text = strings.ReplaceAll(text, spaceMark, " ")
	}
	if t.space == alwaysPrefix && text != "" {
		return " " + text
	}
	return text
}

// VocabSize returns the largest id plus one. Ids below it need not all be in use.
func (t *Tokenizer) VocabSize() int { return len(t.vocab.flags) }

// IsSpecial reports whether id is a special token, which Decode skips. It is false for an id that is not in use.
func (t *Tokenizer) IsSpecial(id int32) bool { return t.vocab.has(id, special) }

// ID returns the id of the token with this exact text, as the vocabulary writes it ("Ġworld", "▁world", "<|eot_id|>").
// Added tokens are included.
func (t *Tokenizer) ID(text string) (int32, bool) { return t.vocab.id([]byte(text)) }

// Text returns the text of a token as the vocabulary writes it, and "" for an id that is not in use.
func (t *Tokenizer) Text(id int32) string { return t.vocab.text(id) }

// Specials returns the texts of the special tokens, in the order of their ids. The caller may keep and change the slice.
func (t *Tokenizer) Specials() []string { return append([]string(nil), t.specials...) }

// BOS returns the token that begins a text, and false when the tokenizer does not name one.
func (t *Tokenizer) BOS() (int32, bool) { return t.bos, t.bos >= 0 }

// finish fills what follows from the vocabulary.
func (t *Tokenizer) finish(added []addedToken) error {
	var raw, normalized []addedToken
	for _, a := range added {
		if a.Normalized {
			a.Content = t.normalize(a.Content)
			normalized = append(normalized, a)
		} else {
			raw = append(raw, a)
		}
	}
	var err error
	if t.added, err = newMatcher(raw); err != nil {
		return err
	}
	if t.normalized, err = newMatcher(normalized); err != nil {
		return err
	}
	for id, f := range t.vocab.flags {
		if f&special != 0 {
			t.specials = append(t.specials, t.vocab.text(int32(id)))
		}
	}
	byBytes := t.vocab.codec == byteLevel
	if !byBytes && t.split == nil && t.separatesWords() {
		t.split = splitWords
	}
	for c := range t.symbols {
		t.symbols[c] = -1
		if id, ok := t.vocab.lookup(string([]byte{byte(c)})); ok && (byBytes || c < utf8.RuneSelf) {
			t.symbols[c] = id
		}
	}
	return nil
}

// separatesWords reports whether splitWords leaves the tokens of a SentencePiece vocabulary as they are: no token may hold a
// space after something else, and the space must be a token.
func (t *Tokenizer) separatesWords() bool {
	if _, ok := t.vocab.lookup(" "); !ok || t.ignoreMerges {
		return false
	}
	for id := range int32(len(t.vocab.flags)) {
		if b := t.vocab.bytesOf(id); !t.vocab.has(id, special|literal) && bytes.Contains(bytes.TrimLeft(b, " "), []byte{' '}) {
			return false
		}
	}
	return true
}
