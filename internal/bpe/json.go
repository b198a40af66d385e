package bpe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/added"
	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// ParseJSON reads a tokenizer.json of Hugging Face's tokenizers library. The error wraps ErrUnsupported where the file asks
// for a model, normalizer, pre-tokenizer, post-processor or decoder that this package does not implement.
func ParseJSON(data []byte) (*Tokenizer, error) {
	t, err := parseJSON(data)
	if err != nil {
		return nil, fmt.Errorf("bpe: reading a tokenizer.json: %w", err)
	}
	return t, nil
}

func parseJSON(data []byte) (*Tokenizer, error) {
	if len(data) > math.MaxInt32 {
		return nil, fmt.Errorf("%d bytes; at most %d would be right", len(data), math.MaxInt32)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("not UTF-8")
	}
	f, err := readFile(data)
	if err != nil {
		return nil, err
	}
	pl, err := f.pipeline()
	if err != nil {
		return nil, err
	}
	return pl.build(f)
}

// A few bytes of a file may become many times as many bytes in memory. With these bounds a file takes memory within a small
// multiple of its length.
const (
	maxMembers     = 256     // of the file and of its model
	maxCommas      = 4096    // of a part that describes the pipeline, in which an empty component takes hundreds of bytes
	maxAddedCommas = 1 << 18 // of added_tokens; Gemma 3's 6,415 have 45,000
)

// file is a tokenizer.json of which only the model's small settings have been decoded. Its spans are where values lie in
// data.
type file struct {
	data     []byte
	parts    map[string]span // the members of the file
	settings map[string]span // the members of its model
	model    model
}

// model has the settings of a BPE model.
type model struct {
	Type         string   `json:"type"`
	Dropout      *float64 `json:"dropout"`
	Unknown      *string  `json:"unk_token"`
	Prefix       string   `json:"continuing_subword_prefix"`
	Suffix       string   `json:"end_of_word_suffix"`
	FuseUnknown  bool     `json:"fuse_unk"`
	ByteFallback bool     `json:"byte_fallback"`
	IgnoreMerges bool     `json:"ignore_merges"`
}

