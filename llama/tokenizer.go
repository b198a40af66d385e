package llama

import (
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/hftok"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/postprocess"
	"github.com/antigravity-go/antigravity/llama/internal/source"
)

// A Tokenizer has a Vocabulary, which cuts texts into tokens, and what conversations need: the chat template, the format of calls and the
// marks of thoughts. newVocabulary asks package bpe first, then hftok, and then the readers that RegisterTokenizer was given. A text from
// outside never becomes a control token: only EncodeSpecial and the stretches that a template trusts have these. For example, with a Llama
// 3:
//
//	Encode("Hi!")                        [13347 0]
//	EncodeSpecial("Hi!", true)           [128000 13347 0]: the begin token comes first
//	EncodeSpecial("<|eot_id|>", false)   [128009]
//	Encode("<|eot_id|>")                 the tokens of its ten characters, and not 128009
//	Decode(128000, 13347, 0)             "Hi!": the begin token is special

// Tokenizer turns text into tokens and back, and conversations into tokens. It is immutable, but for what Cached
// keeps, and safe for concurrent use.
type Tokenizer struct {
	vocabulary Vocabulary
	templates  templates            // the model's chat formats
	calls      calls.Format         // how the model writes function calls
	thinker    thinker              // how it marks thoughts
	end        string               // the token that ends a text or a turn, as the tokenizer's files name it; "" for no such token
	around     postprocess.Template // what stands around texts that are embedded or compared
	suppressed []int32              // no answer has these tokens
	ignored    []checkpoint.Ignored // what the files say of it in vain
	derived    sync.Map             // what Cached made, by key
	eyes       *eyes                // its model's
}

// Vocabulary is what a kind of tokenizer offers: the methods of Tokenizer in plain types. Implementations are immutable and
// safe for concurrent use, and their time is linear in the text, or nearly.
//
// Added tokens are those that are recognised in a text before it is split, as "<|eot_id|>" and "<think>" are. Some of them are
// special: Decode skips these.
type Vocabulary interface {
	// Encode appends to dst the tokens of a text in which added tokens are inert. EncodeContinuation is Encode for a text that
	// follows an added token.
	Encode(dst []int32, text string) []int32
	EncodeContinuation(dst []int32, text string) []int32
	// EncodeSpecial appends the tokens of a text in which added tokens are recognised; bos puts the begin token first where
	// there is one.
	EncodeSpecial(dst []int32, text string, bos bool) []int32
	// EncodeSegments is EncodeSpecial, without a begin token, of a text that comes in stretches. The bool reports whether a
	// stretch is trusted: an added token is recognised where all of its bytes are, and is inert elsewhere. How a run of trusted
	// stretches is cut makes no difference.
	EncodeSegments(dst []int32, segments iter.Seq2[string, bool]) []int32
	// Decode returns the text of tokens, and skips special ones. AppendBytes appends to dst the bytes of one token, special or not.
	Decode(tokens []int32) string
	AppendBytes(dst []byte, id int32) []byte
	// LeadingSpace reports whether the first token of a text carries a space that the text does not have, as SentencePiece's
	// does: Decode leaves this space out, and whoever puts a text together by AppendBytes has to drop it.
	LeadingSpace() bool
	// VocabSize is the largest id plus one. IsSpecial reports whether Decode skips an entry, ID returns the entry with a text, as the
	// vocabulary writes it, and Text returns that text ("" for an id that is not in use). Added lists the texts of the added tokens,
	// special or not.
	VocabSize() int
	IsSpecial(id int32) bool
	ID(text string) (int32, bool)
	Text(id int32) string
	Added() []string
	// BOS is the token that begins a text.
	BOS() (int32, bool)
}

// templated is what a Vocabulary has, too, if it puts tokens around texts that are embedded or compared.
type templated interface {
	// Template returns what stands around texts. The caller must not change it.
	Template() *postprocess.Template
}

// LoadTokenizer reads a tokenizer without any weights: from a tokenizer.json, a directory that holds one, or a GGUF file.
func LoadTokenizer(path string) (t *Tokenizer, err error) {
	defer func() {
		if path == "" {
			err = fileError("", err)
		} else {
			err = fileError("load the tokenizer "+path, err)
		}
	}()
	defer parallel.Catch(&err)() // a mapped file may be cut short while we read it
	if path == "" {
		return nil, &ParamError{"the path", `""`, "that of a folder or of a file"}
	}
	from, err := source.ReadTokenizer(path)
	if err != nil {
		return nil, err
	}
	return newTokenizer(from)
}

