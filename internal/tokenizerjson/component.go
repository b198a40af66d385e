package tokenizerjson

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/strictjson"
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
	TrimOffsets      *bool  `json:"trim_offsets"` // RobertaProcessing, too
	Replacement      string `json:"replacement"`
	PrependScheme    string `json:"prepend_scheme"`
	Split            *bool  `json:"split"`

	// WordPiece
	Prefix  *string `json:"prefix"`
	Cleanup *bool   `json:"cleanup"`

	// TemplateProcessing
	Single        []TemplatePart `json:"single"`
	Pair          []TemplatePart `json:"pair"`
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

// TemplatePart is one of the two: a special token, or a text, which is called "A" or "B".
type TemplatePart struct{ SpecialToken, Sequence *TemplateName }

// TemplateName is what a part of a template is called, and the type of its tokens.
type TemplateName struct {
	ID   string `json:"id"`
	Type int32  `json:"type_id"`
}

// Components decodes a part of the pipeline, "normalizer" for instance, and returns the components that run one after another: those of a
// Sequence, at any depth, or the component alone, or nil if the file has no such part.
func (f *File) Components(part string) ([]Component, error) {
	text, err := f.part(part, maxCommas)
	var c *Component
	if err == nil && text != nil {
		err = orNull(component(part))(strictjson.New(text))
	}
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

// PrefixScheme returns Metaspace's prepend_scheme. Older files have add_prefix_space in its place. It reports whether the two agree.
func (c *Component) PrefixScheme() (scheme string, ok bool) {
	if OrDefault(c.AddPrefixSpace, true) {
		return cmp.Or(c.PrependScheme, "always"), true
	}
	return "never", c.PrependScheme == "" || c.PrependScheme == "never"
}

// OrDefault returns *p, or byDefault if the file does not say.
func OrDefault[T any](p *T, byDefault T) T {
	if p == nil {
		return byDefault
	}
	return *p
}
