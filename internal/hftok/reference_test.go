package hftok

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/antigravity-go/antigravity/internal/effort"
)

// document is a part of a tokenizer.json.
type document = map[string]any

// parseModel returns the tokenizer of a model and what surrounds it.
func parseModel(t testing.TB, model document, parts document) *Tokenizer {
	t.Helper()
	d := document{"model": model}
	for name, part := range parts {
		d[name] = part
	}
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := ParseJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// randomWord returns up to n characters, no white space among them.
func randomWord(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range 1 + rng.IntN(n) {
		b.WriteRune([]rune("aabbcd한字.,!")[rng.IntN(11)])
	}
	return b.String()
}

// TestUnigram holds Viterbi's algorithm against the score of every way to cut a text.
func TestUnigram(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		pairs := [][]any{{"<unk>", 0.0}}
		scores := map[string]float64{}
		lowest := 0.0
		for range 12 {
			w := randomWord(rng, 4)
			if _, ok := scores[w]; !ok {
				scores[w] = -float64(rng.IntN(1000)) / 64
				lowest = min(lowest, scores[w])
				pairs = append(pairs, []any{w, scores[w]})
			}
		}
		tok := parseModel(t, document{"type": "Unigram", "unk_id": 0, "vocab": pairs}, nil)
		for range 20 {
			runes := []rune(randomWord(rng, 9))
			best := make([]float64, len(runes)+1) // by the end, of every way there
			for end := 1; end <= len(runes); end++ {
				best[end] = math.Inf(-1)
				for start := range end {
					s, ok := scores[string(runes[start:end])]
					if !ok && end == start+1 {
						s, ok = lowest-unknownPenalty, true
					}
					if ok {
						best[end] = max(best[end], best[start]+s)
					}
				}
			}
			text := string(runes)
			e := encoder{Tokenizer: tok}
			tok.model.encode(&e, nil, text)
			score := 0.0
			for at := len(text); at > 0; {
				step := e.path[at]
				token := text[at-int(step.length) : at]
				at -= len(token)
				switch {
				case step.token >= 0 && tok.Text(step.token) == token:
					score += scores[token]
				case step.token < 0 && len([]rune(token)) == 1:
					score += lowest - unknownPenalty
				default:
					t.Fatalf("%v\n%q: %q is not token %d", pairs, text, token, step.token)
				}
			}
			if score != best[len(runes)] || score != e.path[len(text)].score {
				t.Fatalf("%v\n%q: the way scores %v and says %v; the best score is %v", pairs, text, score, e.path[len(text)].score, best[len(runes)])
			}
		}
	}
}

