package bpe

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
)

var (
	replaceSpaces = document{"type": "Replace", "pattern": document{"String": " "}, "content": "▁"}
	llama2Decoder = document{"type": "Sequence", "decoders": []document{
		{"type": "Replace", "pattern": document{"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
		{"type": "Strip", "content": " ", "start": 1, "stop": 0}}}
)

// metaspaceOf returns a Metaspace pre-tokenizer or decoder.
func metaspaceOf(scheme string, split bool) document {
	return document{"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}
}

// llama2 returns the SentencePiece fixture as a tokenizer.json with Llama 2's normalizer and decoder.
func llama2(t testing.TB) document {
	t.Helper()
	v := readVocab(t, "tokenizer/llama-spm-vocab.gguf")
	spm := sentencePiece(t)
	list, err := scoredMerges(spm.vocab, v.Scores)
	if err != nil {
		t.Fatal(err)
	}
	merges := make([][]string, len(list))
	for i, m := range list {
		merges[i] = []string{spm.Text(m.left), spm.Text(m.right)}
	}
	vocab := map[string]int{}
	for id, text := range v.Tokens {
		vocab[text] = id
	}
	model := document{"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true, "vocab": vocab, "merges": merges}
	return document{
		"added_tokens": []document{
			{"id": 0, "content": "<unk>", "special": true}, {"id": 1, "content": "<s>", "special": true}, {"id": 2, "content": "</s>", "special": true}},
		"normalizer":    document{"type": "Sequence", "normalizers": []document{{"type": "Prepend", "prepend": "▁"}, replaceSpaces}},
		"pre_tokenizer": nil,
		"decoder":       llama2Decoder,
		"model":         json.RawMessage(model.text(t)), // written once, not for each variant
	}
}

// The two sources of a SentencePiece vocabulary make the same tokenizer.
func TestSentencePieceJSON(t *testing.T) {
	gguf, tok := sentencePiece(t), llama2(t).parse(t)
	if tok.split == nil || gguf.split == nil {
		t.Error("words are not encoded one by one")
	}
	for _, text := range []string{"", " ", "Hello  world", "한국어 🦙\n\tx", "<s>", english(5000)} {
		want := gguf.Encode(nil, text)
		got := tok.Encode(nil, text)
		if !slices.Equal(got, want) {
			t.Errorf("Encode(%.60q)\ntokenizer.json %v\n          GGUF %v", text, got, want)
		}
		if back := tok.Decode(got); back != text {
			t.Errorf("Decode(Encode(%.60q)) = %.60q", text, back)
		}
	}
}

func TestSentencePiecePrefix(t *testing.T) {
	effort.Turn(t, 8)
	legacy := llama2(t)
	modern := func(scheme string) document {
		return legacy.with("normalizer", nil).with("pre_tokenizer", metaspaceOf(scheme, false))
	}
	// 15043 ▁Hello, 10994 Hello, 29871 ▁, 259 ▁▁, 3186 ▁world
	for _, c := range []struct {
		name string
		document
		text string
		want []int32
	}{
		{"Prepend: always", legacy, "Hello<s>Hello", []int32{15043, 1, 15043}},
		{"Prepend: even before a space", legacy, " Hello", []int32{29871, 15043}},
		{"first: the text's beginning only", modern("first"), "Hello<s>Hello", []int32{15043, 1, 10994}},
		{"first: not after a special token", modern("first"), "<s>Hello world", []int32{1, 10994, 3186}},
		{"first: not before a space", modern("first"), " Hello", []int32{15043}},
		{"always: after special tokens too", modern("always"), "<s>Hello", []int32{1, 15043}},
		{"always: not before a space", modern("always"), "<s> Hello", []int32{1, 15043}},
		{"never", modern("never"), "Hello", []int32{10994}},
		{"no Prepend", legacy.with("normalizer", replaceSpaces), "Hello", []int32{10994}},
		{"split: no run of spaces", legacy.with("normalizer", nil).with("pre_tokenizer", metaspaceOf("never", true)), "  Hello", []int32{29871, 15043}},
		{"no split: runs of spaces", modern("never"), "   Hello", []int32{259, 15043}},
		{"the space mark is a space", modern("never"), "▁Hello", []int32{15043}},
		{"a normalized added token takes the prefix", legacy.with("added_tokens", []document{{"id": 1, "content": "<s>", "special": true, "normalized": true}}),
			"<s>", []int32{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.parse(t).EncodeSpecial(nil, c.text, false); !slices.Equal(got, c.want) {
				t.Errorf("EncodeSpecial(%q): got %v, want %v", c.text, got, c.want)
			}
		})
	}
}

func TestEncodeContinuation(t *testing.T) {
	tok := llama2(t).with("normalizer", nil).with("pre_tokenizer", metaspaceOf("first", false)).parse(t)
	if got, want := tok.EncodeContinuation(tok.Encode(nil, "Hello"), "Hello"), []int32{15043, 10994}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSentencePieceDecode(t *testing.T) {
	legacy := llama2(t)
	metaspace := legacy.with("decoder", document{"type": "Sequence", "decoders": []document{metaspaceOf("first", false), {"type": "ByteFallback"}, {"type": "Fuse"}}})
	const b = 3 // the token <0x00>
	for _, c := range []struct {
		name string
		document
		ids  []int32
		want string
	}{
		{"one space is stripped", legacy, []int32{1, 29871, 15043, 2}, " Hello"},
		{"Metaspace: the first token's spaces", metaspace, []int32{1, 259, 15043, 3186}, " Hello world"},
		{"byte tokens", legacy, []int32{15043, b + 0xE2, b + 0x96, b + 0x81}, "Hello▁"},
		{"a run that is not UTF-8", legacy, []int32{b + 0xE2, b + 0x96, 15043, b + 0xFF, b + 'a'}, "\uFFFD\uFFFD Hello\uFFFD\uFFFD"},
		{"a special token does not end a run", legacy, []int32{b + 0xC3, 1, b + 0xA9}, "é"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.parse(t).Decode(c.ids); got != c.want {
				t.Errorf("Decode(%v): got %q, want %q", c.ids, got, c.want)
			}
		})
	}
}

func TestUnknownCharacters(t *testing.T) {
	d := document{
		"normalizer":    replaceSpaces,
		"pre_tokenizer": nil,
		"decoder":       document{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"},
		"model": document{"type": "BPE", "unk_token": "<unk>", "fuse_unk": true,
			"vocab": map[string]int{"<unk>": 0, "a": 1, "b": 2, "ab": 3, "<0x7A>": 4}, "merges": []string{"a b"}},
	}
	bytesToo := d.with("model.byte_fallback", true).with("decoder", llama2Decoder)
	for _, c := range []struct {
		name string
		document
		text string
		want []int32
	}{
		{"fused", d, "axyb z", []int32{1, 0, 2, 0}},
		{"one by one", d.with("model.fuse_unk", false), "axyb", []int32{1, 0, 0, 2}},
		{"dropped", d.with("model.unk_token", nil), "axyb", []int32{3}},
		{"bytes, all or none", bytesToo, "z\u017Az", []int32{4, 0, 4}},
		{"a byte that is a special token", bytesToo.with("added_tokens", []document{{"id": 4, "content": "<0x7A>", "special": true}}), "az", []int32{1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.parse(t).Encode(nil, c.text); !slices.Equal(got, c.want) {
				t.Errorf("Encode(%q): got %v, want %v", c.text, got, c.want)
			}
		})
	}
}

func TestFromVocab(t *testing.T) {
	pebble := readVocab(t, "pebble/gguf/pebble-Q4_K_M.gguf")
	tok, err := FromVocab(pebble)
	if err != nil {
		t.Fatal(err)
	}
	hf := pebbleJSON(t)
	for _, text := range []string{english(3000), "<|begin_of_text|>user<|eot_id|>", "한국어 🦙 \r\n"} {
		for _, bos := range []bool{false, true} {
			got, want := tok.EncodeSpecial(nil, text, bos && pebble.AddBOS), hf.EncodeSpecial(nil, text, bos && pebble.AddBOS)
			if !slices.Equal(got, want) {
				t.Errorf("EncodeSpecial(%.40q)\n          GGUF %v\ntokenizer.json %v", text, got, want)
			}
		}
	}
	if !slices.Equal(tok.Added(), hf.Added()) || tok.VocabSize() != hf.VocabSize() {
		t.Errorf("added tokens %q and %q, sizes %d and %d", tok.Added(), hf.Added(), tok.VocabSize(), hf.VocabSize())
	}

	spm := readVocab(t, "tokenizer/llama-spm-vocab.gguf")
	for _, c := range []struct {
		name   string
		change func(v *Vocab)
		want   string
	}{
		{"model", func(v *Vocab) { v.Model = "t5" }, `"t5"`},
		{"pre", func(v *Vocab) { v.Model, v.Pre = "gpt2", "kimi-k2" }, `"kimi-k2"`},
		{"types", func(v *Vocab) { v.Types = v.Types[1:] }, "types"},
		{"a type", func(v *Vocab) { v.Types[5] = 9 }, "type 9"},
		{"scores", func(v *Vocab) { v.Scores = nil }, "scores"},
		{"begin token", func(v *Vocab) { v.BOS = 1 << 20 }, "1048576"},
		{"no tokens", func(v *Vocab) { *v = Vocab{Model: "llama", BOS: -1, EOS: -1, Unknown: -1} }, "empty"},
		{"a text twice", func(v *Vocab) { v.Tokens[300] = v.Tokens[301] }, "300"},
		{"a long token", func(v *Vocab) { v.Tokens[300] = strings.Repeat("x", 1000) }, "1000"},
		{"a merge", func(v *Vocab) { v.Model, v.Pre, v.Merges = "gpt2", "llama-bpe", []string{"a b c"} }, "a b c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := spm
			v.Tokens, v.Types = slices.Clone(v.Tokens), slices.Clone(v.Types)
			c.change(&v)
			if _, err := FromVocab(v); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v; want an error with %s in it", err, c.want)
			}
		})
	}

	t.Run("tokens without text", func(t *testing.T) {
		v := spm
		v.Tokens = slices.Clone(v.Tokens)
		v.Tokens[300], v.Tokens[301] = "", ""
		if _, err := FromVocab(v); err != nil {
			t.Error(err)
		}
	})
}
