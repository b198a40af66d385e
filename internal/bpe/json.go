package bpe

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/added"
	"github.com/antigravity-go/antigravity/internal/bytefallback"
	"github.com/antigravity-go/antigravity/internal/strictjson"
	"github.com/antigravity-go/antigravity/internal/tokenizerjson"
)

// A tokenizer.json is read in three steps: the model's settings, the pipeline around it (readPipeline), and then the vocabulary, the merges
// and the added tokens, which may be many (build). For example, of
//
//	{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}
//
// the merges become a table: the tokens 0 and 1, side by side, become the token 2.

// ParseJSON reads a tokenizer.json of Hugging Face's tokenizers library. The error wraps ErrUnsupported if the file asks for a model,
// normalizer, pre-tokenizer, post-processor or decoder that this package does not implement.
func ParseJSON(data []byte) (*Tokenizer, error) {
	t, err := parseJSON(data)
	if err != nil {
		return nil, fmt.Errorf("bpe: reading a tokenizer.json: %w", err)
	}
	return t, nil
}

func parseJSON(data []byte) (*Tokenizer, error) {
	f, err := tokenizerjson.Read(data)
	if err != nil {
		return nil, err
	}
	m, err := readModel(f)
	if err != nil {
		return nil, err
	}
	pl, err := readPipeline(f, m)
	if err != nil {
		return nil, err
	}
	return pl.build(f, m)
}

// model has the settings of a BPE model.
type model struct {
	Dropout      *float64 `json:"dropout"`
	Unknown      *string  `json:"unk_token"`
	Prefix       string   `json:"continuing_subword_prefix"`
	Suffix       string   `json:"end_of_word_suffix"`
	FuseUnknown  bool     `json:"fuse_unk"`
	ByteFallback bool     `json:"byte_fallback"`
	IgnoreMerges bool     `json:"ignore_merges"`
}

// readModel reads the model's settings. It refuses models other than BPE, and settings that are not implemented.
func readModel(f *tokenizerjson.File) (*model, error) {
	typ, err := f.ModelType()
	if err != nil {
		return nil, err
	}
	vocab, merges := f.Setting("vocab") != nil, f.Setting("merges") != nil
	switch {
	case !f.HasModel():
		return nil, fmt.Errorf("no model")
	case typ != "BPE" && (typ != "" || !merges):
		return nil, fmt.Errorf("%w: model %q; BPE is implemented", ErrUnsupported, typ)
	}
	m := &model{}
	if err := f.Settings(m); err != nil {
		return nil, err
	}
	switch {
	case m.Dropout != nil && *m.Dropout != 0:
		return nil, fmt.Errorf("%w: model with dropout %g; 0 is implemented", ErrUnsupported, *m.Dropout)
	case m.Prefix != "" || m.Suffix != "":
		return nil, fmt.Errorf("%w: model with continuing_subword_prefix %q and end_of_word_suffix %q; none is implemented", ErrUnsupported, m.Prefix, m.Suffix)
	case !vocab || !merges:
		return nil, fmt.Errorf("model: no vocab or no merges")
	}
	return m, nil
}

// build makes the tokenizer of a file; pl is the file's pipeline and m its model.
func (pl *pipeline) build(f *tokenizerjson.File, m *model) (*Tokenizer, error) {
	tokens, err := f.AddedTokens()
	if err != nil {
		return nil, err
	}
	b := newBuilder(pl.codec)
	if err := pl.readVocab(b, f.Reader("vocab")); err != nil {
		return nil, fmt.Errorf("model.vocab: %w", err)
	}
	tokens, err = b.mergeAdded(tokens)
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
		ignoreMerges: m.IgnoreMerges,
		space:        pl.space,
		byteFallback: m.ByteFallback,
		unknown:      -1,
		fuseUnknown:  m.FuseUnknown,
		decoder:      pl.decoder,
	}
	t.said = f.Said()
	if t.pairs, err = readMerges(f, v); err != nil {
		return nil, fmt.Errorf("model.merges: %w", err)
	}
	if m.Unknown != nil {
		var ok bool
		if t.unknown, ok = v.id([]byte(*m.Unknown)); !ok {
			return nil, fmt.Errorf("model.unk_token: %.40q is no token", *m.Unknown)
		}
	}
	if err := t.readTemplate(f); err != nil {
		return nil, err
	}
	if pl.codec == byteLevel && !pl.unnamed && pl.space == neverPrefix {
		t.rule, _ = RuleFor(t.ignoreMerges, pl.steps...)
	}
	return t, t.finish(tokens)
}

// readVocab reads model.vocab, {"text": id, …}, into a builder.
func (pl *pipeline) readVocab(b *builder, r *strictjson.Reader) error {
	var f flag
	if pl.byteTokens {
		f = byteOnly
	}
	return r.Object(func(name []byte) error {
		id, err := readID(r)
		if err != nil {
			return err
		}
		if _, ok := bytefallback.Byte(name); !ok {
			return b.add(id, name, 0)
		}
		return b.add(id, name, f)
	})
}

// readID reads a token id: an integer without sign, fraction or exponent, below maxID.
func readID(r *strictjson.Reader) (int32, error) {
	r.Next()
	start := r.Offset()
	digits, err := r.Digits()
	if err != nil {
		return 0, err
	}
	id := 0
	for _, c := range digits {
		if id = id*10 + int(c-'0'); id >= maxID {
			break
		}
	}
	if id >= maxID || len(digits) > 1 && digits[0] == '0' {
		return 0, fmt.Errorf("byte %d: %.20s is no id; ids go from 0 to %d", start, digits, maxID-1)
	}
	return int32(id), nil
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
func readMerges(f *tokenizerjson.File, v *vocabulary) (*pairs, error) {
	const shortest = len(`"a b",`)
	list := make([]merge, 0, min(3*v.tokens, len(f.Setting("merges"))/shortest+1)) // Llama 3 has 2.2 for each token
	r := f.Reader("merges")
	err := r.Array(func() error {
		left, right, err := mergePair(r, v)
		if err != nil {
			return err
		}
		if len(list) == len(v.blob) { // a token of n bytes is made by at most n-1 merges
			return r.Errorf("more merges than there are ways to make the tokens")
		}
		m, err := v.merge(left, right, len(list))
		if err != nil {
			return r.Errorf("merge %d: %w", len(list), err)
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
func mergePair(r *strictjson.Reader, v *vocabulary) (left, right int32, err error) {
	if r.Next() == '"' {
		text, err := r.Text()
		if err != nil {
			return 0, 0, err
		}
		if left, right, err = v.cutMerge(text); err != nil {
			err = r.Errorf("merge %w", err)
		}
		return left, right, err
	}
	if err = r.Expect('['); err != nil {
		return 0, 0, err
	}
	if left, err = knownToken(r, v); err != nil {
		return 0, 0, err
	}
	if err = r.Expect(','); err != nil {
		return 0, 0, err
	}
	if right, err = knownToken(r, v); err != nil {
		return 0, 0, err
	}
	return left, right, r.Expect(']')
}

// knownToken reads the text of a token and returns its id.
func knownToken(r *strictjson.Reader, v *vocabulary) (int32, error) {
	text, err := r.Text()
	if err != nil {
		return 0, err
	}
	id, err := v.known(text)
	if err != nil {
		err = r.Errorf("merge: %w", err)
	}
	return id, err
}
