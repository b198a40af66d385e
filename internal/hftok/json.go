package hftok

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/added"
	"github.com/antigravity-go/antigravity/internal/tokenizerjson"
)

// The three kinds of model differ in the form of their vocabulary: WordPiece and WordLevel have ids by text, Unigram a list of texts with
// scores.
//
//	{"type": "WordPiece", "vocab": {"[UNK]": 0, "play": 1, "##ing": 2}}
//	{"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁play", -8.1], ["ing", -4.2]]}

// ParseJSON reads a tokenizer.json with a model of the type WordPiece, WordLevel or Unigram. The error wraps ErrUnsupported for another
// model, and for a normalizer, pre-tokenizer, post-processor or decoder that this package does not implement.
func ParseJSON(data []byte) (*Tokenizer, error) {
	t, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("hftok: reading a tokenizer.json: %w", err)
	}
	return t, nil
}

// settings has the settings of a model. Each group of fields belongs to the kinds of model that stand above it.
type settings struct {
	Type string `json:"type"`

	// WordPiece, WordLevel
	Unknown    string  `json:"unk_token"`
	Continuing *string `json:"continuing_subword_prefix"`
	MaxChars   *int    `json:"max_input_chars_per_word"`

	// Unigram
	UnknownID    *int32 `json:"unk_id"`
	ByteFallback bool   `json:"byte_fallback"`
}

func parse(data []byte) (*Tokenizer, error) {
	f, err := tokenizerjson.Read(data)
	if err != nil {
		return nil, err
	}
	typ, err := f.ModelType()
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"WordPiece", "WordLevel", "Unigram"}, typ) {
		return nil, fmt.Errorf("%w %q; WordPiece, WordLevel and Unigram are implemented", ErrModel, typ)
	}
	var m settings
	if err := f.Settings(&m); err != nil {
		return nil, err
	}
	t := &Tokenizer{said: f.Said()}
	if err := t.pipeline(f); err != nil {
		return nil, err
	}
	tokens, err := f.AddedTokens()
	if err != nil {
		return nil, err
	}
	if err := t.readModel(f.Setting("vocab"), &m, tokens); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if err := t.matchAdded(tokens); err != nil {
		return nil, err
	}
	processors, err := f.Components("post_processor")
	if err != nil {
		return nil, err
	}
	return t, t.readTemplate(processors)
}

// readModel reads the vocabulary, with the added tokens, and the model.
func (t *Tokenizer) readModel(vocab []byte, m *settings, tokens []added.Token) (err error) {
	var entries []entry
	var scores []float64
	if vocab == nil {
		return fmt.Errorf("no vocab")
	}
	if m.Type == "Unigram" {
		entries, scores, err = readScores(vocab)
	} else {
		entries, err = readIDs(vocab)
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
	if id, ok := t.ID(m.Unknown); ok && m.Unknown != "" {
		t.unknown = id
	}
	switch m.Type {
	case "WordPiece":
		continuing, maxChars := "##", 100
		if m.Continuing != nil {
			continuing = *m.Continuing
		}
		if m.MaxChars != nil {
			maxChars = *m.MaxChars
		}
		t.model, err = newWordPiece(&t.vocabulary, continuing, maxChars)
	case "WordLevel":
		t.model = wordLevel{}
	case "Unigram":
		if id := m.UnknownID; id != nil {
			if t.entry(*id) == nil {
				return fmt.Errorf("unk_id: no token has id %d", *id)
			}
			t.unknown = *id
		}
		t.model, err = newUnigram(&t.vocabulary, scores, m.ByteFallback)
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
