package huggingface_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/aligned"
	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/hftok"
	"github.com/antigravity-go/antigravity/internal/huggingface"
	"github.com/antigravity-go/antigravity/internal/postprocess"
)

var (
	tokenizers = flag.Int("tokenizers", 300, "how many random tokenizers are compared with Hugging Face's library")
	seed       = flag.Uint64("seed", 1, "of the random tokenizers")
)

// document is a part of a tokenizer.json.
type document = map[string]any

// tokenizer is what both packages of tokenizers implement.
type tokenizer interface {
	EncodeSpecial(dst []int32, text string, bos bool) []int32
	EncodeSpans(text string) ([]int32, []aligned.Span)
	Decode(tokens []int32) string
	Template() *postprocess.Template
	Text(id int32) string
}

// places returns the places of a text's tokens, in characters, if no added token is in the text: then ids are all of its tokens.
func places(tok tokenizer, text string) (ids []int32, list [][2]int) {
	if slices.ContainsFunc(addedTexts, func(added string) bool { return strings.Contains(text, added) }) {
		return nil, nil
	}
	ids, spans := tok.EncodeSpans(text)
	if !slices.Equal(ids, tok.EncodeSpecial(nil, text, false)) {
		return nil, nil
	}
	tok.Template().Trim(ids, spans, tok.Text)
	for _, s := range spans {
		list = append(list, [2]int{utf8.RuneCountInString(text[:s.Start]), utf8.RuneCountInString(text[:s.End])})
	}
	return ids, list
}

// TestRandomTokenizers makes tokenizers with random models, normalizers, pre-tokenizers, added tokens and post-processors. Each must be refused
// or give the tokens that Hugging Face's library gives, and decode them alike.
func TestRandomTokenizers(t *testing.T) {
	library := huggingface.Start(t)
	compared, refused, foreign := 0, 0, 0
	for i := range uint64(*tokenizers) {
		g := generator{rand.New(rand.NewPCG(*seed, i))}
		d := g.tokenizer()
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		texts := make([]string, 40)
		for i := range texts {
			texts[i] = g.text()
		}
		want, err := library.Encodings(d, texts)
		if err != nil {
			foreign++
			continue
		}
		var tok tokenizer
		if tok, err = hftok.ParseJSON(data); errors.Is(err, hftok.ErrModel) {
			tok, err = bpe.ParseJSON(data)
		}
		if err != nil {
			if !errors.Is(err, hftok.ErrUnsupported) && !errors.Is(err, bpe.ErrUnsupported) {
				t.Errorf("%s\nis an error that is not ErrUnsupported: %v", essence(d), err)
			}
			refused++
			continue
		}
		compared++
		for j, text := range texts {
			got := tok.EncodeSpecial(nil, text, true)
			if !slices.Equal(got, want[j].IDs) {
				t.Errorf("%s\n%+q\nis %v, and %v in the library", essence(d), text, got, want[j].IDs)
				break
			}
			if ids, list := places(tok, text); ids != nil && !slices.Equal(list, want[j].Places[len(got)-len(ids):]) {
				t.Errorf("%s\n%+q\nhas tokens %v at %v, and at %v in the library", essence(d), text, ids, list, want[j].Places[len(got)-len(ids):])
				break
			}
			if decoded := tok.Decode(got); decoded != want[j].Text && !g.decodesOtherwise(d) {
				t.Errorf("%s\n%+q, tokens %v,\ndecodes to %+q, and to %+q in the library", essence(d), text, got, decoded, want[j].Text)
				break
			}
		}
	}
	t.Logf("%d tokenizers compared, %d refused here, %d refused by the library", compared, refused, foreign)
	if compared < *tokenizers/4 {
		t.Errorf("only %d of %d tokenizers were compared", compared, *tokenizers)
	}
}