func readFile(data []byte) (*file, error) {
	r := reader{data: data}
	f := &file{data: data, parts: map[string]span{}}
	err := r.object(func(name []byte) (err error) {
		key := string(name)
		if _, ok := f.parts[key]; ok {
			return r.errorf("%.40q comes twice", key)
		}
		if len(f.parts) == maxMembers {
			return r.errorf("more than %d members", maxMembers)
		}
		if key == "model" && r.next() == '{' { // saves a pass over what is nearly all of the file
			f.parts[key] = span{}
			f.settings, err = r.members(2)
			return err
		}
		f.parts[key], err = r.raw(1)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.next(); r.pos < len(data) {
		return nil, r.unexpected("the end")
	}
	return f, f.readModel()
}

// readModel reads the model's settings, and refuses what is no BPE model or has settings that are not implemented.
func (f *file) readModel() error {
	small := map[string]json.RawMessage{}
	for name, s := range f.settings {
		if name != "vocab" && name != "merges" {
			small[name] = f.data[s.start:s.end]
		}
	}
	text, err := json.Marshal(small)
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	m := &f.model
	if err := modeljson.Unmarshal(text, m); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	_, vocab := f.settings["vocab"]
	_, merges := f.settings["merges"]
	switch {
	case f.settings == nil:
		return fmt.Errorf("no model")
	case m.Type != "BPE" && (m.Type != "" || !merges): // files of 2020 do not name the type
		return fmt.Errorf("%w: model %q; BPE is implemented", ErrUnsupported, m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return fmt.Errorf("%w: model with dropout %g; 0 is implemented", ErrUnsupported, *m.Dropout)
	case m.Prefix != "" || m.Suffix != "":
		return fmt.Errorf("%w: model with continuing_subword_prefix %q and end_of_word_suffix %q; none is implemented", ErrUnsupported, m.Prefix, m.Suffix)
	case !vocab || !merges:
		return fmt.Errorf("model: no vocab or no merges")
	}
	return nil
}

// at returns a reader that is about to read a member of the model.
func (f *file) at(name string) *reader {
	return &reader{data: f.data, pos: int(f.settings[name].start)}
}

// decodePart decodes a part of the file; an absent one is left as it is.
func (f *file) decodePart(name string, to any) error {
	s, ok := f.parts[name]
	if !ok {
		return nil
	}
	text := f.data[s.start:s.end]
	limit := maxCommas
	if name == "added_tokens" {
		limit = maxAddedCommas
	}
	if n := bytes.Count(text, []byte{','}); n > limit {
		return fmt.Errorf("%s: %d commas; at most %d would be right", name, n, limit)
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// build makes the tokenizer of a file, whose pipeline pl is.
func (pl *pipeline) build(f *file) (*Tokenizer, error) {
	var tokens []added.Token
	if err := f.decodePart("added_tokens", &tokens); err != nil {
		return nil, err
	}
	b := newBuilder(pl.codec)
	if err := pl.readVocab(b, f.at("vocab")); err != nil {
		return nil, fmt.Errorf("model.vocab: %w", err)
	}
	tokens, err := b.mergeAdded(tokens)
	if err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	v, err := b.index()
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{
		vocab:        v,
		bos:          -1,
		forms:        pl.forms,
		split:        pl.split,
		ignoreMerges: f.model.IgnoreMerges,
		space:        pl.space,
		byteFallback: f.model.ByteFallback,
		unknown:      -1,
		fuseUnknown:  f.model.FuseUnknown,
		decoder:      pl.decoder,
	}
	if t.pairs, err = f.readMerges(v); err != nil {
		return nil, fmt.Errorf("model.merges: %w", err)
	}
	if f.model.Unknown != nil {
		var ok bool
		if t.unknown, ok = v.id([]byte(*f.model.Unknown)); !ok {
			return nil, fmt.Errorf("model.unk_token: %.40q is no token", *f.model.Unknown)
		}
	}
	if t.prefix, t.ending, err = pl.templateTokens(v); err != nil {
		return nil, fmt.Errorf("post_processor: %w", err)
	}
	if len(t.prefix) > 0 {
		t.bos = t.prefix[0]
	}
	if pl.codec == byteLevel && !pl.unnamed && pl.space == neverPrefix {
		t.rule, _ = RuleFor(t.ignoreMerges, pl.steps...)
	}
	return t, t.finish(tokens)
}

// readVocab reads model.vocab, {"text": id, …}, into a builder.
func (pl *pipeline) readVocab(b *builder, r *reader) error {
	var f flag
	if pl.byteTokens {
		f = byteOnly
	}
	return r.object(func(name []byte) error {
		id, err := r.id()
		if err != nil {
			return err
		}
		if _, ok := byteToken(name); !ok {
			return b.add(id, name, 0)
		}
		return b.add(id, name, f)
	})
}

// mergeAdded adds the added tokens that the vocabulary lacks, marks the special ones, and returns those that have a text.
func (b *builder) mergeAdded(tokens []added.Token) ([]added.Token, error) {
	wanted := map[int32]bool{}
	for _, a := range tokens {
		wanted[a.ID] = true
	}
	known := map[int32]int{} // indices of b.list, not pointers into it, since adding tokens moves the slice
	for i, t := range b.list {
		if wanted[t.id] {
			known[t.id] = i
		}
	}
	var kept []added.Token
	seen := map[int32]bool{}
	for _, a := range tokens {
		if a.Content == "" {
			continue
		}
		if seen[a.ID] {
			return nil, fmt.Errorf("id %d comes twice", a.ID)
		}
		seen[a.ID] = true
		kept = append(kept, a)
		var f flag
		if a.Special {
			f = special
		}
		switch i, ok := known[a.ID]; {
		case !ok:
			if err := b.add(a.ID, []byte(a.Content), f|literal); err != nil {
				return nil, err
			}
		case b.textOf(b.list[i]) != a.Content:
			return nil, fmt.Errorf("%.40q has id %d, which is %.40q in the vocabulary", a.Content, a.ID, b.textOf(b.list[i]))
		default:
			b.list[i].flag |= f
		}
	}
	return kept, nil
}

// readMerges reads model.merges, ["left right", …] or [["left", "right"], …].
func (f *file) readMerges(v *vocabulary) (*pairs, error) {
	const shortest = len(`"a b",`)
	part := f.settings["merges"]
	list := make([]merge, 0, min(3*v.tokens, int(part.end-part.start)/shortest+1)) // Llama 3 has 2.2 for each token
	r := f.at("merges")
	err := r.array(func() error {
		left, right, err := r.mergePair(v)
		if err != nil {
			return err
		}
		if len(list) == len(v.blob) { // a token of n bytes is made by at most n-1 merges
			return r.errorf("more merges than there are ways to make the tokens")
		}
		m, err := v.merge(left, right, len(list))
		if err != nil {
			return r.errorf("merge %d: %w", len(list), err)
		}
		list = append(list, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return mergeTable(v, list), nil
}

// mergePair reads "left right" or ["left", "right"].
func (r *reader) mergePair(v *vocabulary) (left, right int32, err error) {
	if r.next() == '"' {
		text, err := r.str()
		if err != nil {
			return 0, 0, err
		}
		if left, right, err = v.cutMerge(text); err != nil {
			err = r.errorf("merge %w", err)
		}
		return left, right, err
	}
	if err = r.expect('['); err != nil {
		return 0, 0, err
	}
	if left, err = r.token(v); err != nil {
		return 0, 0, err
	}
	if err = r.expect(','); err != nil {
		return 0, 0, err
	}
	if right, err = r.token(v); err != nil {
		return 0, 0, err
	}
	return left, right, r.expect(']')
}

// token reads the text of a token and returns its id.
func (r *reader) token(v *vocabulary) (int32, error) {
	text, err := r.str()
	if err != nil {
		return 0, err
	}
	id, err := v.known(text)
	if err != nil {
		err = r.errorf("merge: %w", err)
	}
	return id, err
}
