package hftok

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sugarme/tokenizer"
	"github.com/sugarme/tokenizer/pretrained"
)

// ErrUnsupported is wrapped by the error for a tokenizer.json of another kind.
var ErrUnsupported = errors.New("unsupported tokenizer")

// maxID bounds token ids.
const maxID = 1 << 24

// spaceMark is how Unigram's vocabularies write a space.
const spaceMark = "\u2581"

// A Tokenizer translates between text and token ids. It has the methods of bpe.Tokenizer and is safe for concurrent use;
// calls take turns.
type Tokenizer struct {
	mu      sync.Mutex
	special *tokenizer.Tokenizer // recognises added tokens
	inert   *tokenizer.Tokenizer // takes them for text

	texts      map[int32]string
	ids        map[string]int32
	specials   []int32 // in ascending order
	size       int
	unknown    int32   // -1 for none
	prefix     []int32 // what the post-processor puts before a text
	continuing string  // what WordPiece begins a token with that continues a word; "" for the other models
	unigram    bool
}

// file is what this package reads of a tokenizer.json itself.
type file struct {
	Added []tokenizer.TokenConfig `json:"added_tokens"`
	Model struct {
		Type       string  `json:"type"`
		Unknown    string  `json:"unk_token"`
		UnknownID  *int32  `json:"unk_id"`
		Continuing *string `json:"continuing_subword_prefix"`
	} `json:"model"`
}

// ParseJSON reads a tokenizer.json whose model is WordPiece, WordLevel or Unigram. The error wraps ErrUnsupported for
// another model.
func ParseJSON(data []byte) (*Tokenizer, error) {
	t, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("hftok: reading a tokenizer.json: %w", err)
	}
	return t, nil
}

func parse(data []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	t := &Tokenizer{unknown: -1, unigram: f.Model.Type == "Unigram"}
	switch f.Model.Type {
	case "WordPiece":
		t.continuing = "##"
		if f.Model.Continuing != nil && *f.Model.Continuing != t.continuing {
			return nil, fmt.Errorf("%w: continuing_subword_prefix %q; \"##\" is implemented", ErrUnsupported, *f.Model.Continuing)
		}
	case "WordLevel", "Unigram":
	default:
		return nil, fmt.Errorf("%w: model %q; WordPiece, WordLevel and Unigram are implemented", ErrUnsupported, f.Model.Type)
	}
	var err error
	if t.special, err = load(data, "truncation", "padding"); err != nil { // which change the tokens of a text
		return nil, err
	}
	if t.inert, err = load(data, "truncation", "padding", "added_tokens"); err != nil {
		return nil, err
	}
	if err := t.index(&f); err != nil {
		return nil, err
	}
	return t, t.findPrefix()
}

// load has the library read a tokenizer.json, less some members.
func load(data []byte, without ...string) (t *tokenizer.Tokenizer, err error) {
	defer catch(&err)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	for _, name := range without {
		delete(members, name)
	}
	text, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return pretrained.FromReader(bytes.NewReader(text))
}

// catch makes a panic of the library an error.
func catch(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("github.com/sugarme/tokenizer panicked: %v", r)
	}
}

// index reads the vocabulary.
func (t *Tokenizer) index(f *file) (err error) {
	defer catch(&err)
	t.texts, t.ids = map[int32]string{}, map[string]int32{}
	for text, id := range t.special.GetVocab(true) {
		if id < 0 || id >= maxID {
			return fmt.Errorf("token %.40q has id %d; ids go from 0 to %d", text, id, maxID-1)
		}
		if other, ok := t.texts[int32(id)]; ok {
			return fmt.Errorf("id %d belongs to %.40q and to %.40q", id, other, text)
		}
		t.texts[int32(id)], t.ids[text] = text, int32(id)
		t.size = max(t.size, id+1)
	}
	for _, a := range f.Added {
		id, ok := t.ids[a.Content]
		if !ok || int64(id) != a.Id {
			return fmt.Errorf("added token %.40q has id %d, and %d in the library", a.Content, a.Id, id)
		}
		if a.Special {
			t.specials = append(t.specials, id)
		}
	}
	slices.Sort(t.specials)
	if id, ok := t.ids[f.Model.Unknown]; ok {
		t.unknown = id
	}
	if f.Model.UnknownID != nil {
		t.unknown = *f.Model.UnknownID
	}
	return nil
}

// findPrefix finds what the post-processor puts before a text, by what it puts before one.
func (t *Tokenizer) findPrefix() error {
	plain, err := t.encode(t.special, "a", false)
	if err != nil {
		return err
	}
	full, err := t.encode(t.special, "a", true)
	if err != nil {
		return err
	}
	for i := range full {
		if len(plain) > 0 && i+len(plain) <= len(full) && slices.Equal(full[i:i+len(plain)], plain) {
			t.prefix = full[:i]
			break
		}
	}
	return nil
}

