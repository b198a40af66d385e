package checkpoint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/postprocess"
	"github.com/antigravity-go/antigravity/internal/tokenizerjson"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Files next to tokenizer.json repeat what it says. Where transformers follows them and not tokenizer.json, they must say the same: a
// tokenizer_config.json with "do_lower_case": false next to a BertNormalizer that lowers texts is refused. Keys that change no tokens are not
// looked at: model_input_names, padding_side and many more. Among them is clean_up_tokenization_spaces: an answer's text is that of its
// tokens, and a stream cannot take a space back.

// The names of files next to tokenizer.json.
const (
	SpecialTokensFile = "special_tokens_map.json"
	AddedTokensFile   = "added_tokens.json"
)

// repeated are the settings of tokenizer_config.json that tokenizer.json has, too, or that must be as they usually are.
type repeated struct {
	class                        string
	addBOS, addEOS               *bool
	lower, stripAccents, chinese *bool
	prefixSpace                  *bool
	added                        map[string]addedToken // of added_tokens_decoder, by text
	listed                       map[string]int32      // added_tokens.json
}

// addedToken is a token of added_tokens_decoder.
type addedToken struct {
	id      int32
	special *bool
}

// bertClasses are the tokenizers of transformers that set a BertNormalizer up as tokenizer_config.json says, without "Fast" at the end.
var bertClasses = []string{"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer", "MPNetTokenizer", "FunnelTokenizer",
	"ConvBertTokenizer", "SqueezeBertTokenizer", "LxmertTokenizer", "LayoutLMTokenizer", "DPRQuestionEncoderTokenizer", "DPRContextEncoderTokenizer", "DPRReaderTokenizer"}

// readRepeated reads the content of tokenizer_config.json, or nil, and added_tokens.json.
func (f Folder) readRepeated(config []byte) (*repeated, error) {
	r := &repeated{added: map[string]addedToken{}}
	if config != nil {
		if err := r.readConfig(config); err != nil {
			return nil, &FileError{TokenizerConfigFile, err}
		}
	}
	data, err := f.Optional(AddedTokensFile)
	if err != nil || data == nil {
		return r, err
	}
	if err := modeljson.Unmarshal(data, &r.listed); err != nil {
		return nil, &FileError{AddedTokensFile, err}
	}
	return r, nil
}

func (r *repeated) readConfig(data []byte) error {
	s, err := parseSettings(data)
	if err != nil {
		return err
	}
	var splits bool
	var added map[string]struct {
		Content string `json:"content"`
		Special *bool  `json:"special"`
	}
	for key, into := range map[string]any{
		"add_bos_token": &r.addBOS, "add_eos_token": &r.addEOS, "do_lower_case": &r.lower, "strip_accents": &r.stripAccents, "tokenize_chinese_chars": &r.chinese,
		"add_prefix_space": &r.prefixSpace, "split_special_tokens": &splits, "added_tokens_decoder": &added, "tokenizer_class": &r.class,
	} {
		if _, other := s.take(key, into); other != nil {
			err = errors.Join(err, other)
		}
	}
	if err != nil {
		return err
	}
	if splits {
		return unsupported.Errorf("split_special_tokens is true; texts in which special tokens are found are implemented")
	}
	for number, token := range added {
		id, err := strconv.ParseInt(number, 10, 32)
		if err != nil {
			return fmt.Errorf("added_tokens_decoder: %.40q is no token", number)
		}
		if token.Content != "" { // which no text has
			r.added[token.Content] = addedToken{int32(id), token.Special}
		}
	}
	return nil
}

// Tokens is a tokenizer that was made of a tokenizer.json.
type Tokens interface {
	ID(text string) (int32, bool)
	IsSpecial(id int32) bool
	Template() *postprocess.Template
	Said() tokenizerjson.Said
}

// rebuilding are the tokenizers for which transformers 5 makes the template of add_bos_token and add_eos_token in some releases, without "Fast" at
// the end. For all others these settings count for nothing if there is a tokenizer.json.
var rebuilding = []string{"GPTNeoXTokenizer"}

// Check refuses what the files next to a tokenizer.json say otherwise than its tokenizer t does, and returns what they say in vain.
func (c *Chat) Check(t Tokens) (ignored []Ignored, err error) {
	r := c.repeated
	if r == nil {
		return nil, nil
	}
	said := t.Said()
	class := strings.TrimSuffix(r.class, "Fast")
	bert := slices.Contains(bertClasses, class)
	for _, s := range []struct {
		key          string
		there, here  *bool
		counts, vain bool // that they agree, and nothing if they do not
	}{
		{"do_lower_case", r.lower, said.Lower, bert, false}, {"strip_accents", r.stripAccents, said.StripAccents, bert, false},
		{"tokenize_chinese_chars", r.chinese, said.Chinese, bert, false}, {"add_prefix_space", r.prefixSpace, said.PrefixSpace, true, false},
		{"add_bos_token", r.addBOS, adds(t, c.BOS, t.Template().Before()), true, !slices.Contains(rebuilding, class)},
		{"add_eos_token", r.addEOS, adds(t, c.EOS, t.Template().After()), true, !slices.Contains(rebuilding, class)},
	} {
		switch {
		case !s.counts || s.there == nil || s.here == nil || *s.there == *s.here:
		case s.vain:
			ignored = append(ignored, Ignored{s.key + " of " + TokenizerConfigFile, fmt.Sprintf("it is %t, and %s says %t, which counts", *s.there, TokenizerFile, *s.here)})
		default:
			return nil, &FileError{TokenizerConfigFile, unsupported.Errorf("%s is %t, and %s says %t: they must agree", s.key, *s.there, TokenizerFile, *s.here)}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(r.added)) {
		if err := has(t, text, r.added[text].id); err != nil {
			return nil, &FileError{TokenizerConfigFile, fmt.Errorf("added_tokens_decoder: %w", err)}
		}
		if special := r.added[text].special; special != nil && *special != t.IsSpecial(r.added[text].id) {
			return nil, &FileError{TokenizerConfigFile, unsupported.Errorf("added_tokens_decoder: %.40q has special %t, and %t in %s: they must agree",
				text, *special, !*special, TokenizerFile)}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(r.listed)) {
		if err := has(t, text, r.listed[text]); err != nil {
			return nil, &FileError{AddedTokensFile, err}
		}
	}
	return ignored, nil
}

// has returns an error unless a tokenizer has a token with this text and id.
func has(t Tokens, text string, id int32) error {
	switch known, ok := t.ID(text); {
	case !ok:
		return unsupported.Errorf("%.40q has id %d, and %s has no such token", text, id, TokenizerFile)
	case known != id:
		return unsupported.Errorf("%.40q has id %d, and %d in %s: they must agree", text, id, known, TokenizerFile)
	}
	return nil
}

// adds reports whether a token is among those around a text; nil: there is no such token to add.
func adds(t Tokens, text string, around []int32) *bool {
	id, ok := t.ID(text)
	if text == "" || !ok {
		return nil
	}
	is := slices.Contains(around, id)
	return &is
}

// Chat is a folder's data about conversations, besides the vocabulary.
type Chat struct {
	BOS, EOS, Padding string     // the texts of tokens, "" for no such token
	Templates         []Template // ordered by name

	repeated *repeated // what Check compares with tokenizer.json
}
