package main

import (
	"encoding/json"
	"errors"
	"fmt"

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
	PreTokenizer splitJSON `json:"pre_tokenizer"`
	Model        struct {
		IgnoreMerges bool `json:"ignore_merges"`
		Merges       []merge
	}
}

type splitJSON struct {
	Type    string
	Pattern struct{ Regex string }
	Parts   []splitJSON `json:"pretokenizers"`
}

// splits tells whether text is cut by a pattern.
func (s *splitJSON) splits(pattern string) bool {
	for i := range s.Parts {
		if s.Parts[i].splits(pattern) {
			return true
		}
	}
	return s.Type == "Split" && s.Pattern.Regex == pattern
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
	if !v.PreTokenizer.splits(bpe.Llama3Pattern) || !v.Model.IgnoreMerges {
		return errors.New("tokenizer.json is of another kind than Llama 3's, which splits text by its own pattern and ignores the merges of whole tokens; only that kind can be written")
	}
	s.set(checkpoint.TokenizerModelKey, text(bpe.ByteLevelModel))
	s.set(checkpoint.SplitRuleKey, text(bpe.Llama3Rule))
	tokens, types := v.tokens(k, c.VocabSize)
	s.set(checkpoint.TokensKey, gguf.ArrayOf(tokens))
	s.set(checkpoint.TokenTypesKey, gguf.ArrayOf(types))
	s.set(checkpoint.MergesKey, gguf.ArrayOf(v.merges()))
	return s.addChat(folder, c, k)
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
