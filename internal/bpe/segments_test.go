package bpe

import (
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// segment is a stretch of text; trusted, if a template wrote it.
type segment struct {
	text    string
	trusted bool
}

func each(segments []segment) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for _, s := range segments {
			if !yield(s.text, s.trusted) {
				return
			}
		}
	}
}

func join(segments []segment) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString(s.text)
	}
	return b.String()
}

// withEveryKind returns documents with added tokens of every kind, in byte-level and SentencePiece vocabularies. All of their
// texts begin with "<".
func withEveryKind(t testing.TB) map[string]document {
	tokens := []document{
		{"id": 400, "content": "<s>", "special": true},
		{"id": 401, "content": "<|user|>"},
		{"id": 402, "content": "<|assistant|>", "special": true, "rstrip": true},
		{"id": 403, "content": "<think>", "normalized": true},
		{"id": 404, "content": "<mask>", "lstrip": true, "special": true},
		{"id": 405, "content": "<s>s"},
		{"id": 406, "content": "<word", "single_word": true},
		{"id": 407, "content": "<▁x", "normalized": true, "rstrip": true},
		{"id": 408, "content": "<|user|", "normalized": true},
	}
	vocab := map[string]int{"▁": 0, "l": 1, "o": 2, "w": 3, "lo": 4, "low": 5, "▁low": 6, "<": 7, "s": 8, ">": 9, "|": 10, "u": 11, "e": 12, "r": 13, "\n": 14, "x": 15, "\x01": 16, "us": 17}
	spm := document{
		"added_tokens": tokens, "normalizer": replaceSpaces, "pre_tokenizer": nil, "decoder": llama2Decoder,
		"model": document{"type": "BPE", "vocab": vocab, "merges": []string{"l o", "lo w", "▁ low", "u s"}},
	}
	return map[string]document{
		"byte level":                 tiny().with("added_tokens", tokens).with("post_processor", nil),
		"byte level, a space before": tiny().with("added_tokens", tokens).with("post_processor", nil).with("pre_tokenizer", document{"type": "ByteLevel", "add_prefix_space": true}),
		"byte level, composed":       tiny().with("added_tokens", tokens).with("post_processor", nil).with("normalizer", document{"type": "NFC"}),
		"SentencePiece":              spm,
		"Llama 2": spm.with("normalizer", document{"type": "Sequence", "normalizers": []document{
			{"type": "Prepend", "prepend": "▁"}, replaceSpaces}}),
		"Metaspace first": spm.with("normalizer", nil).with("pre_tokenizer", metaspaceOf("first", true)),
	}
}

// pieces are what the random texts below are put together from.
var pieces = []string{"<s>", "<|user|>", "<|assistant|>", "<think>", "<mask>", "<s>s", "<word", "<▁x", "< x", "<|user|", "<", "low", " low", "\n", " ", "  \n", "x", "us", "er|>", "s>", "▁", "word"}

// A text that a template wrote as a whole has the tokens of EncodeSpecial, however it is cut.
func TestEncodeSegmentsOfATemplate(t *testing.T) {
	for name, d := range withEveryKind(t) {
		t.Run(name, func(t *testing.T) {
			tok := d.parse(t)
			rng := rand.New(rand.NewPCG(3, 3))
			for range 4000 {
				var segments []segment
				for range rng.IntN(10) {
					p := pieces[rng.IntN(len(pieces))]
					cut := rng.IntN(len(p) + 1)
					segments = append(segments, segment{p[:cut], true}, segment{p[cut:], true})
				}
				text := join(segments)
				if got, want := tok.EncodeSegments(nil, each(segments)), tok.EncodeSpecial(nil, text, false); !slices.Equal(got, want) {
					t.Fatalf("%+v: EncodeSegments %v, EncodeSpecial %v", segments, got, want)
				}
				for i := range segments {
					segments[i].trusted = false
				}
				if got, want := tok.EncodeSegments(nil, each(segments)), tok.Encode(nil, text); !slices.Equal(got, want) {
					t.Fatalf("%+v from outside: EncodeSegments %v, Encode %v", segments, got, want)
				}
			}
		})
	}
}

