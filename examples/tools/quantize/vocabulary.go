package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/bytefallback"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/hftok"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/postprocess"
	"github.com/antigravity-go/antigravity/internal/tokenizerjson"
)

// A tokenizer.json becomes GGUF's keys: tokens and types, and by the kind of the model merges, scores, or settings of an encoder. For
// example, of a byte-level BPE with the split rule of Llama 3
//
//	tokenizer.ggml.model = "gpt2", tokenizer.ggml.pre = "llama-bpe"
//	tokenizer.ggml.tokens = ["!", "\"", …], tokenizer.ggml.merges = ["Ġ Ġ", …]

// vocabularyJSON is the part of a tokenizer.json that packages bpe and hftok do not return.
type vocabularyJSON struct {
	Added []struct {
		ID      int32
		Special bool
	} `json:"added_tokens"`
	Normalizer *normalizerJSON `json:"normalizer"`
	Model      struct {
		Type         string
		Merges       []merge
		ByteFallback bool            `json:"byte_fallback"`
		Unknown      string          `json:"unk_token"`
		UnknownID    *int32          `json:"unk_id"`
		Vocab        json.RawMessage // of Unigram [["text", score], …]
	}
}

// normalizerJSON is what changes a text first.
type normalizerJSON struct {
	Type         string
	Lower        *bool             `json:"lowercase"`
	StripAccents *bool             `json:"strip_accents"`
	Charsmap     []byte            `json:"precompiled_charsmap"`
	List         []*normalizerJSON `json:"normalizers"`
}

// find returns the first normalizer of a type, or nil.
func (n *normalizerJSON) find(kind string) *normalizerJSON {
	if n == nil || n.Type == kind {
		return n
	}
	for _, inner := range n.List {
		if found := inner.find(kind); found != nil {
			return found
		}
	}
	return nil
}

// tokenizer has the methods that bpe's and hftok's tokenizers share.
type tokenizer interface {
	VocabSize() int
	Text(id int32) string
	ID(text string) (int32, bool)
	IsSpecial(id int32) bool
	EncodeSpecial(dst []int32, text string, bos bool) []int32
	LeadingSpace() bool
	Template() *postprocess.Template
	Said() tokenizerjson.Said
}

// merge is a pair of tokens that becomes one, as GGUF writes it: "left right".
type merge string

// UnmarshalJSON reads "left right" or ["left", "right"].
func (m *merge) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(m))
	}
	var pair []string
	if err := json.Unmarshal(b, &pair); err != nil || len(pair) != 2 {
		return fmt.Errorf("a merge cannot be %.40s", b)
	}
	*m = merge(pair[0] + " " + pair[1])
	return nil
}

