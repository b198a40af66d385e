package bpe

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/added"
	"github.com/antigravity-go/antigravity/internal/aligned"
	"github.com/antigravity-go/antigravity/internal/postprocess"
	"github.com/antigravity-go/antigravity/internal/tokenizerjson"
	"golang.org/x/text/unicode/norm"
)

// Encode does its stages for one part of the text after the other. For example, Llama 3 encodes "Hi, <|eot_id|>Bob" so:
//
//	added tokens      "Hi, "  <|eot_id|>  "Bob"
//	normalised        "Hi, "              "Bob"
//	pieces            "Hi" "," " "        "Bob"
//	merged            tokens of each piece
//
// Added tokens are found only among trusted bytes (EncodeSegments); in text from outside, "<|eot_id|>" is ten characters. A few added
// tokens are looked for only after the text was normalised.

// ErrUnsupported is wrapped by the error for a well-formed tokenizer of a kind that this package does not implement.
var ErrUnsupported = errors.New("unsupported tokenizer")

// A Tokenizer translates between text and token ids. It is immutable and safe for concurrent use.
type Tokenizer struct {
	vocab *vocabulary
	pairs *pairs

	added      *added.Matcher // looked for in the text as it is
	normalized *added.Matcher // looked for in the normalised text
	addedTexts []string       // in the order of their ids

	bos      int32                // the begin token, or -1
	template postprocess.Template // the tokens around texts
	said     tokenizerjson.Said   // by the tokenizer.json; empty for a GGUF file
	prefix   []int32              // the tokens that EncodeSpecial begins with, if it is told to: those before a single text

	forms        []norm.Form // Unicode's normal forms that a text is brought into, one after another
	split        splitter    // cuts a text into pieces; nil: the whole text is one piece
	rule         string      // what GGUF calls split and ignoreMerges at byte level; "" if it has no name for them
	ignoreMerges bool        // a piece that is a token is that token, whatever the merges would make of it
	space        spacePrefix // when a space is put before a text
	byteFallback bool        // a character that is no token becomes the tokens of its bytes
	unknown      int32       // the token of a character that is no token, if byteFallback does not help; -1: it is dropped
	fuseUnknown  bool        // neighbouring unknown characters become one token

	symbols [256]int32 // the tokens of single bytes (byte level) or ASCII characters (SentencePiece), or -1
	decoder decoder
}

// spacePrefix says when a space is put before a text.
type spacePrefix uint8

const (
	neverPrefix  spacePrefix = iota
	alwaysPrefix             // before every stretch of text between added tokens
	unlessPrefix             // before every such stretch that does not begin with a space
	firstPrefix              // before the stretch that begins the text, if it does not begin with a space
)

// Encode appends the tokens of text to dst. No added token is recognised, special or not: "<|eot_id|>" is ten characters
// like any others, so that text from outside cannot forge a conversation's structure. No begin token is added.
//
// Bytes that are not UTF-8 are kept if the vocabulary has tokens for them.
func (t *Tokenizer) Encode(dst []int32, text string) []int32 {
	return t.encode(dst, text, true)
}

// EncodeContinuation is Encode for a stretch of text that follows an added token. It differs if the tokenizer puts a space before the
// beginning of a whole text only, as SentencePiece vocabularies with the prepend scheme "first" do.
func (t *Tokenizer) EncodeContinuation(dst []int32, text string) []int32 {
	return t.encode(dst, text, false)
}

func (t *Tokenizer) encode(dst []int32, text string, first bool) []int32 {
	e := encoder{Tokenizer: t, merger: merger{pairs: t.pairs}}
	return e.text(dst, t.normalize(text), first)
}

// EncodeSpans is Encode that also returns the place of each token in the text: that of the characters which it comes from, as Hugging Face's library
// has it. A character that is spread over several tokens is the place of each.
func (t *Tokenizer) EncodeSpans(text string) ([]int32, []aligned.Span) {
	a := aligned.Of(text)
	for _, form := range t.forms {
		a.Form(form, form.String)
	}
	if t.vocab.codec == metaspace {
		a.ReplaceAll(spaceMark, " ")
	}
	if t.space == alwaysPrefix || t.space != neverPrefix && !strings.HasPrefix(a.Text, " ") {
		a.Prepend(" ")
	}
	e := encoder{Tokenizer: t, merger: merger{pairs: t.pairs}, places: a}
	ids := e.text(nil, a.Text, true)
	return ids, e.spans
}

// EncodeSpecial appends the tokens of text to dst, and recognises added tokens in it as Hugging Face's tokenizers do. With
// bos, it first appends what the tokenizer's post-processor puts before a text: Llama's begin token, as a rule.
// (What a post-processor puts after a text is left to the caller: see Ending.)
func (t *Tokenizer) EncodeSpecial(dst []int32, text string, bos bool) []int32 {
	if bos {
		dst = append(dst, t.prefix...)
	}
	return t.encodeText(dst, added.Trusted(text))
}

