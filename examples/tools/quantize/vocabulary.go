package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/gguf"
)

// vocabularyJSON is what package bpe does not tell of a tokenizer.json.
type vocabularyJSON struct {
	Added []struct {
		ID      int32
		Special bool
	} `json:"added_tokens"`
	Model struct {
		Merges       []merge
		ByteFallback bool   `json:"byte_fallback"`
		Unknown      string `json:"unk_token"`
	}
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

// addVocabulary adds the tokenizer and the chat template to the metadata. A folder without a tokenizer becomes a file
// without one.
func (s *source) addVocabulary(folder checkpoint.Folder, c *checkpoint.Config) error {
	data, err := folder.Optional(checkpoint.TokenizerFile)
	if err != nil {
		return err
	}
	if data == nil {
		s.set(checkpoint.TokenizerModelKey, text(checkpoint.NoTokenizer))
		s.addEnds(c.BOS, c.EOS)
		return nil
	}
	k, err := bpe.ParseJSON(data)
	if err != nil {
		return fmt.Errorf("%s: %w", checkpoint.TokenizerFile, err)
	}
	if k.VocabSize() > c.VocabSize {
		return fmt.Errorf("%s has %d tokens, the embedding table only %d", checkpoint.TokenizerFile, k.VocabSize(), c.VocabSize)
	}
	var v vocabularyJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("%s: %w", checkpoint.TokenizerFile, err)
	}
	tokens, types := v.tokens(k, c.VocabSize)
	s.set(checkpoint.TokensKey, gguf.ArrayOf(tokens))
	s.set(checkpoint.TokenTypesKey, gguf.ArrayOf(types))
	if rule, ok := k.Rule(); ok {
		s.set(checkpoint.TokenizerModelKey, text(bpe.ByteLevelModel))
		s.set(checkpoint.SplitRuleKey, text(rule))
		s.set(checkpoint.MergesKey, gguf.ArrayOf(v.merges()))
	} else if err := s.addPieces(k, &v, tokens, types); err != nil {
		return err
	}
	return s.addChat(folder, c, k)
}

// spaceMark is how SentencePiece's vocabularies write a space.
const spaceMark = "\u2581"

// errKind is of a tokenizer that no GGUF file can have.
var errKind = errors.New("tokenizer.json is of another kind than GGUF has names for: byte-level BPE with one of llama.cpp's split rules, " +
	"or BPE with byte tokens in the manner of SentencePiece, whose merges follow from its tokens")

// addPieces adds a vocabulary in the manner of SentencePiece. GGUF has scores in place of merges: a token that comes of an earlier merge has
// a higher one. That says the same as the merges only if these are all that the tokens allow, which the texts of all tokens tell.
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
func (v *vocabularyJSON) tokens(k *bpe.Tokenizer, n int) (texts []string, types []int32) {
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

// addChat adds the special tokens and the chat template.
func (s *source) addChat(folder checkpoint.Folder, c *checkpoint.Config, k *bpe.Tokenizer) error {
	chat, err := folder.Chat()
	if err != nil {
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
	if chat.Template != "" {
		s.set(checkpoint.TemplateKey, text(chat.Template))
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