// addVocabulary adds the tokenizer and the chat templates to the metadata. The function list returns the names of the files in a folder of the folder. A folder without a tokenizer becomes a file
// without one.
// pipeline says what becomes of texts.
func (s *source) addVocabulary(folder checkpoint.Folder, list func(folder string) []string, c *model.Config, pipeline *checkpoint.Pipeline) error {
	data, err := folder.Optional(checkpoint.TokenizerFile)
	if err != nil {
		return err
	}
	if data == nil {
		if err := pipeline.CheckScore(nil); err != nil {
			return err
		}
		s.set(checkpoint.TokenizerModelKey, text(checkpoint.NoTokenizer))
		s.addEnds(c.BOS, c.EOS)
		return nil
	}
	k, err := parseTokenizer(data)
	if err != nil {
		return fmt.Errorf("%s: %w", checkpoint.TokenizerFile, err)
	}
	if err := pipeline.CheckScore(k); err != nil {
		return err
	}
	if k.VocabSize() > c.VocabSize {
		return fmt.Errorf("%s has %d tokens, the embedding table only %d", checkpoint.TokenizerFile, k.VocabSize(), c.VocabSize)
	}
	var v vocabularyJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("%s: %w", checkpoint.TokenizerFile, err)
	}
	tokens, types := v.tokens(k, c.VocabSize)
	if c.Types > 0 {
		s.set(checkpoint.TypeCountKey, number(int32(c.Types)))
	}
	s.set(checkpoint.TokensKey, gguf.ArrayOf(tokens))
	s.set(checkpoint.TokenTypesKey, gguf.ArrayOf(types))
	switch k := k.(type) {
	case *hftok.Tokenizer:
		err = s.addEncoder(k, &v, data, tokens, types)
	case *bpe.Tokenizer:
		if rule, ok := k.Rule(); ok {
			s.set(checkpoint.TokenizerModelKey, text(bpe.ByteLevelModel))
			s.set(checkpoint.SplitRuleKey, text(rule))
			s.set(checkpoint.MergesKey, gguf.ArrayOf(v.merges()))
		} else {
			err = s.addPieces(k, &v, tokens, types)
		}
	}
	if err != nil {
		return err
	}
	if err := s.addChat(folder, list, c, k); err != nil {
		return err
	}
	if v.Model.Type == "WordPiece" { // it is SEP that ends a text, whatever else the file says
		s.set(checkpoint.AddSEPKey, gguf.ValueOf(true))
		s.set(checkpoint.AddEOSKey, gguf.ValueOf(false))
	}
	return nil
}

// parseTokenizer reads a tokenizer.json of any kind.
func parseTokenizer(data []byte) (tokenizer, error) {
	k, err := bpe.ParseJSON(data)
	if err == nil {
		return k, nil
	}
	if errors.Is(err, bpe.ErrUnsupported) {
		other, otherErr := hftok.ParseJSON(data)
		if otherErr == nil {
			return other, nil
		}
		if !errors.Is(otherErr, hftok.ErrModel) {
			err = otherErr
		}
	}
	return nil, err
}

// addEncoder adds a vocabulary of WordPiece or Unigram. The keys have no place for some of what a tokenizer.json may say, such as normal forms: it is
// added as a whole, too, and this module reads it then.
func (s *source) addEncoder(k *hftok.Tokenizer, v *vocabularyJSON, data []byte, tokens []string, types []int32) error {
	unknown := int32(-1)
	if id, ok := k.ID(v.Model.Unknown); ok && v.Model.Unknown != "" {
		unknown = id
	}
	switch v.Model.Type {
	case "WordPiece":
		s.set(checkpoint.TokenizerModelKey, text(bpe.WordPieceModel))
		lower, accents := true, true
		if n := v.Normalizer.find("BertNormalizer"); n != nil {
			lower = n.Lower == nil || *n.Lower
			if accents = lower; n.StripAccents != nil {
				accents = *n.StripAccents
			}
		}
		s.set(checkpoint.LowerKey, gguf.ValueOf(lower))
		s.set(checkpoint.StripAccentsKey, gguf.ValueOf(accents))
		for i, t := range tokens {
			if types[i] == bpe.TypeNormal || types[i] == bpe.TypeUserDefined {
				tokens[i] = hftok.VocabText(t)
			}
		}
		s.set(checkpoint.TokensKey, gguf.ArrayOf(tokens))
	case "Unigram":
		s.set(checkpoint.TokenizerModelKey, text(bpe.UnigramModel))
		var pairs [][]any
		if err := json.Unmarshal(v.Model.Vocab, &pairs); err != nil {
			return fmt.Errorf("%s: vocab: %w", checkpoint.TokenizerFile, err)
		}
		scores := make([]float32, len(tokens))
		for i := range min(len(pairs), len(scores)) {
			score, _ := pairs[i][1].(float64) // package hftok has read it
			scores[i] = float32(score)
		}
		if id := v.Model.UnknownID; id != nil {
			unknown = *id
		}
		for i, t := range tokens {
			if _, is := bytefallback.Byte([]byte(t)); is && v.Model.ByteFallback && types[i] == bpe.TypeNormal {
				types[i] = bpe.TypeByte
			}
		}
		if n := v.Normalizer.find("Precompiled"); n != nil {
			s.set(checkpoint.CharsmapKey, gguf.ArrayOf(n.Charsmap))
		}
		s.set(checkpoint.SplitRuleKey, text("default"))
		s.set(checkpoint.ScoresKey, gguf.ArrayOf(scores))
		s.set(checkpoint.AddSpacePrefixKey, gguf.ValueOf(k.LeadingSpace()))
		s.set(checkpoint.MergeSpacesKey, gguf.ValueOf(mergesSpaces(k)))
	default:
		return fmt.Errorf("%w: the model %s", errKind, v.Model.Type)
	}
	if unknown >= 0 {
		types[unknown] = bpe.TypeUnknown
		s.set(checkpoint.UnknownKey, number(unknown))
	}
	s.set(checkpoint.TokenTypesKey, gguf.ArrayOf(types))
	s.set(checkpoint.WholeTokenizerKey, text(string(data)))
	s.addPair(k)
	return nil
}

