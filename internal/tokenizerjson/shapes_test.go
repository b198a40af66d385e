package tokenizerjson

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// examples have a right value of every member that is known, as tokenizers 0.23 writes them, by part, type and name.
var examples = map[string]map[string]map[string]string{
	"normalizer": {
		"Sequence":       {"normalizers": `[{"type":"NFC"}]`},
		"BertNormalizer": {"clean_text": `true`, "handle_chinese_chars": `true`, "strip_accents": `null`, "lowercase": `true`},
		"Strip":          {"strip_left": `true`, "strip_right": `true`},
		"Prepend":        {"prepend": `"▁"`},
		"Replace":        {"pattern": `{"String":" "}`, "content": `"▁"`},
		"Precompiled":    {"precompiled_charsmap": `""`},
	},
	"pre_tokenizer": {
		"Sequence":           {"pretokenizers": `[{"type":"Whitespace"}]`},
		"Punctuation":        {"behavior": `"Isolated"`},
		"Digits":             {"individual_digits": `false`},
		"CharDelimiterSplit": {"delimiter": `"-"`},
		"Split":              {"pattern": `{"Regex":"a"}`, "behavior": `"Removed"`, "invert": `false`},
		"ByteLevel":          {"add_prefix_space": `true`, "trim_offsets": `true`, "use_regex": `true`},
		"Metaspace":          {"replacement": `"▁"`, "add_prefix_space": `true`, "prepend_scheme": `"always"`, "split": `true`, "str_rep": `"▁"`},
	},
	"post_processor": {
		"Sequence":          {"processors": `[]`},
		"ByteLevel":         {"add_prefix_space": `true`, "trim_offsets": `true`, "use_regex": `true`},
		"BertProcessing":    {"cls": `["a",0]`, "sep": `["a",0]`},
		"RobertaProcessing": {"cls": `["a",0]`, "sep": `["a",0]`, "trim_offsets": `true`, "add_prefix_space": `true`},
		"TemplateProcessing": {"single": `[{"SpecialToken":{"id":"a","type_id":0}},{"Sequence":{"id":"A","type_id":0}}]`, "pair": `[]`,
			"special_tokens": `{"a":{"id":"a","ids":[0],"tokens":["a"]}}`},
	},
	"decoder": {
		"Sequence":  {"decoders": `[{"type":"Fuse"}]`},
		"ByteLevel": {"add_prefix_space": `true`, "trim_offsets": `true`, "use_regex": `true`},
		"WordPiece": {"prefix": `"##"`, "cleanup": `true`},
		"Metaspace": {"replacement": `"▁"`, "add_prefix_space": `true`, "prepend_scheme": `"always"`, "split": `true`, "str_rep": `"▁"`},
		"Replace":   {"pattern": `{"String":"▁"}`, "content": `" "`},
		"Strip":     {"content": `" "`, "start": `1`, "stop": `0`},
	},
	"model": {
		"BPE": {"dropout": `null`, "unk_token": `null`, "continuing_subword_prefix": `null`, "end_of_word_suffix": `null`, "fuse_unk": `false`,
			"byte_fallback": `false`, "ignore_merges": `false`},
		"WordPiece": {"unk_token": `"a"`, "continuing_subword_prefix": `"##"`, "max_input_chars_per_word": `100`},
		"WordLevel": {"unk_token": `"a"`},
		"Unigram":   {"unk_id": `null`, "byte_fallback": `false`},
	},
}

// readPart reads one part of a file, which has the type and the members.
func readPart(part, typ string, members map[string]string) error {
	text := fmt.Sprintf(`{"type":%q`, typ)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		text += fmt.Sprintf(`,%q:%s`, name, members[name])
	}
	f, err := Read([]byte(fmt.Sprintf(`{%q:%s}}`, part, text)))
	if err != nil {
		return err
	}
	if part == "model" {
		return f.Settings(&struct{}{})
	}
	_, err = f.Components(part)
	return err
}

