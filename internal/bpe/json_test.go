package bpe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
)

// document is a tokenizer.json in the making.
type document map[string]any

// tiny returns a byte-level tokenizer.json: the 256 bytes, the merges "l o", "lo w" and "Ġ low", and the special tokens
// <s> and </s>. The tokens of the bytes have the bytes' values as ids.
func tiny() document {
	vocab := map[string]int{}
	for b := range 256 {
		vocab[string(runeOf(byte(b)))] = b
	}
	vocab["lo"], vocab["low"], vocab["Ġlow"] = 256, 257, 258
	return document{
		"version":      "1.0",
		"added_tokens": []document{{"id": 259, "content": "<s>", "special": true}, {"id": 260, "content": "</s>", "special": true}},
		"normalizer":   nil,
		"pre_tokenizer": document{"type": "Sequence", "pretokenizers": []document{
			{"type": "Split", "pattern": document{"Regex": Llama3Pattern}, "behavior": "Isolated", "invert": false},
			{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
		}},
		"post_processor": document{
			"type":           "TemplateProcessing",
			"single":         []document{{"SpecialToken": document{"id": "<s>", "type_id": 0}}, {"Sequence": document{"id": "A", "type_id": 0}}},
			"special_tokens": document{"<s>": document{"id": "<s>", "ids": []int{259}, "tokens": []string{"<s>"}}},
		},
		"decoder": document{"type": "ByteLevel"},
		"model": document{
			"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": "", "end_of_word_suffix": nil,
			"vocab": vocab, "merges": []any{"l o", []string{"lo", "w"}, "Ġ low"},
		},
	}
}

// with returns the document with one member replaced; path names it, "model.type" for instance.
func (d document) with(path string, value any) document {
	d = maps.Clone(d)
	name, rest, nested := strings.Cut(path, ".")
	if nested {
		value = d[name].(document).with(rest, value)
	}
	d[name] = value
	return d
}

func (d document) text(t testing.TB) []byte {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (d document) parse(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := ParseJSON(d.text(t))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestParseJSON(t *testing.T) {
	tok := tiny().parse(t)
	if got, want := tok.EncodeSpecial(nil, "low low</s>", true), []int32{259, 257, 258, 260}; !slices.Equal(got, want) {
		t.Errorf("EncodeSpecial: got %v, want %v", got, want)
	}
	if got, want := tok.Encode(nil, "</s>"), []int32{'<', '/', 's', '>'}; !slices.Equal(got, want) {
		t.Errorf("Encode: got %v, want %v", got, want)
	}
	if got := tok.Decode([]int32{259, 257, 258, -1, 1 << 20, 260}); got != "low low" {
		t.Errorf("Decode: got %q", got)
	}
	if id, ok := tok.ID("Ġlow"); id != 258 || !ok {
		t.Errorf(`ID("Ġlow") = %d, %v`, id, ok)
	}
	if _, ok := tok.ID(" low"); ok {
		t.Error(`" low" is the bytes, not the text, of a token`)
	}
	if got := tok.Text(258) + tok.Text(260) + tok.Text(-1) + tok.Text(261); got != "Ġlow</s>" {
		t.Errorf("Text: got %q", got)
	}
	if got := tok.AppendBytes(nil, 258); string(got) != " low" {
		t.Errorf("AppendBytes: got %q", got)
	}
	if got := tok.AppendBytes(nil, 259); len(got) != 0 {
		t.Errorf("AppendBytes of a special token: got %q", got)
	}
	if got := tok.Added(); !slices.Equal(got, []string{"<s>", "</s>"}) {
		t.Errorf("Added: got %q", got)
	}
	if bos, ok := tok.BOS(); bos != 259 || !ok || tok.VocabSize() != 261 || !tok.IsSpecial(260) || tok.IsSpecial(258) {
		t.Errorf("BOS %d, %v; VocabSize %d", bos, ok, tok.VocabSize())
	}
}

// TestAddedWords has added words of letters that the byte alphabet has, too: they stand for themselves, in a tokenizer.json and in a GGUF file.
func TestAddedWords(t *testing.T) {
	words := []string{"café", "čađ", "Ġa", "naïve ñandú", "한글"}
	d := tiny()
	list := d["added_tokens"].([]document)
	for i, word := range words {
		list = append(list, document{"id": 300 + i, "content": word, "special": false})
	}
	tokens := map[string]*Tokenizer{"tokenizer.json": d.with("added_tokens", list).parse(t)}
	v := Vocab{Model: "gpt2", Pre: "llama-bpe"}
	for b := range 256 {
		v.Tokens, v.Types = append(v.Tokens, string(runeOf(byte(b)))), append(v.Types, TypeNormal)
	}
	for _, word := range words {
		v.Tokens, v.Types = append(v.Tokens, word), append(v.Types, TypeUserDefined)
	}
	var err error
	if tokens["GGUF"], err = FromVocab(v); err != nil {
		t.Fatal(err)
	}
	for name, tok := range tokens {
		for _, word := range words {
			text := "un " + word + " noir"
			got := tok.EncodeSpecial(nil, text, false)
			if id, ok := tok.ID(word); !ok || !slices.Contains(got, id) || tok.Text(id) != word {
				t.Errorf("%s: %q is %v, without its token %d, %q", name, text, got, id, tok.Text(id))
			}
			if back := tok.Decode(got); back != text {
				t.Errorf("%s: %q comes back as %q", name, text, back)
			}
		}
	}
}

func TestParseJSONVariants(t *testing.T) {
	byteLevel := func(prefix, regex bool) document {
		return document{"type": "ByteLevel", "add_prefix_space": prefix, "use_regex": regex}
	}
	low := tiny().with("model.vocab", func() map[string]int {
		v := maps.Clone(tiny()["model"].(document)["vocab"].(map[string]int))
		v["wo"] = 261
		return v
	}()).with("model.merges", []string{"w o", "l o"})
	for _, c := range []struct {
		name string
		document
		text string
		want []int32
	}{
		{"GPT-2's pattern", tiny().with("pre_tokenizer", byteLevel(false, true)), "low low", []int32{257, 258}},
		{"GPT-2 with a space before", tiny().with("pre_tokenizer", byteLevel(true, true)), "low", []int32{258}},
		{"a space before, which is there", tiny().with("pre_tokenizer", byteLevel(true, true)), " low", []int32{258}},
		{"no split", tiny().with("pre_tokenizer", byteLevel(false, false)), "\nlow", []int32{10, 257}},
		{"lowest rank first", low, "lowo", []int32{256, 261}},
		{"ignore_merges", tiny().with("model.merges", []string{}).with("model.ignore_merges", true), "low", []int32{257}},
		{"merges that make a special token", tiny().with("added_tokens", []document{{"id": 256, "content": "lo", "special": true}, {"id": 259, "content": "<s>"}}), "low", []int32{'l', 'o', 'w'}},
		{"escapes", tiny(), "l\u006fw", []int32{257}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.parse(t).Encode(nil, c.text); !slices.Equal(got, c.want) {
				t.Errorf("Encode(%q): got %v, want %v", c.text, got, c.want)
			}
		})
	}
}

func TestParseJSONErrors(t *testing.T) {
	vocab := func(text string, id int) map[string]int { return map[string]int{"a": 0, text: id} }
	split := func(pattern, behavior string) document {
		return document{"type": "Sequence", "pretokenizers": []document{
			{"type": "Split", "pattern": document{"Regex": pattern}, "behavior": behavior},
			{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
		}}
	}
	for _, c := range []struct {
		name string
		document
		unsupported bool
		want        string // part of the message
	}{
		{"WordPiece", tiny().with("model.type", "WordPiece"), true, `"WordPiece"`},
		{"Unigram", tiny().with("model.type", "Unigram").with("model.vocab", []any{[]any{"a", -1.5}}), true, `"Unigram"`},
		{"dropout", tiny().with("model.dropout", 0.1), true, "dropout"},
		{"subword prefix", tiny().with("model.continuing_subword_prefix", "##"), true, "##"},
		{"normalizer", tiny().with("normalizer", document{"type": "Lowercase"}), true, `"Lowercase"`},
		{"pattern", tiny().with("pre_tokenizer", split(`(?<=a)b`, "Isolated")), true, `"Split"`},
		{"behaviour", tiny().with("pre_tokenizer", split(Llama3Pattern, "Sideways")), false, `Split: "behavior": is "Sideways"`},
		{"pre-tokenizer", tiny().with("pre_tokenizer", document{"type": "Whitespace"}), true, `"Whitespace"`},
		{"post-processor", tiny().with("post_processor", document{"type": "Morse"}), true, `"Morse"`},
		{"an end without an id", tiny().with("post_processor", document{"type": "BertProcessing", "sep": []any{"[SEP]", 1}}), false, `"cls" of BertProcessing`},
		{"decoder", tiny().with("decoder", document{"type": "WordPiece"}), true, `"WordPiece"`},
		{"no decoder", tiny().with("decoder", nil), true, "decoder"},
		{"no model", tiny().with("model", nil), false, "no model"},
		{"template names no token", tiny().with("post_processor.special_tokens", document{}), false, "<s>"},
		{"template names an unknown id", tiny().with("added_tokens", []document{}), false, "259"},
		{"an id twice", tiny().with("model.vocab", vocab("b", 0)), false, "id 0"},
		{"an id far above the others", tiny().with("model.vocab", vocab("b", 1<<20)), false, "1048576"},
		{"an id out of range", tiny().with("model.vocab", vocab("b", 1<<24)), false, "16777216"},
		{"a negative id", tiny().with("model.vocab", vocab("b", -1)), false, "digit"},
		{"an added token of another id", tiny().with("added_tokens", []document{{"id": 5, "content": "<s>"}}), false, "<s>"},
		{"a known text with another id", tiny().with("added_tokens", []document{{"id": 259, "content": "<s>"}, {"id": 300, "content": "a"}}), false, `"a"`},
		{"an added id twice", tiny().with("added_tokens", []document{{"id": 259, "content": "<s>"}, {"id": 259, "content": "<t>"}}), false, "259"},
		{"a merge of an unknown token", tiny().with("model.merges", []string{"l oo"}), false, `"oo"`},
		{"a merge into an unknown token", tiny().with("model.merges", []string{"o o"}), false, `"oo"`},
		{"a merge of three", tiny().with("model.merges", []any{[]string{"l", "o", "w"}}), false, "','"},
		{"a merge without a space", tiny().with("model.merges", []string{"lo"}), false, "lo"},
		{"an unknown unknown token", tiny().with("model.unk_token", "<unk>"), false, "<unk>"},
		{"an endless added token", tiny().with("added_tokens", []document{{"id": 259, "content": strings.Repeat("x", 2000)}}), false, "2000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseJSON(c.text(t))
			if err == nil || errors.Is(err, ErrUnsupported) != c.unsupported || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v; want an error with %s in it, unsupported: %v", err, c.want, c.unsupported)
			}
		})
	}
}

func TestAddedTokens(t *testing.T) {
	added := func(tokens ...document) *Tokenizer {
		all := []document{{"id": 259, "content": "<s>", "special": true}}
		for i, d := range tokens {
			all = append(all, d.with("id", 260+i))
		}
		return tiny().with("added_tokens", all).parse(t)
	}
	type ids = []int32
	for _, c := range []struct {
		name string
		*Tokenizer
		text string
		want ids
	}{
		{"plain", added(document{"content": "<x>"}), "a<x> b", ids{'a', 260, ' ', 'b'}},
		{"adjacent", added(document{"content": "<x>"}), "<x><x>", ids{260, 260}},
		{"longest", added(document{"content": "<x>"}, document{"content": "<x>y"}), "<x>y<x>", ids{261, 260}},
		{"leftmost", added(document{"content": "ab"}, document{"content": "bcd"}), "abcd", ids{260, 'c', 'd'}},
		{"lstrip", added(document{"content": "<x>", "lstrip": true}), "a \t<x> b", ids{'a', 260, ' ', 'b'}},
		{"rstrip", added(document{"content": "<x>", "rstrip": true}), "a <x> \u3000b", ids{'a', ' ', 260, 'b'}},
		{"both", added(document{"content": "<x>", "lstrip": true, "rstrip": true}), " <x>  <x> ", ids{260, 260}},
		{"rstrip before a token that begins with a space", added(document{"content": "<x>", "rstrip": true}, document{"content": " y"}), "<x> y", ids{260, 'y'}},
		{"single word", added(document{"content": "ox", "single_word": true}), "ox box oxen ox_ ox.", ids{260, ' ', 'b', 'o', 'x', ' ', 'o', 'x', 'e', 'n', ' ', 'o', 'x', '_', ' ', 260, '.'}},
		{"normalized comes second", added(document{"content": "x>", "normalized": true}), "<s>x><s", ids{259, 260, '<', 's'}},
		{"beginning only", added(document{"content": "<x>"}), "<x", ids{'<', 'x'}},
		{"empty content", added(document{"content": ""}), "a", ids{'a'}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.EncodeSpecial(nil, c.text, false); !slices.Equal(got, c.want) {
				t.Errorf("EncodeSpecial(%q): got %v, want %v", c.text, got, c.want)
			}
			if got := c.Decode(c.Encode(nil, c.text)); got != c.text {
				t.Errorf("Decode(Encode(%q)) = %q", c.text, got)
			}
		})
	}
}

