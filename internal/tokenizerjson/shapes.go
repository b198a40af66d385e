package tokenizerjson

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/strictjson"
)

// Every member of a file is read, or known to have no effect, or an error that names it. Before a part is decoded, its members are held
// against the shape of its type. For example, {"type": "Digits", "individual_digits": null} is refused, since it does not say true or false,
// and {"type": "Digits", "by_threes": true} is refused, since nobody knows what it should do.

// A shape says what the members of an object may be, by their names.
type shape map[string]value

// A value reads one value, and returns an error if it is of another kind.
type value func(r *strictjson.Reader) error

// kind returns the value of those that begin with one of the bytes.
func kind(want, begins string) value {
	return func(r *strictjson.Reader) error {
		c := r.Next()
		text, err := r.Value()
		if err == nil && strings.IndexByte(begins, c) < 0 {
			err = fmt.Errorf("is %.40s; %s would be right", text, want)
		}
		return err
	}
}

// that returns the strings that meet a condition.
func that(want string, holds func(s string) bool) value {
	return func(r *strictjson.Reader) error {
		if r.Next() != '"' {
			return kind(want, `"`)(r)
		}
		text, err := r.Text()
		if err == nil && !holds(string(text)) {
			err = fmt.Errorf("is %.40q; %s would be right", text, want)
		}
		return err
	}
}

// words returns the strings that are one of some words.
func words(list ...string) value {
	return that(strings.Join(list, " or "), func(s string) bool { return slices.Contains(list, s) })
}

// orNull returns a value that null may stand for, if a file does not say.
func orNull(v value) value {
	return func(r *strictjson.Reader) error {
		if r.Next() == 'n' {
			_, err := r.Value()
			return err
		}
		return v(r)
	}
}

// list returns the arrays of a value.
func list(v value) value {
	return func(r *strictjson.Reader) error {
		if r.Next() != '[' {
			return kind("a list", "[")(r)
		}
		return r.Array(func() error { return v(r) })
	}
}

// pair returns the arrays of two values.
func pair(first, second value) value {
	return func(r *strictjson.Reader) error {
		n := 0
		err := list(func(r *strictjson.Reader) error {
			n++
			if n == 1 {
				return first(r)
			}
			return second(r)
		})(r)
		if err == nil && n != 2 {
			err = fmt.Errorf("has %d elements; 2 would be right", n)
		}
		return err
	}
}

// object returns the objects with members that a function knows, by name.
func object(member func(name string) value) value {
	return func(r *strictjson.Reader) error {
		if r.Next() != '{' {
			return kind("an object", "{")(r)
		}
		seen := map[string]bool{}
		return r.Object(func(name []byte) error {
			key := string(name)
			if seen[key] {
				return fmt.Errorf("%.40q comes twice", key)
			}
			seen[key] = true
			v := member(key)
			if v == nil {
				return fmt.Errorf("%.40q is not known", key)
			}
			if err := v(r); err != nil {
				return fmt.Errorf("%.40q: %w", key, err)
			}
			return nil
		})
	}
}

// of returns the objects of a shape.
func of(s shape) value { return object(func(name string) value { return s[name] }) }

// component returns the components of a part. One of a type that has no shape is accepted: whoever implements types refuses it.
func component(part string) value {
	return func(r *strictjson.Reader) error {
		start := *r
		typ, err := typeOf(r)
		if err != nil {
			return err
		}
		s, known := shapes[part][typ]
		if !known {
			return nil
		}
		*r = start
		if err := object(func(name string) value {
			if name == typeMember {
				return text
			}
			return s[name]
		})(r); err != nil {
			return fmt.Errorf("%s: %w", typ, err)
		}
		return nil
	}
}

const typeMember = "type"

// typeOf reads an object and returns its type, "" if it has none.
func typeOf(r *strictjson.Reader) (typ string, err error) {
	err = object(func(name string) value {
		if name != typeMember {
			return anything
		}
		return func(r *strictjson.Reader) error {
			if r.Next() != '"' {
				return text(r)
			}
			b, err := r.Text()
			typ = string(b)
			return err
		}
	})(r)
	return typ, err
}

