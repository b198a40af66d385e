package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/llama"
)

// The token types of GGUF.
const (
	normalToken  = 1
	controlToken = 3
	userToken    = 4
	unusedToken  = 5
)

// llama3Pattern cuts text into pieces before it merges, by which GGUF's "llama-bpe" is known.
const llama3Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// vocabularyJSON is what package llama does not tell of a tokenizer.json.
type vocabularyJSON struct {
	Added []struct {
		ID      llama.Token
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

// tokenizerConfig is what counts of tokenizer_config.json.
type tokenizerConfig struct {
	EOS      content      `json:"eos_token"`
	Padding  content      `json:"pad_token"`
	Template templateText `json:"chat_template"`
}

// content is a token's text, plain or with its properties.
type content string

// UnmarshalJSON reads "text", {"content": "text", …} or null.
func (c *content) UnmarshalJSON(b []byte) error {
	var object struct{ Content string }
	if json.Unmarshal(b, (*string)(c)) == nil {
		return nil
	}
	if err := json.Unmarshal(b, &object); err != nil {
		return fmt.Errorf("a token cannot be %.40s", b)
	}
	*c = content(object.Content)
	return nil
}

// templateText is a chat template, the one named default where there are several.
type templateText string

// UnmarshalJSON reads "source", [{"name": "default", "template": "source"}, …] or null.
func (t *templateText) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*string)(t)) == nil {
		return nil
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(b, &list); err != nil {
		return fmt.Errorf("a chat template cannot be %.40s", b)
	}
	for _, entry := range list {
		if entry.Name == "default" {
			*t = templateText(entry.Template)
		}
	}
	return nil
}

// addVocabulary adds the tokenizer and the chat template to the metadata. A folder without a tokenizer becomes a file
// without one, which llama.cpp calls a tokenizer of model "none".
func (s *source) addVocabulary(dir string, c *llama.Config) error {
	data, err := readOptional(dir, "tokenizer.json")
	if err != nil {
		return err
	}
	if data == nil {
		s.set("tokenizer.ggml.model", text("none"))
		s.addEnds(c.BOS, c.EOS)
		return nil
	}
	k, err := llama.LoadTokenizer(dir)
	if err != nil {
		return err
	}
	if k.VocabSize() > c.VocabSize {
		return fmt.Errorf("tokenizer.json has %d tokens, the embedding table only %d", k.VocabSize(), c.VocabSize)
	}
	var v vocabularyJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("tokenizer.json: %w", err)
	}
	if !v.PreTokenizer.splits(llama3Pattern) || !v.Model.IgnoreMerges {
		return errors.New("tokenizer.json is of another kind than Llama 3's, which splits text by its own pattern and ignores the merges of whole tokens; only that kind can be written")
	}
	s.set("tokenizer.ggml.model", text("gpt2"))
	s.set("tokenizer.ggml.pre", text("llama-bpe"))
	tokens, types := v.tokens(k, c.VocabSize)
	s.set("tokenizer.ggml.tokens", gguf.ArrayOf(tokens))
	s.set("tokenizer.ggml.token_type", gguf.ArrayOf(types))
	s.set("tokenizer.ggml.merges", gguf.ArrayOf(v.merges()))
	return s.addChat(dir, c, k)
}

// tokens returns the texts and types of all entries of the embedding table.
func (v *vocabularyJSON) tokens(k *llama.Tokenizer, n int) (texts []string, types []int32) {
	texts, types = make([]string, n), make([]int32, n)
	for i := range texts {
		id := llama.Token(i)
		texts[i], types[i] = k.Text(id), normalToken
		switch {
		case texts[i] == "": // llama.cpp wants each entry to have a text of its own
			texts[i], types[i] = fmt.Sprintf("[PAD%d]", i), unusedToken
		case k.Special(id):
			types[i] = controlToken
		}
	}
	for _, a := range v.Added {
		if !a.Special && a.ID >= 0 && int(a.ID) < n && types[a.ID] == normalToken {
			types[a.ID] = userToken
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
func (s *source) addChat(dir string, c *llama.Config, k *llama.Tokenizer) error {
	var t tokenizerConfig
	data, err := readOptional(dir, "tokenizer_config.json")
	if err == nil && data != nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, "tokenizer_config.json"), err)
	}
	ends := c.EOS
	if id, ok := k.ID(string(t.EOS)); ok {
		ends = append([]llama.Token{id}, ends...)
	}
	begin := c.BOS
	prefix := k.EncodeSpecial("", true) // what the tokenizer itself puts before a text
	if len(prefix) > 0 {
		begin = prefix[0]
	}
	s.addEnds(begin, ends)
	s.set("tokenizer.ggml.add_bos_token", gguf.ValueOf(len(prefix) > 0))
	for _, special := range []struct{ key, text string }{
		{"eot", "<|eot_id|>"}, {"eom", "<|eom_id|>"}, {"padding", string(t.Padding)},
	} {
		if id, ok := k.ID(special.text); ok {
			s.set("tokenizer.ggml."+special.key+"_token_id", number(id))
		}
	}
	if data, err = readOptional(dir, "chat_template.jinja"); err != nil {
		return err
	}
	if data != nil {
		t.Template = templateText(data)
	}
	if t.Template != "" {
		s.set("tokenizer.chat_template", text(string(t.Template)))
	}
	return nil
}

// addEnds adds the token that begins a text, and the first of those that end one.
func (s *source) addEnds(begin llama.Token, ends []llama.Token) {
	if begin >= 0 {
		s.set("tokenizer.ggml.bos_token_id", number(begin))
	}
	if len(ends) > 0 {
		s.set("tokenizer.ggml.eos_token_id", number(ends[0]))
	}
}
