package hftok

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/antigravity-go/antigravity/internal/characters"
	"github.com/antigravity-go/antigravity/internal/postprocess"
	"github.com/antigravity-go/antigravity/internal/split"
	"github.com/antigravity-go/antigravity/internal/tokenizerjson"
)

// Each component of a tokenizer.json becomes one or more steps: normalizers change the text, pre-tokenizers split it, the decoder puts
// tokens together again. For example, with the normalizer Lowercase and the pre-tokenizer BertPreTokenizer, which is two splits,
//
//	step                                      pieces
//	                                          "Don't stop"
//	Lowercase                                 "don't stop"
//	split at white space, Removed             "don't" "stop"
//	split at each punctuation, Isolated       "don" "'" "t" "stop"

// maxSteps bounds how many normalizers, and how many pre-tokenizers, follow one another.
const maxSteps = 32

// component is a component of a tokenizer.json.
type component = tokenizerjson.Component

// unsupported returns the error for a component.
func unsupported(kind string, c component, implemented string) error {
	if c.Type == "" {
		return fmt.Errorf("%s without a type", kind)
	}
	return fmt.Errorf("%w: %s %q as configured; implemented are %s", ErrUnsupported, kind, c.Type, implemented)
}

// pipeline reads the normalizers, the pre-tokenizers and the decoder.
func (t *Tokenizer) pipeline(f *tokenizerjson.File) error {
	normalizers, err := f.Components("normalizer")
	if err != nil {
		return err
	}
	splits, err := f.Components("pre_tokenizer")
	if err != nil {
		return err
	}
	decoders, err := f.Components("decoder")
	if err != nil {
		return err
	}
	if len(normalizers) > maxSteps || len(splits) > maxSteps {
		return fmt.Errorf("%w: %d normalizers and %d pre-tokenizers; at most %d of each are implemented", ErrUnsupported, len(normalizers), len(splits), maxSteps)
	}
	for _, c := range normalizers {
		ns, err := normalizersOf(c)
		if err != nil {
			return err
		}
		t.normalize = append(t.normalize, ns...)
	}
	for _, c := range splits {
		steps, err := splitStepsOf(c)
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

// normalizersOf returns what a normalizer does.
func normalizersOf(c component) (normalizers, error) {
	if n, known := simple[c.Type]; known {
		return normalizers{n}, nil
	}
	switch c.Type {
	case "BertNormalizer":
		lower := tokenizerjson.OrDefault(c.LowercaseText, true)
		return bert(tokenizerjson.OrDefault(c.CleanText, true), tokenizerjson.OrDefault(c.SpaceChinese, true), tokenizerjson.OrDefault(c.StripAccents, lower), lower), nil
	case "Strip":
		return normalizers{strip(c.StripLeft, c.StripRight)}, nil
	case "Prepend":
		return normalizers{prepend(c.Prepend)}, nil
	case "Replace":
		found, err := matches(c.Pattern)
		if err != nil {
			return nil, fmt.Errorf("%w: normalizer Replace: %w", ErrUnsupported, err)
		}
		return normalizers{replace(found, c.Content)}, nil
	case "Precompiled":
		data, err := base64.StdEncoding.DecodeString(c.Charsmap)
		if err != nil {
			return nil, fmt.Errorf("normalizer: precompiled_charsmap: %w", err)
		}
		m, err := newCharsmap(data)
		if err != nil {
			return nil, fmt.Errorf("normalizer: %w", err)
		}
		return normalizers{{m.normalize, m.track}}, nil
	}
	return nil, unsupported("normalizer", c, "BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Nmt, Strip, Prepend, Precompiled and Replace")
}

// matches returns a function that yields the begin and the end of each match of a pattern in a text.
func matches(p tokenizerjson.Pattern) (func(text string) iter.Seq2[int, int], error) {
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

// splitStepsOf returns the steps of a pre-tokenizer.
func splitStepsOf(c component) ([]splitStep, error) {
	switch c.Type {
	case "BertPreTokenizer":
		return bertWords(), nil
	case "Whitespace":
		return []splitStep{splitWhitespace}, nil
	case "WhitespaceSplit":
		return []splitStep{splitAt(class(unicode.IsSpace), split.Removed)}, nil
	case "Punctuation":
		if b := split.Behavior(cmp.Or(c.Behavior, string(split.Isolated))); b.Known() {
			return []splitStep{splitAt(class(characters.Punctuation), b)}, nil
		}
	case "Digits":
		b := split.Contiguous
		if c.IndividualDigits {
			b = split.Isolated
		}
		return []splitStep{splitAt(class(characters.Number), b)}, nil
	case "CharDelimiterSplit":
		if c.Delimiter != "" {
			return []splitStep{splitAt(literal(c.Delimiter), split.Removed)}, nil
		}
	case "Split":
		if b := split.Behavior(c.Behavior); b.Known() && !c.Invert && c.Pattern.String != "" && c.Pattern.Regex == "" {
			return []splitStep{splitAt(literal(c.Pattern.String), b)}, nil
		}
	case "Metaspace":
		if scheme, ok := schemeOf(c); ok && c.Replacement == spaceMark {
			steps := []splitStep{markSpaces(scheme)}
			if tokenizerjson.OrDefault(c.Split, true) {
				steps = append(steps, splitAt(literal(spaceMark), split.MergedWithNext))
			}
			return steps, nil
		}
	}
	return nil, unsupported("pre-tokenizer", c, `BertPreTokenizer, Whitespace, WhitespaceSplit, Punctuation, Digits, CharDelimiterSplit, Split at a text, and Metaspace with "▁"`)
}

// bertWords is BertPreTokenizer: words without white space, and punctuation one by one.
func bertWords() []splitStep {
	return []splitStep{splitAt(class(unicode.IsSpace), split.Removed), splitAt(class(characters.Punctuation), split.Isolated)}
}

// schemeOf reads what Metaspace puts before texts.
func schemeOf(c component) (s prefixScheme, ok bool) {
	name, ok := c.PrefixScheme()
	return map[string]prefixScheme{"always": always, "first": onlyFirst, "never": never}[name], ok
}

// read sets the decoder up as a tokenizer.json describes it.
func (d *decoder) read(parts []component) error {
	const implemented = `WordPiece, Metaspace or Replace "▁" by " ", then ByteFallback, Fuse and Strip " " at the start`
	for i, c := range parts {
		switch {
		case c.Type == "WordPiece" && len(parts) == 1:
			d.pieces, d.continuing, d.tidy = true, tokenizerjson.OrDefault(c.Prefix, "##"), tokenizerjson.OrDefault(c.Cleanup, true)
		case c.Type == "Metaspace" && c.Replacement == spaceMark && !d.marks:
			scheme, ok := schemeOf(c)
			if !ok {
				return unsupported("decoder", c, implemented)
			}
			d.marks, d.dropFirst = true, scheme != never
		case c.Type == "Replace" && c.Pattern == tokenizerjson.Pattern{String: spaceMark} && c.Content == " " && !d.marks:
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

// readTemplate sets what the post-processor puts around texts.
func (t *Tokenizer) readTemplate(parts []component) error {
	template, c, known, err := tokenizerjson.Template(parts, func(id int32) bool { return t.entry(id) != nil })
	if !known {
		return unsupported("post-processor", c, "none, ByteLevel, BertProcessing, RobertaProcessing and TemplateProcessing, of which the last three exclude each other")
	}
	t.setTemplate(template)
	return err
}

// setTemplate sets the tokens around texts.
func (t *Tokenizer) setTemplate(around postprocess.Template) {
	t.template, t.prefix = around, around.Before()
}
