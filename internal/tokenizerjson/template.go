package tokenizerjson

import (
	"encoding/json"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/postprocess"
)

// secondTypes are the types of a second text's tokens by the post-processors that have no template of their own.
var secondTypes = map[string]int32{"BertProcessing": 1, "RobertaProcessing": 0}

// Template returns the tokens that the post-processors put around texts. exists reports whether a token has the id. known is false if one
// template cannot say it; then c is the component that is to blame.
func Template(parts []Component, exists func(id int32) bool) (t postprocess.Template, c Component, known bool, err error) {
	found, trimmed, prefixed := false, false, false
	for _, c = range parts {
		_, pair := secondTypes[c.Type]
		if (c.Type == "ByteLevel" || c.Type == "RobertaProcessing") && OrDefault(c.TrimOffsets, true) {
			trimmed, prefixed = true, OrDefault(c.AddPrefixSpace, true)
		}
		switch {
		case c.Type == "ByteLevel": // changes no ids
			continue
		case found:
			return t, c, false, nil
		case pair:
			t, err = c.ends()
		case c.Type == "TemplateProcessing":
			t, err = c.template()
		default:
			return t, c, false, nil
		}
		if err != nil {
			return t, c, true, fmt.Errorf("post_processor: %w", err)
		}
		if !t.Valid() {
			return t, c, false, nil
		}
		found = true
	}
	t.Trimmed, t.Prefixed = trimmed, prefixed
	for _, id := range t.Tokens() {
		if !exists(id) {
			return t, c, true, fmt.Errorf("post_processor: no token has id %d", id)
		}
	}
	return t, c, true, nil
}

// template reads a TemplateProcessing.
func (c *Component) template() (t postprocess.Template, err error) {
	for _, list := range []struct {
		from []TemplatePart
		to   *[]postprocess.Part
	}{{c.Single, &t.Single}, {c.Pair, &t.Pair}} {
		for _, part := range list.from {
			switch special, text := part.SpecialToken, part.Sequence; {
			case special != nil:
				token, ok := c.SpecialTokens[special.ID]
				if !ok {
					return t, fmt.Errorf("the template names %.40q, which special_tokens lacks", special.ID)
				}
				if len(*list.to)+len(token.IDs) > maxCommas {
					return t, fmt.Errorf("the template has more than %d tokens", maxCommas)
				}
				for _, id := range token.IDs {
					*list.to = append(*list.to, postprocess.Part{ID: id, Type: special.Type})
				}
			case text != nil && text.ID == "B":
				*list.to = append(*list.to, postprocess.Part{Source: postprocess.Second, Type: text.Type})
			case text != nil && text.ID == "A":
				*list.to = append(*list.to, postprocess.Part{Source: postprocess.First, Type: text.Type})
			default:
				return t, fmt.Errorf("a part of the template is no special token and no text that is called A or B")
			}
		}
	}
	return t, nil
}

// ends reads the two tokens of a BertProcessing or a RobertaProcessing, ["[CLS]", 101] and ["[SEP]", 102]. RoBERTa's has another "</s>"
// between two texts.
func (c *Component) ends() (t postprocess.Template, err error) {
	var ids [2]int32
	for i, end := range []struct {
		name string
		pair []json.RawMessage
	}{{"cls", c.CLS}, {"sep", c.SEP}} {
		if len(end.pair) != 2 || json.Unmarshal(end.pair[1], &ids[i]) != nil || ids[i] < 0 {
			return t, fmt.Errorf(`the %q of %s is no text and id`, end.name, c.Type)
		}
	}
	between := int32(-1)
	if c.Type == "RobertaProcessing" {
		between = ids[1]
	}
	return postprocess.Around(ids[0], ids[1], between, secondTypes[c.Type]), nil
}