// The kinds of values.
var (
	flag      = kind("true or false", "tf")
	text      = kind("a string", `"`)
	number    = kind("a number", "-0123456789")
	count     = kind("a number from 0 on", "0123456789")
	anything  = func(r *strictjson.Reader) error { _, err := r.Value(); return err }
	character = that("one character", func(s string) bool { return utf8.RuneCountInString(s) == 1 })
	behavior  = words("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
	side      = words("Left", "Right")
	pattern   = of(shape{"String": text, "Regex": text})
)

// Shapes of more than one part.
var (
	replaced  = shape{"pattern": pattern, "content": text}
	byteLevel = shape{"add_prefix_space": flag, "trim_offsets": flag, "use_regex": flag} // trim_offsets changes no tokens
	metaspace = shape{"replacement": character, "add_prefix_space": orNull(flag), "prepend_scheme": words("always", "first", "never"), "split": orNull(flag),
		"str_rep": orNull(text)} // the replacement once more, as files of 2020 have it
	ends     = pair(text, count)
	template = list(of(shape{
		"SpecialToken": of(shape{"id": text, "type_id": count}),
		"Sequence":     of(shape{"id": words("A", "B"), "type_id": count}),
	}))
)

// shapes are those of the types that one of the packages for models implements, by part and type.
var shapes map[string]map[string]shape

// init breaks the circle of shapes that have components which have shapes.
func init() {
	shapes = map[string]map[string]shape{
		"normalizer": {
			"Sequence": {"normalizers": list(component("normalizer"))},
			"NFC":      {}, "NFD": {}, "NFKC": {}, "NFKD": {}, "Lowercase": {}, "StripAccents": {}, "Nmt": {},
			"BertNormalizer": {"clean_text": flag, "handle_chinese_chars": flag, "strip_accents": orNull(flag), "lowercase": flag},
			"Strip":          {"strip_left": flag, "strip_right": flag},
			"Prepend":        {"prepend": text},
			"Replace":        replaced,
			"Precompiled":    {"precompiled_charsmap": text},
		},
		"pre_tokenizer": {
			"Sequence":         {"pretokenizers": list(component("pre_tokenizer"))},
			"BertPreTokenizer": {}, "Whitespace": {}, "WhitespaceSplit": {},
			"Punctuation":        {"behavior": behavior},
			"Digits":             {"individual_digits": flag},
			"CharDelimiterSplit": {"delimiter": character},
			"Split":              {"pattern": pattern, "behavior": behavior, "invert": flag},
			"ByteLevel":          byteLevel,
			"Metaspace":          metaspace,
		},
		"post_processor": {
			"Sequence":           {"processors": list(component("post_processor"))},
			"ByteLevel":          byteLevel, // changes no tokens
			"BertProcessing":     {"cls": ends, "sep": ends},
			"RobertaProcessing":  {"cls": ends, "sep": ends, "trim_offsets": flag, "add_prefix_space": flag}, // the flags change no tokens
			"TemplateProcessing": {"single": template, "pair": template, "special_tokens": object(func(string) value { return specialToken })},
		},
		"decoder": {
			"Sequence":     {"decoders": list(component("decoder"))},
			"ByteFallback": {}, "Fuse": {},
			"ByteLevel": byteLevel, // bytes are bytes
			"WordPiece": {"prefix": text, "cleanup": flag},
			"Metaspace": metaspace,
			"Replace":   replaced,
			"Strip":     {"content": character, "start": count, "stop": count},
		},
		"model": {
			"BPE": {"dropout": orNull(number), "unk_token": orNull(text), "continuing_subword_prefix": orNull(text), "end_of_word_suffix": orNull(text),
				"fuse_unk": flag, "byte_fallback": flag, "ignore_merges": flag},
			"WordPiece": {"unk_token": text, "continuing_subword_prefix": text, "max_input_chars_per_word": count},
			"WordLevel": {"unk_token": text},
			"Unigram":   {"unk_id": orNull(count), "byte_fallback": flag},
		},
	}
}

// specialToken is one of a template's special tokens; the texts of its tokens are for people.
var specialToken = of(shape{"id": text, "ids": list(count), "tokens": list(text)})

// addedTokens are the added tokens.
var addedTokens = list(of(shape{"id": count, "content": text, "single_word": flag, "lstrip": flag, "rstrip": flag, "normalized": flag, "special": flag}))

// parts are the members of a file. Texts are neither cut nor padded as a file says, unless a caller of transformers asks for it.
var parts = shape{
	"version": words("1.0"),
	"truncation": orNull(of(shape{"direction": side, "max_length": count, "strategy": words("LongestFirst", "OnlyFirst", "OnlySecond"),
		"stride": count})),
	"padding": orNull(of(shape{"strategy": anything, "direction": side, "pad_to_multiple_of": orNull(count), "pad_id": count, "pad_type_id": count,
		"pad_token": text})),
	"added_tokens": anything, "normalizer": anything, "pre_tokenizer": anything, "post_processor": anything, "decoder": anything, "model": anything,
}

// checkParts refuses members of the file that are not known.
func (f *File) checkParts() error {
	for _, name := range slices.Sorted(maps.Keys(f.parts)) {
		v := parts[name]
		if v == nil {
			return fmt.Errorf("%.40q is not known", name)
		}
		if err := v(strictjson.At(f.data, f.parts[name].start)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkSettings refuses settings of the model that its type does not have.
func (f *File) checkSettings() error {
	typ, err := f.ModelType()
	if err != nil {
		return err
	}
	typ = cmp.Or(typ, "BPE")
	s, known := shapes["model"][typ]
	if !known {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(f.settings)) {
		v := s[name]
		switch {
		case name == typeMember || name == "vocab" || name == "merges" && typ == "BPE":
			continue
		case v == nil:
			return fmt.Errorf("%s: %.40q is not known", typ, name)
		}
		if err := v(f.Reader(name)); err != nil {
			return fmt.Errorf("%s: %q: %w", typ, name, err)
		}
	}
	return nil
}
