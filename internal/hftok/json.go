package hftok

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/added"
	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// ParseJSON reads a tokenizer.json whose model is WordPiece, WordLevel or Unigram. The error wraps ErrUnsupported for
// another model, and for a normalizer, pre-tokenizer, post-processor or decoder that this package does not implement.
func ParseJSON(data []byte) (*Tokenizer, error) {
	t, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("hftok: reading a tokenizer.json: %w", err)
	}
	return t, nil
}

// file is a tokenizer.json of which the vocabulary and the pipeline's components have not been decoded.
type file struct {
	Added         json.RawMessage `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         struct {
		Type         string          `json:"type"`
		Vocab        json.RawMessage `json:"vocab"`
		Unknown      string          `json:"unk_token"`
		UnknownID    *int32          `json:"unk_id"`
		Continuing   *string         `json:"continuing_subword_prefix"`
		MaxChars     *int            `json:"max_input_chars_per_word"`
		ByteFallback bool            `json:"byte_fallback"`
	} `json:"model"`
}

func parse(data []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"WordPiece", "WordLevel", "Unigram"}, f.Model.Type) {
		return nil, fmt.Errorf("%w: model %q; WordPiece, WordLevel and Unigram are implemented", ErrUnsupported, f.Model.Type)
	}
	t := &Tokenizer{}
	if err := t.pipeline(&f); err != nil {
		return nil, err
	}
	tokens, err := readAdded(f.Added)
	if err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	if err := t.readModel(&f, tokens); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if err := t.matchAdded(tokens); err != nil {
		return nil, err
	}
	processors, err := readComponents("post_processor", f.PostProcessor)
	if err != nil {
		return nil, err
	}
	return t, t.readTemplate(processors)
}

// A few bytes of a file may become many times as many bytes in memory. With these bounds, and those of the vocabulary, a
// file takes memory within a small multiple of its length.
const (
	maxCommas      = 4096    // of a part that describes the pipeline, in which an empty component takes hundreds of bytes
	maxAddedCommas = 1 << 18 // of added_tokens
)

// readAdded reads the added tokens.
func readAdded(data []byte) ([]added.Token, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if n := bytes.Count(data, []byte{','}); n > maxAddedCommas {
		return nil, fmt.Errorf("%d commas; at most %d would be right", n, maxAddedCommas)
	}
	var tokens []added.Token
	err := json.Unmarshal(data, &tokens)
	return tokens, err
}

// readComponents reads a part of the pipeline: a component, or the components of a sequence.
func readComponents(name string, data []byte) ([]component, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if n := bytes.Count(data, []byte{','}); n > maxCommas {
		return nil, fmt.Errorf("%s: %d commas; at most %d would be right", name, n, maxCommas)
	}
	var c *component
	if err := modeljson.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return flatten(c), nil
}

// readModel reads the vocabulary, with the added tokens, and the model.
func (t *Tokenizer) readModel(f *file, tokens []added.Token) (err error) {
	var entries []entry
	var scores []float64
	if f.Model.Vocab == nil {
		return fmt.Errorf("no vocab")
	}
	if f.Model.Type == "Unigram" {
		entries, scores, err = readScores(f.Model.Vocab)
	} else {
		entries, err = readIDs(f.Model.Vocab)
	}
	if err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	if entries, err = mergeAdded(entries, tokens); err != nil {
		return fmt.Errorf("added_tokens: %w", err)
	}
	if t.vocabulary, err = newVocabulary(entries); err != nil {
		return err
	}
	if id, ok := t.ID(f.Model.Unknown); ok && f.Model.Unknown != "" {
		t.unknown = id
	}
	switch f.Model.Type {
	case "WordPiece":
		continuing, maxChars := "##", 100
		if f.Model.Continuing != nil {
			continuing = *f.Model.Continuing
		}
		if f.Model.MaxChars != nil {
			maxChars = *f.Model.MaxChars
		}
		t.model, err = newWordPiece(&t.vocabulary, continuing, maxChars)
	case "WordLevel":
		t.model = wordLevel{}
	case "Unigram":
		if id := f.Model.UnknownID; id != nil {
			if t.entry(*id) == nil {
				return fmt.Errorf("unk_id: no token has id %d", *id)
			}
			t.unknown = *id
		}
		t.model, err = newUnigram(&t.vocabulary, scores, f.Model.ByteFallback)
	}
	return err
}

// readIDs reads {"text": id, …}.
func readIDs(data []byte) ([]entry, error) {
	var entries []entry
	d := json.NewDecoder(bytes.NewReader(data))
	if err := expect(d, '{'); err != nil {
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		e := entry{text: key.(string), id: -1} // a decoder makes sure that a key is a string
		if err := d.Decode(&e.id); err != nil {
			return nil, fmt.Errorf("%.40q: %w", e.text, err)
		}
		if len(entries) == maxEntries {
			return nil, fmt.Errorf("more than %d tokens", maxEntries)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// readScores reads [["text", score], …], in the order of the ids.
func readScores(data []byte) ([]entry, []float64, error) {
	var entries []entry
	var scores []float64
	d := json.NewDecoder(bytes.NewReader(data))
	if err := expect(d, '['); err != nil {
		return nil, nil, err
	}
	for d.More() {
		var text string
		var score float64
		pair := []any{&text, &score}
		if err := d.Decode(&pair); err != nil {
			return nil, nil, fmt.Errorf("token %d: %w", len(entries), err)
		}
		if len(pair) != 2 {
			return nil, nil, fmt.Errorf("token %d is a list of %d; a text and a score would be right", len(entries), len(pair))
		}
		if len(entries) == maxEntries {
			return nil, nil, fmt.Errorf("more than %d tokens", maxEntries)
		}
		entries = append(entries, entry{text: text, id: int32(len(entries))})
		scores = append(scores, score)
	}
	return entries, scores, nil
}

// expect reads an opening bracket.
func expect(d *json.Decoder, open json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != open {
		return fmt.Errorf("found %.40q where %q should come", fmt.Sprint(token), open)
	}
	return nil
}

// mergeAdded adds the added tokens that the vocabulary lacks, and marks the special ones.
func mergeAdded(entries []entry, tokens []added.Token) ([]entry, error) {
	wanted, ids := map[string]bool{}, map[int32]bool{}
	for _, a := range tokens {
		if ids[a.ID] {
			return nil, fmt.Errorf("id %d comes twice", a.ID)
		}
		ids[a.ID] = true
		wanted[a.Content] = true
	}
	known := map[string]int{} // indices of entries
	for i, e := range entries {
		if wanted[e.text] {
			known[e.text] = i
		}
	}
	for _, a := range tokens {
		if a.Content == "" {
			continue
		}
		i, ok := known[a.Content]
		if !ok {
			entries = append(entries, entry{text: a.Content, id: a.ID, special: a.Special, added: true})
			continue
		}
		if entries[i].id != a.ID {
			return nil, fmt.Errorf("%.40q has id %d, and %d in the vocabulary", a.Content, a.ID, entries[i].id)
		}
		entries[i].special = a.Special
	}
	return entries, nil
}

// matchAdded makes the matchers of added tokens, and the list of their texts.
func (t *Tokenizer) matchAdded(tokens []added.Token) error {
	slices.SortFunc(tokens, func(a, b added.Token) int { return cmp.Compare(a.ID, b.ID) })
	var raw, normalized []added.Token
	for _, a := range tokens {
		if a.Content == "" {
			continue
		}
		t.addedTexts = append(t.addedTexts, a.Content)
		if a.Normalized {
			a.Content = t.normal(a.Content)
			normalized = append(normalized, a)
		} else {
			raw = append(raw, a)
		}
	}
	var err error
	if t.raw, err = added.NewMatcher(raw); err == nil {
		t.normalized, err = added.NewMatcher(normalized)
	}
	return err
}
