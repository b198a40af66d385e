//go:build !(386 || arm || mips || mipsle)

// The library does not compile where int has 32 bits: its constant for 2 GiB overflows.

// Package sugarme compares internal/hftok with an independent tokenizer. It is a module of its own, so that the module it tests does not
// require that library.
package sugarme

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/hftok"
	"github.com/sugarme/tokenizer"
	"github.com/sugarme/tokenizer/pretrained"
)

// library is an independent reader of the same files, which hftok was built on before. It takes quadratic time and
// panics on input that it does not expect, so it is asked for short texts only.
type library struct{ *tokenizer.Tokenizer }

func newLibrary(t *testing.T, file string) library {
	t.Helper()
	tok, err := pretrained.FromReader(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return library{tok}
}

// encode returns the library's tokens, and whether it did not panic.
func (l library) encode(text string) (ids []int32, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	e, err := l.Encode(tokenizer.NewSingleEncodeInput(tokenizer.NewInputSequence(text)), false)
	if err != nil {
		return nil, false
	}
	for _, id := range e.Ids {
		ids = append(ids, int32(id))
	}
	return ids, true
}

// randomWord returns 1 to n characters that are no white space.
func randomWord(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range 1 + rng.IntN(n) {
		b.WriteRune([]rune("aabbcd한字.,!")[rng.IntN(11)])
	}
	return b.String()
}

func TestAgainstSugarme(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	marshal := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	texts := map[string]int{"[UNK]": 0}
	pairs := [][]any{{"<unk>", 0}, {"▁", -3.5}}
	seen := map[string]bool{"<unk>": true, "▁": true}
	for range 400 {
		w := randomWord(rng, 4)
		for _, text := range []string{w, "##" + w} {
			if _, ok := texts[text]; !ok && rng.IntN(3) > 0 {
				texts[text] = len(texts)
			}
		}
		for _, text := range []string{w, "▁" + w} {
			if !seen[text] && rng.IntN(3) > 0 {
				seen[text] = true
				pairs = append(pairs, []any{text, -float64(rng.IntN(5<<20)*len(w)) / (1 << 20)}) // sums are exact
			}
		}
	}
	const added = `"added_tokens": [{"id": 0, "content": %q, "special": true}], "decoder": null, "post_processor": null,`
	words := fmt.Sprintf(added, "[UNK]")
	scores := fmt.Sprintf(added, "<unk>")
	for name, file := range map[string]string{
		"WordPiece": `{` + words + `"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": false, "lowercase": true},
			"pre_tokenizer": {"type": "BertPreTokenizer"},
			"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9, "vocab": ` + marshal(texts) + `}}`,
		"WordLevel": `{` + words + `"normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
			"model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": ` + marshal(texts) + `}}`,
		"Unigram": `{` + scores + `"normalizer": null, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "add_prefix_space": true, "split": true},
			"model": {"type": "Unigram", "unk_id": 0, "vocab": ` + marshal(pairs) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			tok, err := hftok.ParseJSON([]byte(file))
			if err != nil {
				t.Fatal(err)
			}
			lib := newLibrary(t, file)
			compared := 0
			for range 1500 {
				var words []string
				for range 1 + rng.IntN(4) {
					words = append(words, randomWord(rng, 12))
				}
				text := strings.Join(words, " ")
				want, ok := lib.encode(text)
				if !ok {
					continue
				}
				compared++
				got := tok.EncodeSpecial(nil, text, false)
				// Of ways that are equally likely, such as "a aa" and "aa a", the library takes another than Hugging Face's.
				if name == "Unigram" {
					slices.Sort(got)
					slices.Sort(want)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%q\n    got %v\nlibrary %v", text, got, want)
				}
			}
			if compared < 1000 {
				t.Errorf("the library encodes %d texts", compared)
			}
		})
	}
}
