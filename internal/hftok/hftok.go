package hftok

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/added"
	"github.com/antigravity-go/antigravity/internal/aligned"
	"github.com/antigravity-go/antigravity/internal/postprocess"
	"github.com/antigravity-go/antigravity/internal/tokenizerjson"
)

// ErrUnsupported is wrapped by the error for a tokenizer.json of another kind.
var ErrUnsupported = errors.New("unsupported tokenizer")

// ErrModel is wrapped by the error for a model that belongs to another package. It wraps ErrUnsupported.
var ErrModel = fmt.Errorf("%w: model", ErrUnsupported)

// spaceMark is how Unigram's vocabularies write a space.
const spaceMark = "\u2581"

// A Tokenizer translates between text and token ids. It has the methods of bpe.Tokenizer, is immutable and safe for
// concurrent use.
type Tokenizer struct {
	vocabulary
	raw        *added.Matcher // looked for in the text as it is
	normalized *added.Matcher // looked for in the normalised text
	addedTexts []string       // in the order of their ids

	normalize normalizers // run one after another, before the text is split
	split     []splitStep // the pre-tokenizers, run one after another
	model     model       // makes tokens of each piece
	decoder   decoder
	template  postprocess.Template // the tokens around texts
	said      tokenizerjson.Said   // by the tokenizer.json; empty for a GGUF file
	prefix    []int32              // the tokens before a single text
}

// Encode appends the tokens of text to dst. Added tokens are inert text. Characters that the model has no token for become the unknown
// token, or nothing if there is no unknown token.
func (t *Tokenizer) Encode(dst []int32, text string) []int32 {
	return t.encodeInert(dst, text, true)
}

// EncodeContinuation is Encode for a stretch of text that follows an added token. It differs if a pre-tokenizer puts a space before the
// beginning of a whole text only.
func (t *Tokenizer) EncodeContinuation(dst []int32, text string) []int32 {
	return t.encodeInert(dst, text, false)
}

func (t *Tokenizer) encodeInert(dst []int32, text string, first bool) []int32 {
	e := encoder{Tokenizer: t}
	return e.text(dst, t.normal(text), first)
}

// EncodeSpans is Encode that also returns the place of each token in the text: that of the characters which it comes from, as Hugging Face's library
// has it.
func (t *Tokenizer) EncodeSpans(text string) ([]int32, []aligned.Span) {
	a := aligned.Of(text)
	a.Valid()
	t.normalize.track(a)
	e := encoder{Tokenizer: t, tracks: true}
	ids := e.pieces(nil, piece{a.Text, true, a.Spans})
	return ids, e.spans
}

// EncodeSpecial appends the tokens of text to dst, and recognises added tokens in it. With bos, it first appends what the
// post-processor puts before a text.
func (t *Tokenizer) EncodeSpecial(dst []int32, text string, bos bool) []int32 {
	if bos {
		dst = append(dst, t.prefix...)
	}
	return t.encode(dst, added.Trusted(text))
}

// EncodeSegments appends to dst the tokens of a text that comes in segments; the bool reports whether a segment is trusted. The tokens are
// those of EncodeSpecial for the whole text, with one difference: an added token is recognised only if all of its bytes lie in trusted
// segments, and is inert otherwise, as in Encode. An added token that is looked for in the normalised text ("normalized") is recognised
// only if the whole text between two other added tokens is trusted.
func (t *Tokenizer) EncodeSegments(dst []int32, segments iter.Seq2[string, bool]) []int32 {
	return t.encode(dst, added.Join(segments))
}

func (t *Tokenizer) encode(dst []int32, text added.Text) []int32 {
	e := encoder{Tokenizer: t}
	t.raw.Split(text, func(start int, part added.Text, token *added.Token) {
		if token != nil {
			dst = append(dst, token.ID)
			return
		}
		first := start == 0
		normal := t.normal(part.String())
		if !part.AllTrusted() || t.normalized.Empty() {
			dst = e.text(dst, normal, first)
			return
		}
		t.normalized.Split(added.Trusted(normal), func(start int, part added.Text, token *added.Token) {
			if token != nil {
				dst = append(dst, token.ID)
				return
			}
			dst = e.text(dst, part.String(), first && start == 0)
		})
	})
	return dst
}

// normal returns text as the normalizers leave it.
func (t *Tokenizer) normal(text string) string { return t.normalize.apply(valid(text)) }

// valid returns text with each run of bytes that are not UTF-8 replaced by U+FFFD.
func valid(text string) string { return strings.ToValidUTF8(text, string(utf8.RuneError)) }

// An encoder is the state of one call that encodes a text: the tokenizer, and memory that the pieces use one after another.
type encoder struct {
	*Tokenizer
	path   []step  // for unigram.encode
	ends   []int32 // for unigram.trace
	tracks bool    // the places of tokens are asked for
	piece  piece   // under way
	spans  []aligned.Span
}

// place notes the place of the next token: that of some bytes of the piece. It may be noted for a token that is then dropped, see unplace.
func (e *encoder) place(from, to int) {
	if e.tracks {
		e.spans = append(e.spans, aligned.Span{Start: e.piece.spans[from].Start, End: e.piece.spans[to-1].End})
	}
}

// unplace forgets the places of the last n tokens.
func (e *encoder) unplace(n int) {
	if e.tracks {
		e.spans = e.spans[:len(e.spans)-n]
	}
}

// text appends the tokens of a stretch of normalised text that holds no added token. first reports whether the stretch begins
// the whole text.
func (e *encoder) text(dst []int32, text string, first bool) []int32 {
	return e.pieces(dst, piece{text: text, first: first})
}

// pieces is text for a text with places or without.
func (e *encoder) pieces(dst []int32, text piece) []int32 {
	if text.text == "" { // before which no space is put
		return dst
	}
	pieces := []piece{text}
	for _, split := range e.split {
		pieces = split(pieces)
	}
	for _, e.piece = range pieces {
		if e.piece.text != "" {
			dst = e.model.encode(e, dst, e.piece.text)
		}
	}
	return dst
}

// WordPieces reports whether tokens that go on with a word begin with a prefix.
func (t *Tokenizer) WordPieces() bool {
	p, ok := t.model.(wordPiece)
	return ok && p.continuing != ""
}

// Unknown returns the token of what the vocabulary has no token for, -1 without such a token.
func (t *Tokenizer) Unknown() int32 { return t.unknown }

// unknownToken appends the unknown token for some bytes of the piece, if there is one.
func (e *encoder) unknownToken(dst []int32, from, to int) []int32 {
	if e.unknown >= 0 {
		dst = append(dst, e.unknown)
		e.place(from, to)
	}
	return dst
}

// Kind returns what tokenizer.json calls the tokenizer's model: "WordPiece", "WordLevel" or "Unigram".
func (t *Tokenizer) Kind() string { return t.model.kind() }

// Added returns the texts of the added tokens, special or not, in the order of their ids. The caller may keep and change the
// slice.
func (t *Tokenizer) Added() []string { return slices.Clone(t.addedTexts) }

// BOS returns the token that the post-processor puts before a text, and false if it puts no token there.
func (t *Tokenizer) BOS() (int32, bool) {
	if len(t.prefix) == 0 {
		return -1, false
	}
	return t.prefix[0], true
}

// Template returns the tokens around one text, or two. The caller must not change it.
func (t *Tokenizer) Template() *postprocess.Template { return &t.template }

// Said returns what the tokenizer.json says of settings that other files may repeat.
func (t *Tokenizer) Said() tokenizerjson.Said { return t.said }