// The order of added_tokens says nothing. In the vocabulary here, "low" is a token of the model that an entry of added_tokens
// makes special; the others are new, and each of them makes the builder's list of tokens grow.
func TestOrderOfAddedTokens(t *testing.T) {
	effort.Turn(t, 8)
	added := []document{
		{"id": 257, "content": "low", "special": true},
		{"id": 256, "content": "lo", "special": false},
		{"id": 259, "content": "<s>", "special": true},
		{"id": 260, "content": " <x>", "normalized": true},
		{"id": 261, "content": "<x", "rstrip": true},
		{"id": 262, "content": "</s>", "special": true, "lstrip": true},
		{"id": 263, "content": "lower", "single_word": true},
	}
	for id := 264; id < 600; id++ { // more than the slice of tokens has room for
		added = append(added, document{"id": id, "content": fmt.Sprintf("<%d>", id), "special": id%3 == 0})
	}
	const text = "low lower lowest <s> <x> <x>  <x </s><264> <265><266>"
	want := tiny().with("added_tokens", added).parse(t)
	rng := rand.New(rand.NewPCG(4, 4))
	for range effort.Of(50, 200, 200) {
		rng.Shuffle(len(added), func(i, j int) { added[i], added[j] = added[j], added[i] })
		got := tiny().with("added_tokens", added).parse(t)
		for id := range int32(want.VocabSize()) {
			if got.IsSpecial(id) != want.IsSpecial(id) || got.Text(id) != want.Text(id) {
				t.Fatalf("token %d is %q, special %v; in another order %q, special %v", id, got.Text(id), got.IsSpecial(id), want.Text(id), want.IsSpecial(id))
			}
		}
		for _, encode := range []func(*Tokenizer) []int32{
			func(tok *Tokenizer) []int32 { return tok.Encode(nil, text) },
			func(tok *Tokenizer) []int32 { return tok.EncodeSpecial(nil, text, true) },
		} {
			if got, want := encode(got), encode(want); !slices.Equal(got, want) {
				t.Fatalf("%q gives %v, in another order %v", text, got, want)
			}
		}
	}
}

