package hftok

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/huggingface"
)

// TestPlacesByCharsmap compares the places of tokens, after a precompiled normalizer, with those of Hugging Face's library.
func TestPlacesByCharsmap(t *testing.T) {
	library := huggingface.Start(t)
	m := charsmapOf(map[string]string{"ﬁ": "fi", "①": "1", "…": "...", "e\u0301": "é", "\u0001": "", "Ａ": "A", "\u3000": " ", "ﷺ": "صلى الله", "x\u0327": "x", "\u200d": ""})
	vocab := [][]any{{"<unk>", 0}}
	for _, r := range "abcdefghijklmnopqrstuvwxyzABC1éصلىاه.▁😀👩東" {
		vocab = append(vocab, []any{string(r), -1})
	}
	d := document{"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": []any{}, "decoder": nil, "post_processor": nil,
		"normalizer": document{"type": "Precompiled", "precompiled_charsmap": m}, "pre_tokenizer": document{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
		"model": document{"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": false}}
	tok := parseModel(t, d["model"].(document), document{"normalizer": d["normalizer"], "pre_tokenizer": d["pre_tokenizer"]})
	texts := []string{"a ﬁne ① … day", "\u0001ab\u0001c", "cafe\u0301 e\u0301e\u0301", "x\u0327y x\u0327\u0301", "ＡＢ\u3000a", "ﷺ a", "👩\u200d👩 😀", "\u0001", "東\u0001東…"}
	encodings, err := library.Encodings(d, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		ids, spans := tok.EncodeSpans(text)
		var got [][2]int
		for _, s := range spans {
			got = append(got, [2]int{utf8.RuneCountInString(text[:s.Start]), utf8.RuneCountInString(text[:s.End])})
		}
		if !slices.Equal(ids, encodings[i].IDs) || !slices.Equal(got, encodings[i].Places) {
			t.Errorf("%+q\n got %v at %v\nwant %v at %v", text, ids, got, encodings[i].IDs, encodings[i].Places)
		}
	}
}
