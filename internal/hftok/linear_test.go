package hftok

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/linear"
)

// Encode takes time linear in the text, whatever the text and the model.
func TestLinear(t *testing.T) {
	effort.Turn(t, 8)
	pairs := [][]any{{"<unk>", 0.0}}
	ids := document{"[UNK]": 0}
	for n := 1; n <= maxPieceLen; n += n/8 + 1 {
		for _, c := range []string{"a", "=", "7"} {
			pairs = append(pairs, []any{strings.Repeat(c, n), -float64(n)}, []any{strings.Repeat(c, n-1) + "b", -1.5})
			for _, text := range []string{strings.Repeat(c, n), "##" + strings.Repeat(c, n-1) + "b"} {
				if _, ok := ids[text]; !ok {
					ids[text] = len(ids)
				}
			}
		}
	}
	seen := map[any]bool{}
	unique := pairs[:0]
	for _, p := range pairs {
		if !seen[p[0]] {
			unique = append(unique, p)
		}
		seen[p[0]] = true
	}
	metaspace := func(split bool) document {
		return document{"type": "Metaspace", "replacement": spaceMark, "prepend_scheme": "always", "split": split}
	}
	charsmap := document{"type": "Precompiled", "precompiled_charsmap": charsmapOf(map[string]string{"\uFDFA": "xxxx", "\n": " ", "e\u0301": "E"})}
	added := []document{{"id": 5000, "content": "<s>", "lstrip": true, "rstrip": true}, {"id": 5001, "content": "  ", "lstrip": true, "normalized": true},
		{"id": 5002, "content": strings.Repeat("=", 900) + ">", "single_word": true}}
	for name, tok := range map[string]*Tokenizer{
		"Unigram":            parseModel(t, document{"type": "Unigram", "unk_id": 0, "vocab": unique}, document{"pre_tokenizer": metaspace(true), "added_tokens": added}),
		"Unigram as a whole": parseModel(t, document{"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": unique}, document{"pre_tokenizer": metaspace(false), "normalizer": charsmap}),
		"WordPiece": parseModel(t, document{"type": "WordPiece", "unk_token": "[UNK]", "vocab": ids}, document{
			"normalizer": document{"type": "BertNormalizer"}, "pre_tokenizer": document{"type": "BertPreTokenizer"}, "added_tokens": added}),
		"WordPiece, endless words": parseModel(t, document{"type": "WordPiece", "unk_token": "[UNK]", "vocab": ids, "max_input_chars_per_word": 1 << 30}, nil),
		"WordLevel, every step": parseModel(t, document{"type": "WordLevel", "unk_token": "[UNK]", "vocab": ids}, document{
			"normalizer": document{"type": "Sequence", "normalizers": []document{{"type": "Nmt"}, {"type": "NFKC"}, {"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
				{"type": "Strip", "strip_left": true, "strip_right": true}, {"type": "Replace", "pattern": document{"Regex": " {2,}|a+b"}, "content": "_"}, {"type": "Prepend", "prepend": "x"}}},
			"pre_tokenizer": document{"type": "Sequence", "pretokenizers": []document{{"type": "Digits"}, {"type": "Whitespace"},
				{"type": "Punctuation", "behavior": "Contiguous"}, {"type": "CharDelimiterSplit", "delimiter": "b"}}}}),
	} {
		const n = 1 << 15
		texts := linear.Texts(n)
		for i, kind := range slices.Sorted(maps.Keys(texts)) {
			if !effort.Share(i+len(name), 3) {
				continue
			}
			text := texts[kind]
			t.Run(name+"/"+kind, func(t *testing.T) {
				linear.Check(t, n, func(n int) { tok.Encode(nil, text[:n]) })
				linear.Check(t, n, func(n int) { tok.EncodeSpecial(nil, text[:n], true) })
				if ids := tok.Encode(nil, text); len(ids) >= n/16 {
					linear.Check(t, len(ids), func(n int) { tok.Decode(ids[:n]) })
				}
			})
		}
	}
}
