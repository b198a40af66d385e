package bpe

import (
	"cmp"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/split"
	"github.com/antigravity-go/antigravity/internal/tokenizerjson"
	"golang.org/x/text/unicode/norm"
)

// A tokenizer.json can combine any components. Here each part must be of a form that is implemented, and what the components do together
// becomes fields of the pipeline. For example,
//
//	part            component                                              field
//	normalizer      NFC                                                    forms: NFC
//	pre_tokenizer   Split at \p{N}{1,3}, Isolated                          rule: one step
//	                ByteLevel, add_prefix_space and use_regex are false    codec: byteLevel
//	decoder         ByteLevel                                              no field of its own: it must fit the codec
//
// A component of another form is an error that wraps ErrUnsupported.

// component is a component of a tokenizer.json.
type component = tokenizerjson.Component

// pipeline is the work on a text before and after the model; see Tokenizer for the fields that have the same names there.
type pipeline struct {
	codec
	forms      []norm.Form // Unicode's normal forms, run one after another
	rule       split.Rule  // how the pre-tokenizers split a text
	steps      []string    // the rule's expressions
	unnamed    bool        // steps do not say all of the rule: some do something else than isolate their matches
	split      splitter
	space      spacePrefix
	decoder    decoder
	byteTokens bool // the decoder takes <0xNN> for a byte
	marked     bool // spaces become space marks
}

// unsupported returns the error for a component.
func unsupported(kind string, c component, implemented string) error {
	return fmt.Errorf("%w: %s %q as configured; implemented are %s", ErrUnsupported, kind, c.Type, implemented)
}

// readPipeline reads everything but the vocabulary, the merges and the added tokens.
func readPipeline(f *tokenizerjson.File, m *model) (*pipeline, error) {
	pl := &pipeline{}
	for _, step := range []struct {
		part string
		read func([]component) error
	}{
		{"normalizer", pl.normalizer},
		{"pre_tokenizer", pl.preTokenizer},
		{"decoder", pl.readDecoder},
	} {
		parts, err := f.Components(step.part)
		if err != nil {
			return nil, err
		}
		if err := step.read(parts); err != nil {
			return nil, err
		}
	}
	if pl.codec == metaspace && !pl.marked {
		return nil, fmt.Errorf("%w: no normalizer or pre-tokenizer that makes spaces %q", ErrUnsupported, spaceMark)
	}
	if m.ByteFallback && !pl.byteTokens {
		return nil, fmt.Errorf("%w: byte_fallback without a decoder for it", ErrUnsupported)
	}
	return pl, nil
}

// normalForms are the normalizers that bring a text into one of Unicode's normal forms.
var normalForms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

// normalizer accepts an empty list, normal forms, and after these the normalizers of SentencePiece's vocabularies: Prepend "▁" and Replace
// " " by "▁".
func (pl *pipeline) normalizer(parts []component) error {
	for _, c := range parts {
		form, known := normalForms[c.Type]
		switch {
		case known && pl.space == neverPrefix && !pl.marked && len(pl.forms) < maxSteps:
			pl.forms = append(pl.forms, form)
		case c.Type == "Prepend" && c.Prepend == spaceMark && pl.space == neverPrefix:
			pl.space = alwaysPrefix
		case c.Type == "Replace" && c.Pattern == tokenizerjson.Pattern{String: " "} && c.Content == spaceMark:
			pl.marked = true
		default:
			return unsupported("normalizer", c, `none, NFC, NFD, NFKC and NFKD, and after these Prepend "▁" and Replace " " by "▁"`)
		}
	}
	return nil
}

// preTokenizer accepts the pre-tokenizers of SentencePiece vocabularies (nothing, Metaspace, or a Split at spaces, since no spaces are
// left) and of byte-level ones: steps that split, and ByteLevel.
func (pl *pipeline) preTokenizer(parts []component) error {
	const implemented = "none, Metaspace, ByteLevel, and Split, Digits and Punctuation before ByteLevel"
	pl.codec = metaspace
	for i, c := range parts {
		switch {
		case c.Type == "Metaspace" && len(parts) == 1 && c.Replacement == spaceMark && pl.metaspace(c):
		case c.Type == "Split" && len(parts) == 1 && pl.marked && c.Pattern == tokenizerjson.Pattern{String: " "} && !c.Invert && behaviorOf(c) != split.Removed:
		case c.Type == "ByteLevel" && i == len(parts)-1 && !pl.marked && pl.space == neverPrefix && pl.byteLevel(c):
		case i < len(parts)-1 && !pl.marked && len(pl.rule) < maxSteps:
			step, expression, err := stepOf(c)
			if err != nil {
				return err
			}
			if step.Expression == nil {
				return unsupported("pre-tokenizer", c, implemented)
			}
			pl.rule, pl.steps = append(pl.rule, step), append(pl.steps, expression)
			pl.unnamed = pl.unnamed || !step.Isolates()
		default:
			return unsupported("pre-tokenizer", c, implemented)
		}
	}
	if pl.rule != nil {
		pl.split = pl.rule.Split
	}
	return nil
}