// encode has the library encode a text.
func (t *Tokenizer) encode(lib *tokenizer.Tokenizer, text string, process bool) (ids []int32, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer catch(&err)
	text = strings.ToValidUTF8(text, "\uFFFD") // the library panics on anything else
	e, err := lib.Encode(tokenizer.NewSingleEncodeInput(tokenizer.NewInputSequence(text)), process)
	if err != nil {
		return nil, err
	}
	for _, id := range e.Ids {
		ids = append(ids, int32(id))
	}
	return ids, nil
}

// TryEncode returns the tokens of text, with added tokens recognised or not. It is the form of Encode and EncodeSpecial that
// tells when the library fails.
func (t *Tokenizer) TryEncode(text string, recognise bool) ([]int32, error) {
	lib := t.inert
	if recognise {
		lib = t.special
	}
	ids, err := t.encode(lib, text, false)
	if err != nil {
		return nil, fmt.Errorf("hftok: encoding a text of %d bytes: %w", len(text), err)
	}
	if recognise {
		return ids, nil
	}
	for i, id := range ids {
		if t.IsSpecial(id) {
			ids[i] = t.unknown
		}
	}
	return slices.DeleteFunc(ids, func(id int32) bool { return id < 0 }), nil
}

// Encode appends the tokens of text to dst. Added tokens are inert text. A text that the library fails on becomes the
// unknown token, or nothing where there is none; see TryEncode.
func (t *Tokenizer) Encode(dst []int32, text string) []int32 { return t.append(dst, text, false) }

// EncodeContinuation is Encode; the library knows no difference.
func (t *Tokenizer) EncodeContinuation(dst []int32, text string) []int32 { return t.Encode(dst, text) }

// EncodeSpecial appends the tokens of text to dst, and recognises added tokens in it. With bos, it first appends what the
// post-processor puts before a text. A text that the library fails on is treated as in Encode.
func (t *Tokenizer) EncodeSpecial(dst []int32, text string, bos bool) []int32 {
	if bos {
		dst = append(dst, t.prefix...)
	}
	return t.append(dst, text, true)
}

func (t *Tokenizer) append(dst []int32, text string, recognise bool) []int32 {
	ids, err := t.TryEncode(text, recognise)
	if err != nil && t.unknown >= 0 {
		ids = []int32{t.unknown}
	}
	return append(dst, ids...)
}

// Decode returns the text of tokens. Special tokens and ids that are not in use are skipped. Where the library fails, the
// text is put together from the single tokens.
func (t *Tokenizer) Decode(tokens []int32) string {
	text, err := t.decode(tokens)
	if err != nil {
		var b []byte
		for _, id := range tokens {
			b = t.AppendBytes(b, id)
		}
		text = string(b)
	}
	return strings.TrimPrefix(text, " ")
}

func (t *Tokenizer) decode(tokens []int32) (text string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer catch(&err)
	var ids []int
	for _, id := range tokens {
		if _, ok := t.texts[id]; ok {
			ids = append(ids, int(id))
		}
	}
	return t.special.Decode(ids, true), nil
}

// AppendBytes appends the text of one token, with the space that goes before a word, to dst. It appends nothing for special
// tokens and ids that are not in use. WordPiece's cleaning up ("a ," to "a,") needs a whole text and is left to Decode.
func (t *Tokenizer) AppendBytes(dst []byte, id int32) []byte {
	text, ok := t.texts[id]
	switch {
	case !ok || t.IsSpecial(id):
		return dst
	case t.unigram:
		return append(dst, strings.ReplaceAll(text, spaceMark, " ")...)
	case t.continuing != "" && strings.HasPrefix(text, t.continuing):
		return append(dst, text[len(t.continuing):]...)
	}
	return append(append(dst, ' '), text...)
}

// LeadingSpace reports that the first token of a text has a space before it, which Decode takes off.
func (t *Tokenizer) LeadingSpace() bool { return true }

// VocabSize returns the largest id plus one.
func (t *Tokenizer) VocabSize() int { return t.size }

// IsSpecial reports whether id is a special token, which Decode skips.
func (t *Tokenizer) IsSpecial(id int32) bool {
	_, ok := slices.BinarySearch(t.specials, id)
	return ok
}

// ID returns the id of the token with this exact text; added tokens are included.
func (t *Tokenizer) ID(text string) (int32, bool) {
	id, ok := t.ids[text]
	return id, ok
}

// Text returns the text of a token as the vocabulary writes it, and "" for an id that is not in use.
func (t *Tokenizer) Text(id int32) string { return t.texts[id] }

// Specials returns the texts of the special tokens, in the order of their ids. The caller may keep and change the slice.
func (t *Tokenizer) Specials() []string {
	var texts []string
	for _, id := range t.specials {
		texts = append(texts, t.texts[id])
	}
	return texts
}

// BOS returns the token that the post-processor puts before a text, and false when there is none.
func (t *Tokenizer) BOS() (int32, bool) {
	if len(t.prefix) == 0 {
		return -1, false
	}
	return t.prefix[0], true
}
