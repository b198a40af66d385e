package hftok

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/bpe"
)

// methods are what a user of tokenizers relies on; both packages have them.
type methods interface {
	Encode(dst []int32, text string) []int32
	EncodeContinuation(dst []int32, text string) []int32
	EncodeSpecial(dst []int32, text string, bos bool) []int32
	Decode(tokens []int32) string
	AppendBytes(dst []byte, id int32) []byte
	LeadingSpace() bool
	VocabSize() int
	IsSpecial(id int32) bool
	ID(text string) (int32, bool)
	Text(id int32) string
	EncodeSegments(dst []int32, segments iter.Seq2[string, bool]) []int32
	Added() []string
	BOS() (int32, bool)
}

var _, _ methods = (*Tokenizer)(nil), (*bpe.Tokenizer)(nil)

const wordPieceFile = `{
"added_tokens": [{"id": 0, "content": "[UNK]", "special": true}, {"id": 1, "content": "[CLS]", "special": true}, {"id": 2, "content": "[SEP]", "special": true}],
"truncation": {"max_length": 2, "strategy": "LongestFirst", "stride": 0},
"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
"pre_tokenizer": {"type": "BertPreTokenizer"},
"post_processor": {"type": "TemplateProcessing",
	"single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}], "pair": [],
	"special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}, "[SEP]": {"id": "[SEP]", "ids": [2], "tokens": ["[SEP]"]}}},
"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
	"vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "un": 3, "##aff": 4, "##able": 5, "hello": 6, ",": 7, "[": 8, "]": 9, "cls": 10}}}`

const unigramFile = `{
"added_tokens": [{"id": 0, "content": "<unk>", "special": true}, {"id": 1, "content": "<s>", "special": true}],
"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
"decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["<s>", 0], ["▁hello", -1.0], ["▁", -3.0], ["lo", -4.5], ["hel", -4.0], ["▁world", -2]]}}`

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		inert, special   []int32 // without and with added tokens recognised
		decoded          string
	}{
		{"word pieces", wordPieceFile, "Unaffable, hello", []int32{3, 4, 5, 7, 6}, []int32{1, 3, 4, 5, 7, 6}, "unaffable, hello"},
		{"special tokens", wordPieceFile, "[CLS] hello", []int32{8, 10, 9, 6}, []int32{1, 1, 6}, "hello"},
		{"unknown", wordPieceFile, "xyz", []int32{0}, []int32{1, 0}, ""},
		{"empty", wordPieceFile, "", nil, []int32{1}, ""},
		{"not UTF-8", wordPieceFile, "hello \xff\xfe", []int32{6}, []int32{1, 6}, "hello"},
		{"nothing", unigramFile, "", nil, nil, ""},
		{"unigram", unigramFile, "hello world", []int32{2, 6}, []int32{2, 6}, "hello world"},
		{"unigram special tokens", unigramFile, "<s>hello", []int32{3, 0, 5, 4}, []int32{1, 2}, "hello"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok, err := ParseJSON([]byte(c.file))
			if err != nil {
				t.Fatal(err)
			}
			if got := tok.Encode(nil, c.text); !slices.Equal(got, c.inert) {
				t.Errorf("Encode(%q): got %v, want %v", c.text, got, c.inert)
			}
			got := tok.EncodeSpecial(nil, c.text, true)
			if !slices.Equal(got, c.special) {
				t.Errorf("EncodeSpecial(%q): got %v, want %v", c.text, got, c.special)
			}
			if text := tok.Decode(got); text != c.decoded {
				t.Errorf("Decode(%v): got %q, want %q", got, text, c.decoded)
			}
		})
	}
}

func TestVocabulary(t *testing.T) {
	tok, err := ParseJSON([]byte(wordPieceFile))
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := tok.ID("##aff"); id != 4 || !ok || tok.Text(4) != "##aff" || tok.VocabSize() != 11 {
		t.Errorf("ID %d, %v; Text %q; VocabSize %d", id, ok, tok.Text(4), tok.VocabSize())
	}
	if bos, ok := tok.BOS(); bos != 1 || !ok || !tok.IsSpecial(2) || tok.IsSpecial(3) {
		t.Errorf("BOS %d, %v", bos, ok)
	}
	if kind := tok.Kind(); kind != "WordPiece" {
		t.Errorf("Kind %q", kind)
	}
	if got := tok.Added(); !slices.Equal(got, []string{"[UNK]", "[CLS]", "[SEP]"}) {
		t.Errorf("Added %q", got)
	}
	var b []byte
	for _, id := range []int32{1, 3, 4, 5, 6, 99} {
		b = tok.AppendBytes(b, id)
	}
	if string(b) != " unaffable hello" {
		t.Errorf("AppendBytes: %q", b)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		name, file  string
		unsupported bool
	}{
		{"BPE", `{"model": {"type": "BPE", "vocab": {}, "merges": []}}`, true},
		{"no model", `{}`, true},
		{"null", `null`, false},
		{"no JSON", `{`, false},
		{"no vocabulary", `{"model": {"type": "WordPiece"}}`, false},
		{"vocabulary of another type", `{"model": {"type": "Unigram", "vocab": {"a": 1}}}`, false},
		{"normalizer without type", `{"normalizer": {}, "model": {"type": "WordPiece", "vocab": {"a": 1}}}`, false},
		{"an added token of another id", strings.Replace(wordPieceFile, `"id": 2,`, `"id": 20,`, 1), false},
		{"a negative id", strings.Replace(wordPieceFile, `"un": 3`, `"un": -3`, 1), false},
		{"an id twice", strings.Replace(wordPieceFile, `"un": 3`, `"un": 4`, 1), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := ParseJSON([]byte(c.file)); err == nil || errors.Is(err, ErrUnsupported) != c.unsupported {
				t.Errorf("got %v; want an error, unsupported: %v", err, c.unsupported)
			}
		})
	}
}

// The post-processor's tokens stand before and after a text.
func TestEnding(t *testing.T) {
	for processor, want := range map[string][2][]int32{
		`null`: {},
		`{"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}`:                                                                           {{1}, {2}},
		`{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "x"}}], "special_tokens": {"x": {"ids": [2, 1]}}}`: {nil, {2, 1}},
	} {
		var file map[string]any
		if err := json.Unmarshal([]byte(wordPieceFile), &file); err != nil {
			t.Fatal(err)
		}
		file["post_processor"] = json.RawMessage(processor)
		data, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := ParseJSON(data)
		if err != nil {
			t.Fatal(err)
		}
		if before, after := tok.EncodeSpecial(nil, "", true), tok.Template().After(); !slices.Equal(before, want[0]) || !slices.Equal(after, want[1]) {
			t.Errorf("%s: %v before a text and %v after it, want %v", processor, before, after, want)
		}
	}
	for _, wrong := range []string{`{"type": "BertProcessing", "cls": ["[CLS]", 1]}`, `{"type": "BertProcessing", "sep": ["[SEP]", 99], "cls": ["[CLS]", 1]}`} {
		if _, err := ParseJSON([]byte(strings.Replace(wordPieceFile, `"decoder"`, `"post_processor": `+wrong+`, "decoder"`, 1))); err == nil {
			t.Errorf("%s is no error", wrong)
		}
	}
}