// maxSteps bounds how many pre-tokenizers follow one another.
const maxSteps = 32

// behaviorOf returns what a component does with matches; Isolated is what those do that do not say.
func behaviorOf(c component) split.Behavior {
	return split.Behavior(cmp.Or(c.Behavior, string(split.Isolated)))
}

// stepOf returns the step of a pre-tokenizer that splits, and its expression. For another kind of pre-tokenizer the expression is empty.
func stepOf(c component) (s split.Step, expression string, err error) {
	s.Behavior = behaviorOf(c)
	switch c.Type {
	case "Split":
		s.Invert = c.Invert
		if expression = c.Pattern.Regex; expression == "" {
			expression = split.Quote(c.Pattern.String)
		}
	case "Digits":
		expression = `\p{N}`
		if !c.IndividualDigits {
			s.Behavior = split.Contiguous
		}
	case "Punctuation":
		expression = "[\\p{P}!-/:-@\\[-`{-~]"
	}
	if expression == "" || !s.Behavior.Known() {
		return split.Step{}, "", nil
	}
	if s.Expression, err = split.Compile(expression); err != nil {
		return s, "", fmt.Errorf("%w: pre-tokenizer %q: %w", ErrUnsupported, c.Type, err)
	}
	return s, expression, nil
}

// byteLevel sets up the ByteLevel pre-tokenizer, and returns whether it is implemented: after others it must not put a space
// before each piece.
func (pl *pipeline) byteLevel(c component) bool {
	pl.codec = byteLevel
	if tokenizerjson.OrDefault(c.AddPrefixSpace, true) {
		if pl.rule != nil {
			return false
		}
		pl.space = unlessPrefix
	}
	if tokenizerjson.OrDefault(c.UseRegex, true) {
		own, err := split.NewRule(gpt2Pattern)
		if err != nil {
			return false
		}
		pl.rule, pl.steps = append(pl.rule, own...), append(pl.steps, gpt2Pattern)
	}
	return true
}

// metaspace sets up the Metaspace pre-tokenizer, and reports whether it is implemented. After a Prepend the text begins with a space
// already, and Metaspace adds no other.
func (pl *pipeline) metaspace(c component) bool {
	scheme, ok := prefixScheme(c)
	if pl.space == neverPrefix {
		pl.space = scheme
	}
	if tokenizerjson.OrDefault(c.Split, true) {
		pl.split = splitSpaces
	}
	pl.marked = true
	return ok
}

// prefixScheme reads what Metaspace puts before texts.
func prefixScheme(c component) (scheme spacePrefix, ok bool) {
	name, ok := c.PrefixScheme()
	return map[string]spacePrefix{"always": unlessPrefix, "first": firstPrefix, "never": neverPrefix}[name], ok
}

// readTemplate sets what the post-processor puts around texts.
func (t *Tokenizer) readTemplate(f *tokenizerjson.File) error {
	parts, err := f.Components("post_processor")
	if err != nil {
		return err
	}
	template, c, known, err := tokenizerjson.Template(parts, func(id int32) bool { return t.vocab.has(id, inUse) })
	if !known {
		return unsupported("post-processor", c, "none, ByteLevel, BertProcessing, RobertaProcessing and TemplateProcessing, of which the last three exclude each other")
	}
	t.setTemplate(template)
	return err
}

// readDecoder accepts ByteLevel, or the steps that turn SentencePiece's tokens back into text: Replace "▁" by " " or
// Metaspace; ByteFallback; Fuse; Strip.
func (pl *pipeline) readDecoder(parts []component) error {
	const implemented = `ByteLevel, or in this order Replace "▁" by " " or Metaspace, ByteFallback, Fuse and Strip " " at the start`
	if pl.codec == byteLevel {
		if len(parts) != 1 || parts[0].Type != "ByteLevel" {
			return unsupported("decoder", first(parts), implemented)
		}
		return nil
	}
	for i, c := range parts {
		previous := first(parts[max(i-1, 0):])
		switch {
		case c.Type == "Replace" && i == 0 && c.Pattern == tokenizerjson.Pattern{String: spaceMark} && c.Content == " ":
		case c.Type == "Metaspace" && i == 0 && c.Replacement == spaceMark:
			scheme, ok := prefixScheme(c)
			if !ok {
				return unsupported("decoder", c, implemented)
			}
			pl.decoder.stripToken = scheme != neverPrefix
		case c.Type == "ByteFallback" && i == 1:
			pl.byteTokens = true
		case c.Type == "Fuse" && i > 0:
		case c.Type == "Strip" && previous.Type == "Fuse" && c.Content == " " && c.Start >= 0 && c.Stop == 0:
			pl.decoder.strip = c.Start
		default:
			return unsupported("decoder", c, implemented)
		}
	}
	if len(parts) == 0 {
		return unsupported("decoder", component{}, implemented)
	}
	return nil
}

// first returns parts[0], or a component without a type if parts is empty.
func first(parts []component) component {
	if len(parts) == 0 {
		return component{}
	}
	return parts[0]
}