func TestByteFallback(t *testing.T) {
	pairs := [][]any{{"<unk>", 0}, {"a", -1}}
	for b := range 256 {
		pairs = append(pairs, []any{fmt.Sprintf("<0x%02X>", b), -9})
	}
	model := document{"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": pairs}
	decoder := document{"type": "Sequence", "decoders": []document{
		{"type": "Replace", "pattern": document{"String": spaceMark}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}}}
	tok := parseModel(t, model, document{"decoder": decoder})
	want := []int32{1, 2 + 0xC3, 2 + 0xA9, 2 + 'b', 1}
	if got := tok.Encode(nil, "aéba"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := tok.Decode(want); got != "aéba" {
		t.Errorf("decoded to %q", got)
	}
	if got := tok.Decode(want[:2]); got != "a\uFFFD" {
		t.Errorf("half a character decodes to %q", got)
	}
	model["vocab"] = slices.DeleteFunc(pairs, func(p []any) bool { return p[0] == "<0xA9>" })
	if got, want := parseModel(t, model, document{"decoder": decoder}).Encode(nil, "éa"), []int32{0, 1}; !slices.Equal(got, want) {
		t.Errorf("where a byte's token is missing: got %v, want %v", got, want)
	}
}

func TestPreTokenizers(t *testing.T) {
	metaspace := func(scheme string, split bool) document {
		return document{"type": "Metaspace", "replacement": spaceMark, "prepend_scheme": scheme, "split": split}
	}
	for _, c := range []struct {
		name  string
		part  document
		text  string
		first bool
		want  string // the pieces, separated by |
	}{
		{"Bert", document{"type": "BertPreTokenizer"}, "Hi,  there!? ok", true, "Hi|,|there|!|?|ok"},
		{"Whitespace", document{"type": "Whitespace"}, " Hi, a_b!? é", true, "Hi|,|a_b|!?|é"},
		{"WhitespaceSplit", document{"type": "WhitespaceSplit"}, " Hi,\u3000a!? ", true, "Hi,|a!?"},
		{"Punctuation", document{"type": "Punctuation"}, "a..b c", true, "a|.|.|b c"},
		{"Punctuation, contiguous", document{"type": "Punctuation", "behavior": "Contiguous"}, "a..b..", true, "a|..|b|.."},
		{"Digits", document{"type": "Digits"}, "a12½b3", true, "a|12½|b|3"},
		{"Digits one by one", document{"type": "Digits", "individual_digits": true}, "a12b", true, "a|1|2|b"},
		{"CharDelimiterSplit", document{"type": "CharDelimiterSplit", "delimiter": "-"}, "a-b--c", true, "a|b|c"},
		{"Split, merged with previous", document{"type": "Split", "pattern": document{"String": "-"}, "behavior": "MergedWithPrevious"}, "a-b--c", true, "a-|b-|-|c"},
		{"Split, merged with next", document{"type": "Split", "pattern": document{"String": "-"}, "behavior": "MergedWithNext"}, "a-b--c", true, "a|-b|-|-c"},
		{"Metaspace", metaspace("always", true), "a  b", false, "▁a|▁|▁b"},
		{"Metaspace before a space", metaspace("always", true), " a", true, "▁a"},
		{"Metaspace, first", metaspace("first", true), "a b", true, "▁a|▁b"},
		{"Metaspace, first, not at the beginning", metaspace("first", true), "a b", false, "a|▁b"},
		{"Metaspace, whole", metaspace("never", false), "a b", true, "a▁b"},
		{"Sequence", document{"type": "Sequence", "pretokenizers": []document{{"type": "WhitespaceSplit"}, metaspace("first", true)}}, "a b", true, "▁a|b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok := parseModel(t, document{"type": "WordLevel", "vocab": document{"a": 0}}, document{"pre_tokenizer": c.part})
			pieces := []piece{{text: c.text, first: c.first}}
			for _, split := range tok.split {
				pieces = split(pieces)
			}
			var texts []string
			for _, p := range pieces {
				texts = append(texts, p.text)
			}
			if got := strings.Join(texts, "|"); got != c.want {
				t.Errorf("%q: got %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestNormalizers(t *testing.T) {
	charsmap := document{"type": "Precompiled", "precompiled_charsmap": charsmapOf(map[string]string{"ﬁ": "fi", "\u0001": "", "ｱ": "ア", "e\u0301": "E", "É": "é"})}
	regex := func(e string) document {
		return document{"type": "Replace", "pattern": document{"Regex": e}, "content": "_"}
	}
	for _, c := range []struct {
		name       string
		part       document
		text, want string
	}{
		{"Bert", document{"type": "BertNormalizer"}, "Ünï\tCODE\u0000\uFFFD中İ", "uni code 中 i"},
		{"Bert with accents and case", document{"type": "BertNormalizer", "lowercase": false, "handle_chinese_chars": false}, "Ü中\u200B", "Ü中"},
		{"Bert drops controls", document{"type": "BertNormalizer"}, "page\fnext\vof\u0085a\tb\rc", "pagenextofa b c"},
		{"Bert keeps what Unicode 8 did not know", document{"type": "BertNormalizer"}, "a\u0378b \U0001FAE9 \uFDD0", "a\u0378b \U0001FAE9 \uFDD0"},
		{"Lowercase", document{"type": "Lowercase"}, "ÀÉİΣ\u1C89", "àéi\u0307σ\u1C8A"},
		{"NFKC", document{"type": "NFKC"}, "ﬁ①", "fi1"},
		{"StripAccents", document{"type": "Sequence", "normalizers": []document{{"type": "NFD"}, {"type": "StripAccents"}}}, "éà", "ea"},
		{"Nmt", document{"type": "Nmt"}, "a\u200Bb\u0007c▁", "a bc "},
		{"Strip", document{"type": "Strip", "strip_left": true, "strip_right": true}, " \u3000a b\n", "a b"},
		{"Strip left", document{"type": "Strip", "strip_left": true}, " a ", "a "},
		{"Prepend", document{"type": "Prepend", "prepend": "▁"}, "a", "▁a"},
		{"Replace", document{"type": "Replace", "pattern": document{"String": "``"}, "content": "\""}, "``a```", "\"a\"`"},
		{"Replace by an expression", document{"type": "Replace", "pattern": document{"Regex": " {2,}"}, "content": "▁"}, "a   b c  ", "a▁b c▁"},
		{"Replace at most two", regex("ab{,2}c"), "abbc ac abbbc", "_ _ abbbc"},
		{"Replace a class in a class", regex("[a[bc]]"), "a b c d]", "_ _ _ d]"},
		{"Replace an intersection", regex("[a-c&&b]"), "a b c &", "a _ c &"},
		{"Replace white space", regex(`\s+`), "a \u3000b\n", "a_b_"},
		{"Replace the ends of lines", regex(` +$`), "a  b  \nc ", "a  b_\nc_"},
		{"Replace the first alternative", regex("a|ab"), "ab", "_b"},
		{"Precompiled", charsmap, "ﬁ\u0001ｱe\u0301Éx", "fiアEéx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok := parseModel(t, document{"type": "WordLevel", "vocab": document{"a": 0}}, document{"normalizer": c.part})
			if got := tok.normal(c.text); got != c.want {
				t.Errorf("%q: got %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// charsmapOf returns a precompiled normalizer as SentencePiece writes it. The double array is filled level by level: for the
// children of each node the first offset is taken at which all of them find room.
func charsmapOf(to map[string]string) string {
	units := make([]uint32, 1<<16)
	used := make([]bool, len(units))
	used[0] = true
	texts := ""
	place := 0 // of the offset to try next
	var fill func(at uint32, prefix string)
	fill = func(at uint32, prefix string) {
		var labels []byte
		leaf := false
		for key := range to {
			if key == prefix {
				leaf = true
			} else if strings.HasPrefix(key, prefix) && !slices.Contains(labels, key[len(prefix)]) {
				labels = append(labels, key[len(prefix)])
			}
		}
		for place++; ; place++ { // the offset is at ^ base; offsets below 1<<21 are written as they are
			free := !leaf || !used[place]
			for _, c := range labels {
				free = free && !used[uint32(place)^uint32(c)]
			}
			if free {
				break
			}
		}
		base := uint32(place)
		units[at] |= (at ^ base) << 10
		if leaf {
			used[base] = true
			units[at] |= 1 << 8
			units[base] = uint32(len(texts)) | 1<<31
			texts += to[prefix] + "\x00"
		}
		for _, c := range labels {
			used[base^uint32(c)] = true
			units[base^uint32(c)] = uint32(c)
		}
		for _, c := range labels {
			fill(base^uint32(c), prefix+string([]byte{c}))
		}
	}
	fill(0, "")
	data := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		data = binary.LittleEndian.AppendUint32(data, u)
	}
	return base64.StdEncoding.EncodeToString(append(data, texts...))
}

// What a normalizer makes of a text is bounded, whatever the normalizer.
func TestGrowth(t *testing.T) {
	effort.Turn(t, 8)
	double := document{"type": "Replace", "pattern": document{"String": "a"}, "content": "aa"}
	for name, part := range map[string]document{
		"doubled 30 times":    {"type": "Sequence", "normalizers": slices.Repeat([]document{double}, 30)},
		"a long replacement":  {"type": "Replace", "pattern": document{"String": "a"}, "content": strings.Repeat("b", 1<<20)},
		"a long charsmap":     {"type": "Precompiled", "precompiled_charsmap": charsmapOf(map[string]string{"a": strings.Repeat("b", 1<<20)})},
		"each character long": {"type": "Replace", "pattern": document{"Regex": "."}, "content": strings.Repeat("é", 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			tok := parseModel(t, document{"type": "WordLevel", "vocab": document{"a": 0}}, document{"normalizer": part})
			const n = 10_000
			if got := len(tok.normal(strings.Repeat("a", n))); got > maxGrowth*n+1024 {
				t.Errorf("%d bytes became %d", n, got)
			}
		})
	}
	for r := rune(0); r <= 0x10FFFF; r++ {
		if s := string(r); len(norm.NFKD.String(s)) > maxGrowth/2*len(s) {
			t.Errorf("%U grows to %d bytes", r, len(norm.NFKD.String(s)))
		}
	}
}

func TestUnsupported(t *testing.T) {
	model := document{"type": "WordLevel", "vocab": document{"a": 0}}
	for _, parts := range []document{
		{"normalizer": document{"type": "Replace", "pattern": document{"Regex": `\bx`}, "content": " "}},
		{"normalizer": document{"type": "Replace", "pattern": document{"Regex": "[[:alpha:]]"}, "content": " "}},
		{"normalizer": document{"type": "Replace", "pattern": document{"Regex": "a*"}, "content": " "}},
		{"normalizer": document{"type": "Replace", "pattern": document{"Regex": "(a{900}){900}"}, "content": " "}},
		{"normalizer": document{"type": "ByteLevel"}},
		{"normalizer": document{"type": "Sequence", "normalizers": slices.Repeat([]document{{"type": "NFC"}}, maxSteps+1)}},
		{"pre_tokenizer": document{"type": "UnicodeScripts"}},
		{"pre_tokenizer": document{"type": "Split", "pattern": document{"Regex": "a"}, "behavior": "Isolated"}},
		{"pre_tokenizer": document{"type": "Metaspace", "replacement": "_"}},
		{"decoder": document{"type": "BPEDecoder"}},
		{"post_processor": document{"type": "Morse"}},
	} {
		data, err := json.Marshal(document{"model": model, "normalizer": parts["normalizer"], "pre_tokenizer": parts["pre_tokenizer"], "decoder": parts["decoder"], "post_processor": parts["post_processor"]})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseJSON(data); err == nil || !strings.Contains(err.Error(), ErrUnsupported.Error()) {
			t.Errorf("%s: %v", data, err)
		}
	}
}

// A text that a template wrote has the tokens of EncodeSpecial; what came from outside has no added tokens.
func TestEncodeSegments(t *testing.T) {
	segments := func(list ...string) iter.Seq2[string, bool] { // every other one is trusted, the first is
		return func(yield func(string, bool) bool) {
			for i, s := range list {
				if !yield(s, i%2 == 0) {
					return
				}
			}
		}
	}
	tok := parseModel(t, document{"type": "WordLevel", "unk_token": "?", "vocab": document{"?": 0, "hi": 1, "<s>": 2}}, document{
		"added_tokens": []document{
			{"id": 2, "content": "<s>", "special": true}, {"id": 3, "content": "<Think>"}, {"id": 4, "content": "NORM", "normalized": true}},
		"normalizer": document{"type": "Lowercase"}, "pre_tokenizer": document{"type": "WhitespaceSplit"},
	})
	for _, c := range []struct {
		name     string
		segments []string
		want     []int32
	}{
		{"a template's", []string{"<s>hi<Think> norm"}, []int32{2, 1, 3, 4}},
		{"cut", []string{"<s>hi<Th", "", "ink> nor", "", "m"}, []int32{2, 1, 3, 4}},
		{"from outside", []string{"<s>", "<s> <Think> norm"}, []int32{2, 0, 0, 0}},
		{"half", []string{"<s", ">"}, []int32{0}},
		{"normalized, next to text from outside", []string{"<s>norm ", "hi"}, []int32{2, 0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := tok.EncodeSegments(nil, segments(c.segments...)); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if got, want := tok.EncodeSpecial(nil, "<s>hi<Think> norm", false), []int32{2, 1, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("EncodeSpecial: got %v, want %v", got, want)
	}
}
