package tokenizerjson

import (
	"encoding/json"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// Component is a normalizer, pre-tokenizer, post-processor or decoder. Each group of fields belongs to the types that stand above it. A
// pointer is nil if the file does not say.
type Component struct {
	Type string `json:"type"`

	// Sequence
	Normalizers   []Component `json:"normalizers"`
	PreTokenizers []Component `json:"pretokenizers"`
	Processors    []Component `json:"processors"`
	Decoders      []Component `json:"decoders"`

	// BertNormalizer
	CleanText     *bool `json:"clean_text"`
	SpaceChinese  *bool `json:"handle_chinese_chars"`
	StripAccents  *bool `json:"strip_accents"`
	LowercaseText *bool `json:"lowercase"`

	// Split, Replace, Prepend, Strip, Precompiled
	Pattern    Pattern `json:"pattern"`
	Behavior   string  `json:"behavior"`
	Invert     bool    `json:"invert"`
	Content    string  `json:"content"`
	Prepend    string  `json:"prepend"`
	StripLeft  bool    `json:"strip_left"`
	StripRight bool    `json:"strip_right"`
	Start      int     `json:"start"`
	Stop       int     `json:"stop"`
	Charsmap   string  `json:"precompiled_charsmap"`

	// Digits, CharDelimiterSplit, ByteLevel, Metaspace
	IndividualDigits bool   `json:"individual_digits"`
	Delimiter        string `json:"delimiter"`
	AddPrefixSpace   *bool  `json:"add_prefix_space"`
	UseRegex         *bool  `json:"use_regex"`
	Replacement      string `json:"replacement"`
	PrependScheme    string `json:"prepend_scheme"`
	Split            *bool  `json:"split"`

	// WordPiece
	Prefix  *string `json:"prefix"`
	Cleanup *bool   `json:"cleanup"`

	// TemplateProcessing
	Single        []TemplatePart `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int32 `json:"ids"`
	} `json:"special_tokens"`

	// BertProcessing, RobertaProcessing: ["[CLS]", 101]
	CLS []json.RawMessage `json:"cls"`
	SEP []json.RawMessage `json:"sep"`
}

// Pattern is one of the two: a string that is looked for as it is, or a regular expression.
type Pattern struct {
	String string
	Regex  string
}

// TemplatePart is one of the two: a special token, or a text.
type TemplatePart struct {
	SpecialToken *struct {
		ID string `json:"id"`
	}
	Sequence *struct {
		ID string `json:"id"`
	}
}

// Components decodes a part of the pipeline, "normalizer" for instance, and returns the components that run one after another: those of a
// Sequence, at any depth, or the component alone, or nil if the file has no such part.
func (f *File) Components(part string) ([]Component, error) {
	text, err := f.part(part, maxCommas)
	var c *Component
	if err == nil && text != nil {
		err = modeljson.Unmarshal(text, &c)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", part, err)
	}
	if c == nil {
		return nil, nil
	}
	return c.flatten(nil), nil
}

// flatten appends the components that run one after another to flat.
func (c *Component) flatten(flat []Component) []Component {
	if c.Type != "Sequence" {
		return append(flat, *c)
	}
	for _, list := range [][]Component{c.Normalizers, c.PreTokenizers, c.Processors, c.Decoders} {
		for i := range list {
			flat = list[i].flatten(flat)
		}
	}
	return flat
}

// Template returns the tokens that a TemplateProcessing puts before a text, and after it. check judges each id; name is what the template
// calls the token.
func (c *Component) Template(check func(name string, id int32) error) (before, after []int32, err error) {
	side := &before
	for _, part := range c.Single {
		if part.SpecialToken == nil {
			side = &after
			continue
		}
		name := part.SpecialToken.ID
		token, ok := c.SpecialTokens[name]
		if !ok {
			return nil, nil, fmt.Errorf("post_processor: the template names %.40q, which special_tokens lacks", name)
		}
		for _, id := range token.IDs {
			if err := check(name, id); err != nil {
				return nil, nil, fmt.Errorf("post_processor: %w", err)
			}
		}
		*side = append(*side, token.IDs...)
	}
	return before, after, nil
}

// OrDefault returns *p, or byDefault if the file does not say.
func OrDefault[T any](p *T, byDefault T) T {
	if p == nil {
		return byDefault
	}
	return *p
}