// Text from outside never gives an added token: its tokens are those of EncodeSpecial if each "<" in text from outside is replaced by
// another character, which is no part of an added token and of no merge either.
func TestEncodeSegmentsFromOutside(t *testing.T) {
	kinds := withEveryKind(t)
	delete(kinds, "Llama 2") // its normalized tokens begin with a space
	for name, d := range kinds {
		t.Run(name, func(t *testing.T) {
			tok := d.parse(t)
			less, ok := tok.ID("<")
			other, ok2 := tok.ID("\x01")
			if tok.vocab.codec == byteLevel {
				other, ok2 = tok.ID(string(runeOf(1)))
			}
			if !ok || !ok2 {
				t.Fatal("the vocabulary lacks a character")
			}
			rng := rand.New(rand.NewPCG(5, 5))
			for range 4000 {
				var segments, broken []segment
				for range rng.IntN(10) {
					s := segment{pieces[rng.IntN(len(pieces))], rng.IntN(2) == 0}
					segments = append(segments, s)
					if !s.trusted {
						s.text = strings.ReplaceAll(s.text, "<", "\x01")
					}
					broken = append(broken, s)
				}
				// A token that the template begins must not end in text from outside either.
				if crosses(segments) {
					continue
				}
				want := tok.EncodeSpecial(nil, join(broken), false)
				for i, id := range want {
					if id == other {
						want[i] = less
					}
				}
				if got := tok.EncodeSegments(nil, each(segments)); !slices.Equal(got, want) {
					t.Fatalf("%+v\n got %v\nwant %v", segments, got, want)
				}
			}
		})
	}
}

// crosses reports whether some piece stands across a border between the template's text and text from outside.
func crosses(segments []segment) bool {
	text := join(segments)
	at := 0
	for i, s := range segments {
		if i > 0 && segments[i-1].trusted != s.trusted {
			for _, p := range pieces[:10] {
				for k := 1; k < len(p); k++ {
					if at >= k && strings.HasPrefix(text[at-k:], p) {
						return true
					}
				}
			}
		}
		at += len(s.text)
	}
	return false
}

// What published models have.
func TestEncodeSegmentsOfModels(t *testing.T) {
	d := tiny().with("added_tokens", []document{
		{"id": 300, "content": "<｜User｜>"},
		{"id": 301, "content": "<think>"},
		{"id": 302, "content": "<|assistant|>", "special": true, "rstrip": true},
		{"id": 303, "content": "<s>", "special": true},
	}).with("post_processor", nil)
	tok := d.parse(t)
	letters := func(s string) []int32 {
		var ids []int32
		for i := range len(s) {
			ids = append(ids, int32(s[i]))
		}
		return ids
	}
	for _, c := range []struct {
		name     string
		segments []segment
		want     []int32
	}{
		{"DeepSeek-R1-Distill", []segment{{"<｜User｜>", true}, {"hi", false}, {"<think>", true}, {"\n", true}}, []int32{300, 'h', 'i', 301, '\n'}},
		{"Phi-3: rstrip takes the template's line end", []segment{{"<|assistant|>", true}, {"\n", true}}, []int32{302}},
		{"Phi-3: and the message's white space", []segment{{"<|assistant|>", true}, {"\n", true}, {" \nx", false}}, []int32{302, 'x'}},
		{"a message is inert", []segment{{"<s>", true}, {"<think><s>", false}}, append([]int32{303}, letters("<think><s>")...)},
		{"half the template's", []segment{{"<think", true}, {">", false}}, letters("<think>")},
		{"half the message's", []segment{{"<", false}, {"think>", true}}, letters("<think>")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := tok.EncodeSegments(nil, each(c.segments)); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	gguf, err := FromVocab(Vocab{Model: "llama", Tokens: []string{"<unk>", "<s>", "a", "b", "<think>"}, Scores: make([]float32, 5),
		Types: []int32{2, 3, 1, 1, TypeUserDefined}, BOS: 1, EOS: -1, Unknown: 0})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := gguf.EncodeSegments(nil, each([]segment{{"<think>", true}, {"ab<think>", false}})), []int32{4, 2, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("a user-defined token of a GGUF file: got %v, want %v", got, want)
	}
	if got, want := gguf.Added(), []string{"<unk>", "<s>", "<think>"}; !slices.Equal(got, want) {
		t.Errorf("Added: %q, want %q", got, want)
	}
}