// mergesSpaces reports whether several spaces count as one.
func mergesSpaces(k *hftok.Tokenizer) bool {
	return slices.Equal(k.Encode(nil, "a  b"), k.Encode(nil, "a b"))
}

// addPair adds what stands between two texts.
func (s *source) addPair(k *hftok.Tokenizer) {
	ids, _ := k.Template().Join([]int32{-1}, []int32{-2})
	first, second := slices.Index(ids, -1), slices.Index(ids, -2)
	if first < 0 || second < first {
		return
	}
	between := ids[first+1 : second]
	if len(between) > 0 {
		s.set(checkpoint.SEPKey, number(between[len(between)-1]))
	}
	s.set(checkpoint.AddSEPKey, gguf.ValueOf(len(between) > len(k.Template().After())))
}

// spaceMark is how SentencePiece's vocabularies write a space.
const spaceMark = "\u2581"

// errKind is of a tokenizer that no GGUF file can have.
var errKind = errors.New("tokenizer.json is of another kind than GGUF has names for: byte-level BPE with one of llama.cpp's split rules, " +
	"or BPE with byte tokens in the manner of SentencePiece, whose merges follow from its tokens")

// addPieces adds a vocabulary in the manner of SentencePiece. GGUF has scores in place of merges: the earlier the merge that makes a token,
// the higher its score. Scores say the same as merges only if the merges are all that the tokens allow. Whether they are, the texts of all
// tokens show.
func (s *source) addPieces(k *bpe.Tokenizer, v *vocabularyJSON, tokens []string, types []int32) error {
	if !v.Model.ByteFallback {
		return errKind
	}
	rank := make(map[string]int, len(v.Model.Merges))
	for i, m := range v.Model.Merges {
		left, right, _ := strings.Cut(string(m), " ")
		if _, ok := rank[left+right]; !ok {
			rank[left+right] = i
		}
	}
	scores := make([]float32, len(tokens))
	unknown := int32(-1)
	for i, t := range tokens {
		scores[i] = -float32(len(rank) + i)
		if r, ok := rank[t]; ok {
			scores[i] = -float32(r)
		}
		var b byte
		if n, err := fmt.Sscanf(t, "<0x%02X>", &b); types[i] == bpe.TypeNormal && err == nil && n == 1 && len(t) == len("<0x00>") {
			types[i] = bpe.TypeByte
		}
		if t == v.Model.Unknown && t != "" {
			types[i], unknown = bpe.TypeUnknown, int32(i)
		}
	}
	written := bpe.Vocab{Model: bpe.SentencePieceModel, Tokens: tokens, Scores: scores, Types: types, BOS: -1, EOS: -1, Unknown: unknown,
		AddSpacePrefix: k.LeadingSpace()}
	back, err := bpe.FromVocab(written)
	if err != nil {
		return fmt.Errorf("%w (%w)", errKind, err)
	}
	for i, t := range tokens {
		t = strings.ReplaceAll(t, spaceMark, " ")
		if types[i] == bpe.TypeNormal && !slices.Equal(back.Encode(nil, t), k.Encode(nil, t)) {
			return fmt.Errorf("%w: %.40q would be cut in another way", errKind, t)
		}
	}
	s.set(checkpoint.TokenizerModelKey, text(bpe.SentencePieceModel))
	s.set(checkpoint.ScoresKey, gguf.ArrayOf(scores))
	s.set(checkpoint.TokenTypesKey, gguf.ArrayOf(types))
	s.set(checkpoint.AddSpacePrefixKey, gguf.ValueOf(written.AddSpacePrefix))
	if unknown >= 0 {
		s.set(checkpoint.UnknownKey, number(unknown))
	}
	return nil
}

