package hftok

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/antigravity-go/antigravity/internal/split"
)

// maxSteps bounds how many normalizers, and how many pre-tokenizers, follow one another.
const maxSteps = 32

// component is a normalizer, pre-tokenizer, post-processor or decoder of a tokenizer.json. Each group of fields belongs to
// the types that stand above it.
type component struct {
	Type string `json:"type"`

	// Sequence
	Normalizers   []component `json:"normalizers"`
	PreTokenizers []component `json:"pretokenizers"`
	Processors    []component `json:"processors"`
	Decoders      []component `json:"decoders"`

	// BertNormalizer
	CleanText     *bool `json:"clean_text"`
	SpaceChinese  *bool `json:"handle_chinese_chars"`
	StripAccents  *bool `json:"strip_accents"`
	LowercaseText *bool `json:"lowercase"`

	// Replace, Prepend, Strip, Precompiled, Split
	Pattern    pattern `json:"pattern"`
	Content    string  `json:"content"`
	Prepend    string  `json:"prepend"`
	StripLeft  bool    `json:"strip_left"`
	StripRight bool    `json:"strip_right"`
	Start      int     `json:"start"`
	Stop       int     `json:"stop"`
	Charsmap   string  `json:"precompiled_charsmap"`
	Behavior   string  `json:"behavior"`
	Invert     bool    `json:"invert"`

	// Digits, CharDelimiterSplit, Metaspace
	IndividualDigits bool   `json:"individual_digits"`
	Delimiter        string `json:"delimiter"`
	Replacement      string `json:"replacement"`
	AddPrefixSpace   *bool  `json:"add_prefix_space"`
	PrependScheme    string `json:"prepend_scheme"`
	Split            *bool  `json:"split"`

	// WordPiece
	Prefix  *string `json:"prefix"`
	Cleanup *bool   `json:"cleanup"`

	// TemplateProcessing
	Single        []templatePart `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int32 `json:"ids"`
	} `json:"special_tokens"`

	// BertProcessing, RobertaProcessing: ["[CLS]", 101]
	CLS []json.RawMessage `json:"cls"`
	SEP []json.RawMessage `json:"sep"`
}

// pattern is one of the two: a string that is looked for as it is, or a regular expression.
type pattern struct {
	String string
	Regex  string
}

// templatePart is a special token; or, where it is nil, a text.
type templatePart struct {
	SpecialToken *struct {
		ID string `json:"id"`
	}
}

// flatten returns the components that run one after another: those of a Sequence, at any depth, or the component alone, or
// none for nil.
func flatten(c *component) []component {
	var flat []component
	var visit func(c *component)
	visit = func(c *component) {
		if c.Type != "Sequence" {
			flat = append(flat, *c)
			return
		}
		for _, list := range [][]component{c.Normalizers, c.PreTokenizers, c.Processors, c.Decoders} {
			for i := range list {
				visit(&list[i])
			}
		}
	}
	if c != nil {
		visit(c)
	}
	return flat
}

// orDefault returns *p, or byDefault where the file has no such field.
func orDefault[T any](p *T, byDefault T) T {
	if p == nil {
		return byDefault
	}
	return *p
}

// unsupported returns the error for a component.
func unsupported(kind string, c component, implemented string) error {
	if c.Type == "" {
		return fmt.Errorf("%s without a type", kind)
	}
	return fmt.Errorf("%w: %s %q as configured; implemented are %s", ErrUnsupported, kind, c.Type, implemented)
}

// pipeline reads the normalizers, the pre-tokenizers and the decoder.
func (t *Tokenizer) pipeline(f *file) error {
	normalizers, err := readComponents("normalizer", f.Normalizer)
	if err != nil {
		return err
	}
	splits, err := readComponents("pre_tokenizer", f.PreTokenizer)
	if err != nil {
		return err
	}
	decoders, err := readComponents("decoder", f.Decoder)
	if err != nil {
		return err
	}
	if len(normalizers) > maxSteps || len(splits) > maxSteps {
		return fmt.Errorf("%w: %d normalizers and %d pre-tokenizers; at most %d of each are implemented", ErrUnsupported, len(normalizers), len(splits), maxSteps)
	}
	for _, c := range normalizers {
		ns, err := c.normalizer()
		if err != nil {
			return err
		}
		t.normalize = append(t.normalize, ns...)
	}
	for _, c := range splits {
		steps, err := c.splitSteps()
		if err != nil {
			return err
		}
		t.split = append(t.split, steps...)
	}
	return t.decoder.read(decoders)
}

// simple are the normalizers that have no settings.
var simple = map[string]normalizer{
	"NFC": form(norm.NFC), "NFD": form(norm.NFD), "NFKC": form(norm.NFKC), "NFKD": form(norm.NFKD),
	"Lowercase": lowercase, "StripAccents": mapping(stripAccents), "Nmt": mapping(nmt),
}

func (c component) normalizer() (normalizers, error) {
	if n := simple[c.Type]; n != nil {
		return normalizers{n}, nil
	}
	switch c.Type {
	case "BertNormalizer":
		lower := orDefault(c.LowercaseText, true)
		return bert(orDefault(c.CleanText, true), orDefault(c.SpaceChinese, true), orDefault(c.StripAccents, lower), lower), nil
	case "Strip":
		return normalizers{strip(c.StripLeft, c.StripRight)}, nil
	case "Prepend":
		return normalizers{prepend(c.Prepend)}, nil
	case "Replace":
		matches, err := c.Pattern.matches()
		if err != nil {
			return nil, fmt.Errorf("%w: normalizer Replace: %w", ErrUnsupported, err)
		}
		return normalizers{replace(matches, c.Content)}, nil
	case "Precompiled":
		m, err := newCharsmap(c.Charsmap)
		if err != nil {
			return nil, fmt.Errorf("normalizer: %w", err)
		}
		return normalizers{m.normalize}, nil
	}
	return nil, unsupported("normalizer", c, "BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Nmt, Strip, Prepend, Precompiled and Replace")
}

// matches returns the function that returns where the pattern's matches in a text begin and end.
func (p pattern) matches() (func(text string) iter.Seq2[int, int], error) {
	switch {
	case p.String != "" && p.Regex == "":
		return literal(p.String).all, nil
	case p.String == "" && p.Regex != "":
		e, err := split.Compile(p.Regex)
		if err != nil {
			return nil, err
		}
		return e.Matches, nil
	}
	return nil, errors.New("the pattern must be a text or a regular expression")
}

// splitSteps returns the steps of a pre-tokenizer.
func (c component) splitSteps() ([]splitStep, error) {
	switch c.Type {
	case "BertPreTokenizer":
		return []splitStep{splitAt(class(unicode.IsSpace), removed), splitAt(class(isPunctuation), isolated)}, nil
	case "Whitespace":
		return []splitStep{splitWhitespace}, nil
	case "WhitespaceSplit":
		return []splitStep{splitAt(class(unicode.IsSpace), removed)}, nil
	case "Punctuation":
		if b, ok := behaviorNames[c.Behavior]; ok || c.Behavior == "" {
			if c.Behavior == "" {
				b = isolated
			}
			return []splitStep{splitAt(class(isPunctuation), b)}, nil
		}
	case "Digits":
		b := contiguous
		if c.IndividualDigits {
			b = isolated
		}
		return []splitStep{splitAt(class(unicode.IsNumber), b)}, nil
	case "CharDelimiterSplit":
		if c.Delimiter != "" {
			return []splitStep{splitAt(literal(c.Delimiter), removed)}, nil
		}
	case "Split":
		if b, ok := behaviorNames[c.Behavior]; ok && !c.Invert && c.Pattern.String != "" && c.Pattern.Regex == "" {
			return []splitStep{splitAt(literal(c.Pattern.String), b)}, nil
		}
	case "Metaspace":
		if scheme, ok := c.scheme(); ok && c.Replacement == spaceMark {
			steps := []splitStep{markSpaces(scheme)}
			if orDefault(c.Split, true) {
				steps = append(steps, splitAt(literal(spaceMark), mergedWithNext))
			}
			return steps, nil
		}
	}
	return nil, unsupported("pre-tokenizer", c, `BertPreTokenizer, Whitespace, WhitespaceSplit, Punctuation, Digits, CharDelimiterSplit, Split at a text, and Metaspace with "▁"`)
}

// scheme reads Metaspace's prepend_scheme, and add_prefix_space as older files have it.
func (c component) scheme() (s prefixScheme, ok bool) {
	switch c.PrependScheme {
	case "always", "":
		s = always
	case "first":
		s = onlyFirst
	case "never":
	default:
		return never, false
	}
	if !orDefault(c.AddPrefixSpace, true) {
		s = never
	}
	return s, true
}

// read sets the decoder up as a tokenizer.json describes it.
func (d *decoder) read(parts []component) error {
	const implemented = `WordPiece, Metaspace or Replace "▁" by " ", then ByteFallback, Fuse and Strip " " at the start`
	for i, c := range parts {
		switch {
		case c.Type == "WordPiece" && len(parts) == 1:
			d.pieces, d.continuing, d.tidy = true, orDefault(c.Prefix, "##"), orDefault(c.Cleanup, true)
		case c.Type == "Metaspace" && c.Replacement == spaceMark && !d.marks:
			scheme, ok := c.scheme()
			if !ok {
				return unsupported("decoder", c, implemented)
			}
			d.marks, d.dropFirst = true, scheme != never
		case c.Type == "Replace" && c.Pattern == pattern{String: spaceMark} && c.Content == " " && !d.marks:
			d.marks = true
		case c.Type == "ByteFallback" && !d.bytes:
			d.bytes = true
		case c.Type == "Fuse":
		case c.Type == "Strip" && i > 0 && parts[i-1].Type == "Fuse" && c.Content == " " && c.Start >= 0 && c.Stop == 0:
			d.strip = c.Start
		default:
			return unsupported("decoder", c, implemented)
		}
	}
	if len(parts) > 0 && !d.pieces && !d.marks {
		return unsupported("decoder", parts[0], implemented)
	}
	return nil
}

// readTemplate reads the tokens that the post-processor puts before and after a text.
func (t *Tokenizer) readTemplate(parts []component) error {
	for _, c := range parts {
		var err error
		switch c.Type {
		case "ByteLevel":
		case "BertProcessing", "RobertaProcessing":
			err = t.readPair(c)
		case "TemplateProcessing":
			err = t.readSingle(c)
		default:
			err = unsupported("post-processor", c, "none, BertProcessing, RobertaProcessing, TemplateProcessing and ByteLevel")
		}
		if err != nil {
			return err
		}
	}
	for _, id := range slices.Concat(t.prefix, t.ending) {
		if t.entry(id) == nil {
			return fmt.Errorf("post_processor: no token has id %d", id)
		}
	}
	return nil
}

// readPair reads the two tokens of BertProcessing.
func (t *Tokenizer) readPair(c component) error {
	for _, token := range []struct {
		name string
		json []json.RawMessage
		side *[]int32
	}{{"cls", c.CLS, &t.prefix}, {"sep", c.SEP, &t.ending}} {
		var id int32
		if len(token.json) != 2 || json.Unmarshal(token.json[1], &id) != nil {
			return fmt.Errorf(`post_processor: the %q of %s is no text and id`, token.name, c.Type)
		}
		*token.side = append(*token.side, id)
	}
	return nil
}

// readSingle reads the tokens of TemplateProcessing.
func (t *Tokenizer) readSingle(c component) error {
	side := &t.prefix
	for _, part := range c.Single {
		if part.SpecialToken == nil {
			side = &t.ending
			continue
		}
		name := part.SpecialToken.ID
		token, ok := c.SpecialTokens[name]
		if !ok {
			return fmt.Errorf("post_processor: the template names %.40q, which special_tokens lacks", name)
		}
		*side = append(*side, token.IDs...)
	}
	return nil
}