// EncodeSegments appends to dst the tokens of a text that comes in segments; the bool reports whether a segment is trusted. The tokens are
// those of EncodeSpecial for the whole text, except that an added token is recognised only if all of its bytes lie in trusted segments;
// elsewhere it is inert, as in Encode. The white space next to an added token that LStrip and RStrip make part of it may lie in either kind
// of segment.
func (t *Tokenizer) EncodeSegments(dst []int32, segments iter.Seq2[string, bool]) []int32 {
	return t.encodeText(dst, added.Join(segments))
}

func (t *Tokenizer) encodeText(dst []int32, text added.Text) []int32 {
	e := encoder{Tokenizer: t, merger: merger{pairs: t.pairs}}
	t.added.Split(text, func(start int, part added.Text, token *added.Token) {
		if token != nil {
			dst = append(dst, token.ID)
			return
		}
		first := start == 0
		t.normalized.Split(t.normalizeText(part), func(start int, part added.Text, token *added.Token) {
			if token != nil {
				dst = append(dst, token.ID)
				return
			}
			dst = e.text(dst, part.String(), first && start == 0)
		})
	})
	return dst
}

// normalize returns text as the tokenizer's normalizer does, except that it writes spaces, and not space marks, for
// SentencePiece: the vocabulary's table has the bytes that tokens stand for, with spaces.
func (t *Tokenizer) normalize(text string) string {
	for _, form := range t.forms {
		text = form.String(text)
	}
	if t.vocab.codec == metaspace {
		text = strings.ReplaceAll(text, spaceMark, " ")
	}
	if t.space == alwaysPrefix && text != "" {
		return " " + text
	}
	return text
}

// normalizeText is normalize for a text that is trusted in part.
func (t *Tokenizer) normalizeText(text added.Text) added.Text {
	for _, form := range t.forms {
		text = normalForm(form, text)
	}
	if t.vocab.codec == metaspace {
		text = text.Replace(spaceMark, " ")
	}
	if t.space == alwaysPrefix && text.String() != "" {
		return text.Prefix(" ")
	}
	return text
}

// normalForm returns a text in a normal form. Bytes that replace characters are trusted if all bytes of these were.
func normalForm(form norm.Form, text added.Text) added.Text {
	if form.IsNormalString(text.String()) {
		return text
	}
	var i norm.Iter
	i.InitString(form, text.String())
	return text.Map(func() (from int, to []byte, ok bool) {
		if i.Done() {
			return 0, nil, false
		}
		to = i.Next()
		return i.Pos(), to, true
	})
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

// Added returns the texts of the added tokens, special or not, in the order of their ids. The caller may keep and change the
// slice.
func (t *Tokenizer) Added() []string { return slices.Clone(t.addedTexts) }

// Kind says in words what kind of tokenizer it is.
func (t *Tokenizer) Kind() string {
	var b strings.Builder
	switch {
	case t.vocab.codec == metaspace:
		b.WriteString("SentencePiece's byte-pair encoding")
	case t.rule != "":
		fmt.Fprintf(&b, "byte-pair encoding of bytes, split as %s", t.rule)
	case t.split == nil:
		b.WriteString("byte-pair encoding of bytes, not split")
	default:
		b.WriteString("byte-pair encoding of bytes, split by a rule without a name")
	}
	for _, form := range t.forms {
		for name, known := range normalForms {
			if form == known {
				b.WriteString(", normalised by " + name)
			}
		}
	}
	return b.String()
}

// Rule returns GGUF's name for the way in which a tokenizer at byte level splits text, and false if GGUF has no name for it. The name does
// not cover normal forms, which GGUF does not have.
func (t *Tokenizer) Rule() (name string, ok bool) { return t.rule, t.rule != "" }

// BOS returns the token that begins a text, and false when the tokenizer does not name one.
func (t *Tokenizer) BOS() (int32, bool) { return t.bos, t.bos >= 0 }

// Template returns the tokens around one text, or two, as models that embed texts are trained with. The caller must not change it.
func (t *Tokenizer) Template() *postprocess.Template { return &t.template }

// Said returns what the tokenizer.json says of settings that other files may repeat.
func (t *Tokenizer) Said() tokenizerjson.Said { return t.said }

// setTemplate sets the tokens around texts.
func (t *Tokenizer) setTemplate(around postprocess.Template) {
	t.template, t.prefix = around, around.Before()
	if len(t.prefix) > 0 {
		t.bos = t.prefix[0]
	}
}

// finish fills the fields that follow from the vocabulary and from the added tokens: addedTexts, the matchers, symbols, and
// split.
func (t *Tokenizer) finish(tokens []added.Token) error {
	var raw, normalized []added.Token
	slices.SortFunc(tokens, func(a, b added.Token) int { return cmp.Compare(a.ID, b.ID) })
	for _, a := range tokens {
		t.addedTexts = append(t.addedTexts, a.Content)
		if a.Normalized {
			a.Content = t.normalize(a.Content)
			normalized = append(normalized, a)
		} else {
			raw = append(raw, a)
		}
	}
	var err error
	if t.added, err = added.NewMatcher(raw); err != nil {
		return err
	}
	if t.normalized, err = added.NewMatcher(normalized); err != nil {
		return err
	}
	byBytes := t.vocab.codec == byteLevel
	if !byBytes { // in the normalised text there is a mark in the place of our space
		t.normalized.IsSpace = func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }
	}
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