// TestShapes reads each type of component and of model as it is, with an unknown member, and with each member of each other type.
func TestShapes(t *testing.T) {
	for part, types := range shapes {
		for typ, known := range types {
			right := examples[part][typ]
			if !slices.Equal(slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(right))) {
				t.Errorf("%s %s: the members %v have no example each", part, typ, slices.Sorted(maps.Keys(known)))
			}
			if err := readPart(part, typ, right); err != nil {
				t.Errorf("%s %s: %v", part, typ, err)
			}
			wrong := func(name, value string) {
				members := maps.Clone(right)
				if members == nil {
					members = map[string]string{}
				}
				members[name] = value
				if err := readPart(part, typ, members); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
					t.Errorf("%s %s with %s: %s: got %v, want an error that names the member", part, typ, name, value, err)
				}
			}
			for _, name := range []string{"x", strings.ToUpper(first(right)), " ", "vocabulary"} {
				wrong(name, `null`)
			}
			for name, value := range right {
				for _, other := range []string{`null`, `true`, `-1.5`, `7`, `"Sideways"`, `[true]`, `{"x":1}`} {
					if !similar(part, typ, name, value, other) {
						wrong(name, other)
					}
				}
			}
		}
	}
}

func first(members map[string]string) string {
	for name := range members {
		return name
	}
	return "Type"
}

// similar reports whether a member may have another value: one of the same JSON type, or of a type that null stood for, if any string is right.
func similar(part, typ, name, value, other string) bool {
	kinds := map[string]string{"strip_accents": "null true", "unk_id": "null 7", "dropout": "null 7 -1.5", "add_prefix_space": "true", "split": "null true"}
	for _, free := range []string{"unk_token", "continuing_subword_prefix", "end_of_word_suffix", "str_rep", "content", "prepend", "precompiled_charsmap", "prefix"} {
		kinds[free] = `"Sideways"`
	}
	for _, optional := range []string{"unk_token", "continuing_subword_prefix", "end_of_word_suffix"} {
		if part == "model" && typ == "BPE" {
			kinds[optional] += " null"
		}
	}
	kinds["str_rep"] += " null"
	if typ == "Metaspace" {
		kinds["add_prefix_space"] += " null"
	}
	if typ == "Strip" {
		kinds["content"] = ""
	}
	if slices.Contains(strings.Fields(kinds[name]), other) {
		return true
	}
	var v, o any
	if json.Unmarshal([]byte(value), &v) != nil || json.Unmarshal([]byte(other), &o) != nil {
		panic("the test's own JSON")
	}
	switch v.(type) {
	case bool:
		return other == "true"
	case float64:
		return other == "7"
	}
	return false
}

// TestFileMembers reads files with members that are not of the pipeline.
func TestFileMembers(t *testing.T) {
	const model = `"model":{"type":"WordLevel","vocab":{}}`
	for members, want := range map[string]string{
		`"version":"1.0","truncation":{"direction":"Left","max_length":9,"strategy":"LongestFirst","stride":0},"padding":null`:        "",
		`"padding":{"strategy":{"Fixed":9},"direction":"Right","pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"pad_token":"x"}`: "",
		`"added_tokens":[{"id":0,"content":"a","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":true}]`:  "",
		`"version":"2.0"`:                                `version: is "2.0"`,
		`"truncation":7`:                                 "truncation",
		`"truncation":{"length":7}`:                      `"length" is not known`,
		`"postprocessor":null`:                           `"postprocessor" is not known`,
		`"Normalizer":null`:                              `"Normalizer" is not known`,
		`"added_tokens":[{"id":0,"Special":true}]`:       `"Special" is not known`,
		`"added_tokens":[{"id":0,"special":1}]`:          `"special": is 1`,
		`"added_tokens":[{"id":0,"lstrip":null}]`:        `"lstrip": is null`,
		`"added_tokens":{"a":0}`:                         "added_tokens: is {",
		`"added_tokens":[{"id":"0","content":"a"}]`:      `"id": is "0"`,
		`"added_tokens":[{"id":0,"id":1,"content":"a"}]`: `"id" comes twice`,
	} {
		f, err := Read([]byte(`{` + members + `,` + model + `}`))
		if err == nil {
			err = f.Settings(&struct{}{})
		}
		if err == nil {
			_, err = f.AddedTokens()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want an error with %q", members, err, want)
		}
	}
}