// tokens returns the texts and types of all entries of the embedding table.
func (v *vocabularyJSON) tokens(k tokenizer, n int) (texts []string, types []int32) {
	texts, types = make([]string, n), make([]int32, n)
	for i := range texts {
		id := int32(i)
		texts[i], types[i] = k.Text(id), bpe.TypeNormal
		switch {
		case texts[i] == "": // llama.cpp wants each entry to have a text of its own
			texts[i], types[i] = fmt.Sprintf("[PAD%d]", i), bpe.TypeUnused
		case k.IsSpecial(id):
			types[i] = bpe.TypeControl
		}
	}
	for _, a := range v.Added {
		if !a.Special && a.ID >= 0 && int(a.ID) < n && types[a.ID] == bpe.TypeNormal {
			types[a.ID] = bpe.TypeUserDefined
		}
	}
	return texts, types
}

func (v *vocabularyJSON) merges() []string {
	list := make([]string, len(v.Model.Merges))
	for i, m := range v.Model.Merges {
		list[i] = string(m)
	}
	return list
}

// addChat adds the special tokens and the chat templates.
func (s *source) addChat(folder checkpoint.Folder, list func(folder string) []string, c *model.Config, k tokenizer) error {
	chat, err := folder.Chat(list)
	if err != nil {
		return err
	}
	if _, err := chat.Check(k); err != nil {
		return err
	}
	ends := c.EOS
	if id, ok := k.ID(chat.EOS); ok {
		ends = append([]int32{id}, ends...)
	}
	begin := c.BOS
	prefix := k.EncodeSpecial(nil, "", true) // what the tokenizer itself puts before a text
	if len(prefix) > 0 {
		begin = prefix[0]
	}
	ending := k.Template().After() // what it puts after a text that is embedded
	switch {
	case len(ending) > 1:
		return fmt.Errorf("%w: the tokenizer puts %d tokens after a text, GGUF one at most", errKind, len(ending))
	case len(ending) == 1:
		ends = append(slices.Clone(ending), ends...)
		s.set(checkpoint.AddEOSKey, gguf.ValueOf(true))
	}
	s.addEnds(begin, ends)
	s.set(checkpoint.AddBOSKey, gguf.ValueOf(len(prefix) > 0))
	for _, special := range []struct{ key, text string }{
		{checkpoint.EndOfTurnKey, checkpoint.EndOfTurn}, {checkpoint.EndOfMessageKey, checkpoint.EndOfMessage},
		{checkpoint.PaddingKey, chat.Padding},
	} {
		if id, ok := k.ID(special.text); ok {
			s.set(special.key, number(id))
		}
	}
	templates, err := checkpoint.TemplateMetadata(chat.Templates)
	if err != nil {
		return err
	}
	for _, t := range templates {
		s.set(t.Key, t.Value)
	}
	return nil
}

// addEnds adds the token that begins a text, and the first of those that end one.
func (s *source) addEnds(begin int32, ends []int32) {
	if begin >= 0 {
		s.set(checkpoint.BOSKey, number(begin))
	}
	if len(ends) > 0 {
		s.set(checkpoint.EOSKey, number(ends[0]))
	}
}