// FuzzParseJSON looks for files that make reading or using a tokenizer panic.
func FuzzParseJSON(f *testing.F) {
	small := tiny().with("model.vocab", map[string]int{"a": 0, "b": 1, "ab": 2, "<0x41>": 3, "▁": 4}).
		with("model.merges", []any{"a b"}).with("added_tokens", []document{{"id": 5, "content": "<s>", "special": true}}).
		with("post_processor", nil)
	f.Add(small.text(f))
	f.Add(small.with("normalizer", document{"type": "Sequence", "normalizers": []document{
		{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": document{"String": " "}, "content": "▁"}}}).
		with("pre_tokenizer", nil).with("decoder", document{"type": "Sequence", "decoders": []document{
		{"type": "Replace", "pattern": document{"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
		{"type": "Strip", "content": " ", "start": 1, "stop": 0}}}).with("model.byte_fallback", true).text(f))
	f.Add(small.with("pre_tokenizer", document{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false}).
		with("decoder", document{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}).text(f))
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"\u0120\ud83d\ude00":0},"merges":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tok, err := ParseJSON(data)
		if err != nil {
			return
		}
		text := "ab A▁ <s>b\xff" + tok.Text(0)
		for _, ids := range [][]int32{tok.Encode(nil, text), tok.EncodeSpecial(nil, text, true)} {
			for _, id := range ids {
				if id < 0 || int(id) >= tok.VocabSize() {
					t.Errorf("id %d in a vocabulary of %d", id, tok.VocabSize())
				}
			}
			tok.Decode(ids)
		}
		for id := range min(int32(tok.VocabSize()), 1000) {
			if text := tok.Text(id); text != "" {
				if back, ok := tok.ID(text); !ok || back != id {
					t.Errorf("ID(Text(%d)) = %d, %v", id, back, ok)
				}
			}
		}
	})
}

// The tokens after a text in the post-processor's template, or by GGUF's add_eos_token, follow texts that are embedded.
func TestEnding(t *testing.T) {
	d := tiny()
	if got := d.parse(t).Template().After(); got != nil {
		t.Errorf("%v follows a text", got)
	}
	both := document{
		"type":           "TemplateProcessing",
		"single":         []document{{"SpecialToken": document{"id": "<s>"}}, {"Sequence": document{"id": "A"}}, {"SpecialToken": document{"id": "</s>"}}},
		"special_tokens": document{"<s>": document{"ids": []int{259}}, "</s>": document{"ids": []int{260}}},
	}
	tok := d.with("post_processor", document{"type": "Sequence", "processors": []document{{"type": "ByteLevel"}, both}}).parse(t)
	if got := tok.Template().After(); !slices.Equal(got, []int32{260}) {
		t.Errorf("%v follows a text", got)
	}
	if got := tok.EncodeSpecial(nil, "low", true); !slices.Equal(got, []int32{259, 257}) {
		t.Errorf("EncodeSpecial gives %v", got)
	}
	for _, add := range []bool{false, true} {
		tok, err := FromVocab(Vocab{Model: SentencePieceModel, Tokens: []string{"<unk>", "<s>", "</s>", "a"}, Scores: make([]float32, 4),
			Types: []int32{TypeUnknown, TypeControl, TypeControl, TypeNormal}, BOS: 1, EOS: 2, AddEOS: add})
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Template().After(); slices.Equal(got, []int32{2}) != add {
			t.Errorf("add_eos_token %v: %v follows a text", add, got)
		}
	}
}
