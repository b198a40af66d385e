package checkpoint

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// Chat reads tokenizer_config.json and the chat templates of all files that may have one. All of them may be missing. The function list returns
// the names of the files in a folder of the folder, and nothing if there is no such folder.
func (f Folder) Chat(list func(folder string) []string) (*Chat, error) {
	data, err := f.Optional(TokenizerConfigFile)
	if err != nil {
		return nil, err
	}
	var j chatJSON
	if data != nil {
		if err := modeljson.Unmarshal(data, &j); err != nil {
			return nil, &FileError{TokenizerConfigFile, err}
		}
	}
	r, err := f.readRepeated(data)
	if err != nil {
		return nil, err
	}
	if err := f.addSpecials(&j, len(r.added) > 0); err != nil {
		return nil, err
	}
	templates, err := f.templates(data, list)
	if err != nil {
		return nil, err
	}
	return &Chat{string(j.BOS), string(j.EOS), string(j.Padding), templates, r}, nil
}

// chatJSON has the keys of tokenizer_config.json that count.
type chatJSON struct {
	BOS     tokenText `json:"bos_token"`
	EOS     tokenText `json:"eos_token"`
	Padding tokenText `json:"pad_token"`
}

// addSpecials reads special_tokens_map.json. It counts for more than tokenizer_config.json if that lists no added tokens, as older files do
// not; otherwise it adds tokens that are missing.
func (f Folder) addSpecials(j *chatJSON, listed bool) error {
	data, err := f.Optional(SpecialTokensFile)
	if err != nil || data == nil {
		return err
	}
	var other chatJSON
	if err := modeljson.Unmarshal(data, &other); err != nil {
		return &FileError{SpecialTokensFile, err}
	}
	for _, token := range []struct{ to, from *tokenText }{{&j.BOS, &other.BOS}, {&j.EOS, &other.EOS}, {&j.Padding, &other.Padding}} {
		if *token.from != "" && (!listed || *token.to == "") {
			*token.to = *token.from
		}
	}
	return nil
}

// tokenText is a token's text, plain or as an object with its properties.
type tokenText string

// UnmarshalJSON reads "text", {"content": "text", …} or null.
func (t *tokenText) UnmarshalJSON(b []byte) error {
	var object struct {
		Content string `json:"content"`
	}
	if modeljson.Unmarshal(b, (*string)(t)) == nil {
		return nil
	}
	if err := modeljson.Unmarshal(b, &object); err != nil {
		return fmt.Errorf("a token cannot be %.40s", b)
	}
	*t = tokenText(object.Content)
	return nil
}
