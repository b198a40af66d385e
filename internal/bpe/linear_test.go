package bpe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/linear"
)

// Encode takes time linear in the text, or nearly, whatever the text and whatever the vocabulary's added tokens.
func TestLinear(t *testing.T) {
	whole := *sentencePiece(t)
	whole.split = nil
	// Added tokens that overlap, that are white space, and that texts hold only beginnings of.
	hard := []document{
		{"id": 300, "content": "  ", "lstrip": true},
		{"id": 301, "content": "\n\n", "lstrip": true, "rstrip": true},
		{"id": 302, "content": "__", "single_word": true, "lstrip": true, "rstrip": true},
		{"id": 303, "content": "<|eot_id|>", "lstrip": true, "normalized": true},
		{"id": 304, "content": strings.Repeat("a", 1000) + "b"},
		{"id": 305, "content": "c" + strings.Repeat("a", 1000)},
		{"id": 306, "content": strings.Repeat("7", 1000), "normalized": true, "single_word": true},
		{"id": 307, "content": strings.Repeat("=", 999) + ">"},
	}
	for i := range 200 {
		hard = append(hard, document{"id": 400 + i, "content": strings.Repeat("a", i+2), "single_word": i%2 == 0})
	}
	sentencePieces := withEveryKind(t)["SentencePiece"].with("added_tokens", hard)
	for i, tok := range []struct {
		name string
		*Tokenizer
	}{
		{"Llama 3", llama3(t)},
		{"SentencePiece", sentencePiece(t)},
		{"SentencePiece as a whole", &whole},
		{"GPT-2", tiny().with("pre_tokenizer", document{"type": "ByteLevel"}).parse(t)},
		{"Qwen", tiny().with("normalizer", document{"type": "NFC"}).with("pre_tokenizer", splits(qwen2Pattern)).parse(t)},
		{"DeepSeek", tiny().with("pre_tokenizer", splits(ruleOf("deepseek-llm").steps...)).parse(t)},
		{"hard added tokens", tiny().with("added_tokens", hard).with("post_processor", nil).parse(t)},
		{"hard added tokens, SentencePiece", sentencePieces.parse(t)},
	} {
		const n = 1 << 15
		texts := linear.Texts(n)
		for j, name := range slices.Sorted(maps.Keys(texts)) {
			if !effort.Share(i+j, 3) {
				continue
			}
			text := texts[name]
			t.Run(fmt.Sprintf("%s/%s", tok.name, name), func(t *testing.T) {
				linear.Check(t, n, func(n int) { tok.Encode(nil, text[:n]) })
				linear.Check(t, n, func(n int) { tok.EncodeSpecial(nil, text[:n], true) })
				linear.Check(t, n, func(n int) {
					tok.EncodeSegments(nil, func(yield func(string, bool) bool) {
						for i := 0; i < n; i += 64 {
							if !yield(text[i:i+64], i%256 == 0) {
								return
							}
						}
					})
				})
			})
		}
	}
}

// splits returns the pre-tokenizer that isolates the matches of expressions, before ByteLevel.
func splits(expressions ...string) document {
	var parts []document
	for _, e := range expressions {
		parts = append(parts, document{"type": "Split", "pattern": document{"Regex": e}, "behavior": "Isolated", "invert": false})
	}
	return document{"type": "Sequence", "pretokenizers": append(parts, document{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})}
}