// tokenizerOf reads the tokenizer of a model, and refuses one with tokens that the model does not have. A model without a tokenizer gets
// one that knows no texts. template is the source of a chat template that replaces the model's own; "": the model's own.
func tokenizerOf(files *source.Model, template string) (*Tokenizer, error) {
	size := files.Config.VocabSize
	from, err := files.Tokenizer()
	if err != nil {
		return nil, err
	}
	if from == nil {
		return &Tokenizer{vocabulary: noVocabulary{size}, eyes: &eyes{model: files.File()}}, nil
	}
	if template != "" {
		from.Templates = []checkpoint.Template{{Name: checkpoint.DefaultTemplate, Source: template, File: "LoadOptions.ChatTemplate"}}
	}
	t, err := newTokenizer(from)
	if err != nil {
		return nil, err
	}
	if n := t.VocabSize(); n > size {
		return nil, source.Malformed(files.File(), fmt.Errorf("the tokenizer has %d entries, the embedding table only %d", n, size))
	}
	t.eyes = &eyes{model: files.File(), texts: true}
	return t, nil
}

// newTokenizer makes a tokenizer of what files say.
func newTokenizer(from *source.Tokenizer) (*Tokenizer, error) {
	v, err := newVocabulary(from)
	switch {
	case errors.Is(err, ErrUnsupported) && from.Name != "":
		return nil, fmt.Errorf("%s: %w", from.Name, err)
	case err != nil:
		return nil, source.Malformed(from.Path, err) // which leaves ErrUnsupported as it is
	}
	t := &Tokenizer{vocabulary: v, end: from.EOS, eyes: &eyes{}}
	if own, ok := v.(checkpoint.Tokens); ok && from.Check != nil {
		if t.ignored, err = from.Check(own); err != nil {
			return nil, source.Malformed(from.Path, err)
		}
	}
	if w, ok := v.(templated); ok {
		t.around = *w.Template()
	}
	bos, eos := from.BOS, from.EOS
	if gguf := from.Vocabulary; gguf != nil {
		text := func(id int32) string {
			if id < 0 {
				return ""
			}
			return v.Text(id)
		}
		bos, eos = text(gguf.BOS), text(gguf.EOS)
		t.suppressed = gguf.Suppressed
	}
	if err := setTemplates(t, from.Templates, bos, eos); err != nil {
		return nil, err
	}
	return t, nil
}