// essence is a tokenizer without its vocabulary.
func essence(d document) string {
	d = maps.Clone(d)
	model := maps.Clone(d["model"].(document))
	delete(model, "vocab")
	delete(model, "merges")
	d["model"] = model
	text, err := json.Marshal(d)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// generator makes random tokenizers and texts.
type generator struct{ *rand.Rand }

func (g generator) one(of ...string) string { return of[g.IntN(len(of))] }

func (g generator) coin() bool { return g.IntN(2) == 0 }

// letters are what words are made of: of several scripts, with and without accents, and some that are easily taken for something else.
var letters = []rune("aabbccdeéèüñIİıſßǅçđčΣσς한글中文कि\u0301\u0327\u00ad\u200d\u200b'’-_.,!?$+=`#0129½²٣Ⅷﬁ🙂\U0001FAE9\u0378\uFDD0\uE000")

// spaces stand between words.
var spaces = []string{" ", " ", " ", "  ", "\t", "\n", "\r\n", "\f", "\v", "\u0085", "\u00a0", "\u3000", "\u2028", "\u1680", "\u180e", "\ufeff", ""}

func (g generator) word() string {
	var b strings.Builder
	for range 1 + g.IntN(5) {
		b.WriteRune(letters[g.IntN(len(letters))])
	}
	return b.String()
}

// addedTexts may be added tokens, and come in texts. The library gives the token of white space once more if the token before it has stripped
// it, which is left out.
var addedTexts = []string{"<s>", "</s>", "[MASK]", "[CLS]", "[SEP]", "<|im_end|>", "café", "čađ", "ab", "QR", "a b", "Ünd", "...", "한", "<0x0A>", "x"}

func (g generator) text() string {
	var b strings.Builder
	for range g.IntN(7) {
		switch g.IntN(5) {
		case 0:
			b.WriteString(g.one(addedTexts...))
		case 1:
			b.WriteRune(rune(1 + g.IntN(0x2FF)))
		default:
			b.WriteString(g.word())
		}
		b.WriteString(spaces[g.IntN(len(spaces))])
	}
	return b.String()
}

func (g generator) tokenizer() document {
	d := document{"version": "1.0", "truncation": nil, "padding": nil, "normalizer": nil, "pre_tokenizer": nil, "post_processor": nil, "decoder": nil}
	var vocabulary map[string]int
	switch g.IntN(5) {
	case 0:
		vocabulary = g.wordPiece(d)
	case 1:
		vocabulary = g.wordLevel(d)
	case 2:
		vocabulary = g.unigram(d)
	default:
		vocabulary = g.byteLevel(d)
	}
	g.addTokens(d, vocabulary)
	return d
}

// wordPiece is an encoder's tokenizer, as BERT has it.
func (g generator) wordPiece(d document) map[string]int {
	v := map[string]int{"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[MASK]": 3}
	for _, r := range letters {
		put(v, string(r))
		put(v, "##"+string(r))
	}
	for range 60 {
		put(v, g.one("", "##")+g.word())
	}
	d["model"] = document{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": g.IntN(2)*96 + 4, "vocab": v}
	d["normalizer"] = g.sequence("normalizers", g.normalizer)
	d["pre_tokenizer"] = g.sequence("pretokenizers", g.splitter)
	d["decoder"] = document{"type": "WordPiece", "prefix": "##", "cleanup": g.coin()}
	g.surround(d)
	return v
}

// wordLevel knows whole words.
func (g generator) wordLevel(d document) map[string]int {
	v := map[string]int{"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}
	for _, r := range letters {
		put(v, string(r))
	}
	for range 100 {
		put(v, g.word())
	}
	d["model"] = document{"type": "WordLevel", "unk_token": "[UNK]", "vocab": v}
	d["normalizer"] = g.sequence("normalizers", g.normalizer)
	d["pre_tokenizer"] = g.sequence("pretokenizers", g.splitter)
	g.surround(d)
	return v
}

// unigram is SentencePiece's other model, as XLM-RoBERTa has it.
func (g generator) unigram(d document) map[string]int {
	v := map[string]int{}
	var list [][]any
	add := func(text string) {
		if _, ok := v[text]; !ok {
			put(v, text)
			list = append(list, []any{text, -float64(g.IntN(4096))/128 - 1})
		}
	}
	add("<unk>")
	list[0][1] = 0.0
	add("▁")
	for _, r := range letters {
		if g.IntN(4) > 0 {
			add(string(r))
		}
	}
	for range 80 {
		add(g.one("", "▁") + g.word())
	}
	d["model"] = document{"type": "Unigram", "unk_id": 0, "vocab": list, "byte_fallback": false}
	d["normalizer"] = g.sequence("normalizers", g.normalizer)
	scheme := g.one("always", "never")
	if d["normalizer"] == nil {
		scheme = "first" // with a normalizer the library asks if the piece begins at byte 0 of the text before it was normalized
	}
	d["pre_tokenizer"] = document{"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": g.coin()}
	if g.IntN(3) == 0 {
		d["pre_tokenizer"] = document{"type": "Sequence", "pretokenizers": []document{{"type": "WhitespaceSplit"}, d["pre_tokenizer"].(document)}}
	}
	d["decoder"] = document{"type": "Metaspace", "replacement": "▁", "prepend_scheme": g.one("always", "never"), "split": true}
	return v
}

// byteLevel is what GPT-2, Llama 3 and Qwen have.
func (g generator) byteLevel(d document) map[string]int {
	v := map[string]int{}
	alphabet := make([]string, 0, 256)
	for b := range 256 {
		r := rune(b)
		switch {
		case b <= 0x20:
			r += 0x100
		case 0x7F <= b && b <= 0xA0:
			r += 0x121 - 0x7F
		case b == 0xAD:
			r = 0x143
		}
		alphabet = append(alphabet, string(r))
		put(v, string(r))
	}
	written := func(text string) (characters []string) {
		for _, b := range []byte(text) {
			characters = append(characters, alphabet[b])
		}
		return characters
	}
	var merges [][]string
	seen := map[string]bool{}
	for range 120 {
		parts := written(g.one("", " ") + g.word())
		for len(parts) > 1 {
			at := g.IntN(len(parts) - 1)
			pair := parts[at : at+2]
			if joined := strings.Join(pair, ""); !seen[strings.Join(pair, " ")] {
				seen[strings.Join(pair, " ")] = true
				merges = append(merges, slices.Clone(pair))
				put(v, joined)
			}
			parts = slices.Concat(parts[:at], []string{strings.Join(pair, "")}, parts[at+2:])
		}
	}
	d["model"] = document{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
		"fuse_unk": false, "byte_fallback": false, "ignore_merges": g.coin(), "vocab": v, "merges": merges}
	if g.IntN(3) == 0 {
		d["normalizer"] = document{"type": g.one("NFC", "NFD", "NFKC", "NFKD")}
	}
	level := document{"type": "ByteLevel", "add_prefix_space": g.IntN(4) == 0, "trim_offsets": true, "use_regex": g.coin()}
	d["pre_tokenizer"] = level
	if g.coin() {
		level["add_prefix_space"], level["use_regex"] = false, g.IntN(4) == 0
		steps := []document{g.cutter()}
		if g.coin() {
			steps = append(steps, g.cutter())
		}
		d["pre_tokenizer"] = document{"type": "Sequence", "pretokenizers": append(steps, level)}
	}
	d["decoder"] = document{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}
	if g.coin() {
		d["post_processor"] = document{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true}
	}
	return v
}

// put gives a text the next id.
func put(v map[string]int, text string) {
	if _, ok := v[text]; !ok {
		v[text] = len(v)
	}
}

// sequence is no component, one, or several after another.
func (g generator) sequence(name string, component func() document) any {
	n := g.IntN(4)
	switch n {
	case 0:
		return nil
	case 1:
		return component()
	}
	list := make([]document, n)
	for i := range list {
		list[i] = component()
	}
	return document{"type": "Sequence", name: list}
}

func (g generator) normalizer() document {
	switch g.IntN(7) {
	case 0:
		d := document{"type": "BertNormalizer", "clean_text": g.coin(), "handle_chinese_chars": g.coin(), "strip_accents": nil, "lowercase": g.coin()}
		if g.coin() {
			d["strip_accents"] = g.coin()
		}
		return d
	case 1:
		return document{"type": "Strip", "strip_left": g.coin(), "strip_right": g.coin()}
	case 2:
		return document{"type": "Prepend", "prepend": g.one("▁", "a", " ")}
	case 3:
		return document{"type": "Replace", "pattern": g.pattern(), "content": g.one("", " ", "x", "\"")}
	}
	return document{"type": g.one("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt")}
}

// pattern is a text or a regular expression.
func (g generator) pattern() document {
	if g.coin() {
		return document{"String": g.one(" ", "a", "``", "é", "..")}
	}
	return document{"Regex": g.one(" {2,}", "\\s+", "[abc]", "\\p{N}", "a|b", "\\n")}
}

func (g generator) splitter() document {
	switch g.IntN(7) {
	case 0:
		return document{"type": "Punctuation", "behavior": g.behavior()}
	case 1:
		return document{"type": "Digits", "individual_digits": g.coin()}
	case 2:
		return document{"type": "CharDelimiterSplit", "delimiter": g.one("-", " ", "中")}
	case 3:
		return document{"type": "Split", "pattern": g.pattern(), "behavior": g.behavior(), "invert": g.IntN(4) == 0}
	}
	return document{"type": g.one("BertPreTokenizer", "Whitespace", "WhitespaceSplit")}
}

// cutter cuts a text before ByteLevel.
func (g generator) cutter() document {
	switch g.IntN(4) {
	case 0:
		return document{"type": "Punctuation", "behavior": g.behavior()}
	case 1:
		return document{"type": "Digits", "individual_digits": g.coin()}
	}
	return document{"type": "Split", "behavior": g.behavior(), "invert": g.IntN(4) == 0, "pattern": document{"Regex": g.one(
		`\p{N}{1,3}`, `[\r\n]`, `\s?\p{L}+`, `[一-龥]+`, `\s+(?!\S)|\s+`, `\p{P}`, `[^\s\p{L}\p{N}]+`, `\p{M}`, `\p{Lu}`, `\d`, `\w+`,
		`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s+`,
	)}}
}

func (g generator) behavior() string {
	return g.one("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
}

// surround puts a token before a text: EncodeSpecial knows no tokens after one.
func (g generator) surround(d document) {
	if g.coin() {
		token := document{"SpecialToken": document{"id": "[CLS]", "type_id": 0}}
		text := func(id string) document { return document{"Sequence": document{"id": id, "type_id": 0}} }
		d["post_processor"] = document{"type": "TemplateProcessing", "single": []document{token, text("A")}, "pair": []document{token, text("A"), text("B")},
			"special_tokens": document{"[CLS]": document{"id": "[CLS]", "ids": []int{1}, "tokens": []string{"[CLS]"}}}}
	}
}

// addTokens adds tokens. The vocabulary has some of them already.
func (g generator) addTokens(d document, vocabulary map[string]int) {
	var list []document
	next := len(vocabulary)
	for _, i := range g.Perm(len(addedTexts))[:g.IntN(7)] {
		text := addedTexts[i]
		id, ok := vocabulary[text]
		if !ok {
			id, next = next, next+1
		}
		special := g.coin() && (!ok || strings.HasPrefix(text, "[")) // no text becomes a special token of the model's here
		// The library ends the process if a token's normalized text is empty.
		list = append(list, document{"id": id, "content": text, "single_word": g.IntN(4) == 0, "lstrip": g.IntN(4) == 0, "rstrip": g.IntN(4) == 0,
			"normalized": !special && g.coin() && keepsAdded(d["normalizer"]), "special": special})
	}
	slices.SortFunc(list, func(a, b document) int { return a["id"].(int) - b["id"].(int) })
	d["added_tokens"] = list
}

// keepsAdded reports whether no added token is empty after a normalizer.
func keepsAdded(normalizer any) bool {
	d, ok := normalizer.(document)
	return !ok || slices.Contains([]any{"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"}, d["type"])
}

// decodesOtherwise reports whether a tokenizer's tokens are rightly decoded otherwise than in the library.
func (g generator) decodesOtherwise(d document) bool {
	if d["decoder"] == nil {
		return true // the library then puts blanks between tokens
	}
	for _, a := range d["added_tokens"].([]document) {
		switch {
		case d["model"].(document)["type"] == "BPE" && fmt.Sprintf("%+q", a["content"]) != fmt.Sprintf("%q", a["content"]):
			return true // the library takes the letters of added words for the byte alphabet's
		case a["normalized"] == true && d["normalizer"] != nil:
			return true // the library decodes them to their normalized text, which is not what the model read
		}
	}
	return false
}