// newVocabulary makes a vocabulary of what files say.
func newVocabulary(from *source.Tokenizer) (Vocabulary, error) {
	if from.Vocabulary == nil {
		return parseVocabulary(from.JSON)
	}
	var v Vocabulary
	var err error
	switch from.Vocabulary.Model {
	case bpe.WordPieceModel, bpe.UnigramModel:
		v, err = hftok.FromVocab(*from.Vocabulary)
	default:
		v, err = bpe.FromVocab(*from.Vocabulary)
	}
	if errors.Is(err, bpe.ErrUnsupported) || errors.Is(err, hftok.ErrUnsupported) {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// EncodeWhole returns the tokens of a whole text as Model.Embed gives them to the model: those of Encode, between the tokens that
// the tokenizer puts before and after a text.
func (t *Tokenizer) EncodeWhole(text string) []Token {
	tokens := t.vocabulary.Encode(t.vocabulary.EncodeSpecial(nil, "", true), text)
	return fromInt32(append(tokens, t.around.After()...))
}

// EncodePair returns the tokens of two texts in one, as Model.Rerank gives a query and a document to the model: those of Encode, with what
// the tokenizer puts before, between and after them. types has each token's type: 0 for those that belong to the first text, and for a
// tokenizer in BERT's manner 1 for those that belong to the second.
func (t *Tokenizer) EncodePair(first, second string) (tokens []Token, types []int32) {
	ids, types := t.around.Join(t.vocabulary.Encode(nil, first), t.vocabulary.Encode(nil, second))
	return fromInt32(ids), types
}

// Encode returns the tokens of a text. Added tokens in it are inert, whether they are special ("<|eot_id|>") or not
// ("<think>"): they are characters like any others. No begin-of-text token is added.
func (t *Tokenizer) Encode(text string) []Token {
	return fromInt32(t.vocabulary.Encode(nil, text))
}

// EncodeContinuation is Encode for a text that goes on after other tokens. It differs if the tokenizer puts a space before the first word
// of a text.
func (t *Tokenizer) EncodeContinuation(text string) []Token {
	return fromInt32(t.vocabulary.EncodeContinuation(nil, text))
}

// EncodeSpecial returns the tokens of a text in which added tokens are recognised, special or not, as Hugging Face's tokenizers do; bos
// puts the begin-of-text token first if the model wants one. Never use it on text from outside.
func (t *Tokenizer) EncodeSpecial(text string, bos bool) []Token {
	return fromInt32(t.vocabulary.EncodeSpecial(nil, text, bos))
}

// Decode returns the text of tokens. Special tokens are skipped, bytes that are not UTF-8 become U+FFFD.
func (t *Tokenizer) Decode(tokens ...Token) string {
	return t.vocabulary.Decode(toInt32(tokens))
}

// VocabSize returns the number of entries: the largest id plus one.
func (t *Tokenizer) VocabSize() int { return t.vocabulary.VocabSize() }

// Special reports whether a token is a control token, which Decode skips.
func (t *Tokenizer) Special(token Token) bool { return t.vocabulary.IsSpecial(int32(token)) }

// ID returns the token with a text, as the vocabulary writes it: "<|eot_id|>", "Ġworld".
func (t *Tokenizer) ID(text string) (Token, bool) {
	id, ok := t.vocabulary.ID(text)
	return Token(id), ok
}

// Text returns a token as the vocabulary writes it, "" for an id that is not in use.
func (t *Tokenizer) Text(token Token) string { return t.vocabulary.Text(int32(token)) }

// AppendBytes appends the bytes of one token to dst. A character may be spread over several tokens.
func (t *Tokenizer) AppendBytes(dst []byte, token Token) []byte {
	return t.vocabulary.AppendBytes(dst, int32(token))
}

// AddedTokens returns the tokens that are recognised in a text before it is split, special or not, as "<|eot_id|>" and "<think>" are.
// They are no text: a model that writes one says something else than one that writes its characters.
func (t *Tokenizer) AddedTokens() []Token {
	var tokens []Token
	for _, text := range t.vocabulary.Added() {
		if id, ok := t.vocabulary.ID(text); ok {
			tokens = append(tokens, Token(id))
		}
	}
	return tokens
}

// Cached returns the value kept with the tokenizer under key, and calls make for it the first time. Packages keep values there that take
// long to compute and that live as long as the tokenizer, as package constrain keeps its compiled constraints. Keys are compared as map
// keys are: each package uses a type of its own. make may be called again if several goroutines ask at once; all of them get the same
// value. If the value has a method MemoryUsage() int64, safe for concurrent use, Model.MemoryUsage counts the bytes that it returns.
func (t *Tokenizer) Cached(key any, make func() any) any {
	if v, ok := t.derived.Load(key); ok {
		return v
	}
	v, _ := t.derived.LoadOrStore(key, make())
	return v
}

// parsers holds what RegisterTokenizer was given; nothing changes it once the init functions have run.
var parsers struct {
	sync.RWMutex
	list []func(data []byte) (Vocabulary, error)
}

// RegisterTokenizer adds a reader for kinds of tokenizer.json that this package does not read itself. It is asked for files
// that were refused as unsupported, and answers with an error that wraps ErrUnsupported for those that it does not read
// either. Packages call it from init, as image formats do.
func RegisterTokenizer(parse func(data []byte) (Vocabulary, error)) {
	parsers.Lock()
	defer parsers.Unlock()
	parsers.list = append(parsers.list, parse)
}

// parseVocabulary reads a tokenizer.json: with the readers of this module or, if these do not support it, with the registered ones.
func parseVocabulary(data []byte) (Vocabulary, error) {
	b, err := bpe.ParseJSON(data)
	if err == nil {
		return b, nil
	}
	if !errors.Is(err, bpe.ErrUnsupported) {
		return nil, err
	}
	w, other := hftok.ParseJSON(data)
	switch {
	case other == nil:
		return w, nil
	case !errors.Is(other, hftok.ErrUnsupported):
		return nil, other
	case !errors.Is(other, hftok.ErrModel): // a kind of that package's, with a step that it lacks
		err = other
	}
	err = fmt.Errorf("%w: %w", ErrUnsupported, err)
	parsers.RLock()
	defer parsers.RUnlock()
	for _, parse := range parsers.list {
		v, other := parse(data)
		if other == nil {
			return v, nil
		}
		if !errors.Is(other, ErrUnsupported) {
			return nil, other
		}
	}
	return nil, err
}

// noVocabulary is the vocabulary of a model that came without a tokenizer: it knows how many tokens there are, and no texts.
type noVocabulary struct{ size int }

// hasTexts returns an error if the tokenizer is that of a model that came without one.
func (t *Tokenizer) hasTexts() error {
	if _, none := t.vocabulary.(noVocabulary); none {
		return fmt.Errorf("%w: the model came without a tokenizer (a tokenizer.json in its folder, or the vocabulary of a GGUF file), so that it takes "+
			"tokens and no texts", ErrUnsupported)
	}
	return nil
}

func (noVocabulary) Encode(dst []int32, _ string) []int32                          { return dst }
func (noVocabulary) EncodeContinuation(dst []int32, _ string) []int32              { return dst }
func (noVocabulary) EncodeSpecial(dst []int32, _ string, _ bool) []int32           { return dst }
func (noVocabulary) EncodeSegments(dst []int32, _ iter.Seq2[string, bool]) []int32 { return dst }
func (noVocabulary) LeadingSpace() bool                                            { return false }
func (noVocabulary) Decode([]int32) string                                         { return "" }
func (noVocabulary) AppendBytes(dst []byte, _ int32) []byte                        { return dst }
func (v noVocabulary) VocabSize() int                                              { return v.size }
func (noVocabulary) IsSpecial(int32) bool                                          { return false }
func (noVocabulary) ID(string) (int32, bool)                                       { return 0, false }
func (noVocabulary) Text(int32) string                                             { return "" }
func (noVocabulary) Added() []string                                               { return nil }
func (noVocabulary) BOS() (int32, bool)                                            { return 0, false }
