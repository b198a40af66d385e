package main

import (
	"fmt"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
)

// The limits of -vocab.
const (
	minVocab = 512
	maxVocab = 1 << 20
)

// vocabulary is a byte-level BPE vocabulary like Llama 3's: 256 bytes, then what merges make, then special tokens.
type vocabulary struct {
	tokens   []string // specials last
	merges   [][2]string
	specials int // how many of the tokens
}

// The special tokens that have a purpose, by their place after the ordinary tokens. The others are reserved.
const (
	beginOfText = 0
	endOfText   = 1
	padding     = 4
	startHeader = 6
	endHeader   = 7
	endOfMsg    = 8
	endOfTurn   = 9
	pythonTag   = 10
)

var specialNames = map[int]string{
	beginOfText: "<|begin_of_text|>", endOfText: "<|end_of_text|>", padding: "<|finetune_right_pad_id|>",
	startHeader: "<|start_header_id|>", endHeader: "<|end_header_id|>", endOfMsg: checkpoint.EndOfMessage, endOfTurn: checkpoint.EndOfTurn,
	pythonTag: "<|python_tag|>",
}

// specialCount is Llama 3's; a small vocabulary has smallSpecialCount.
const (
	specialCount      = 256
	smallSpecialCount = 16
	smallVocab        = 4096
)

// newVocabulary makes a vocabulary of n tokens, always the same one.
func newVocabulary(n int) *vocabulary {
	v := &vocabulary{specials: specialCount}
	if n < smallVocab {
		v.specials = smallSpecialCount
	}
	v.fill(n - v.specials)
	reserved := 0
	for i := range v.specials {
		name, ok := specialNames[i]
		if !ok {
			name = fmt.Sprintf("<|reserved_special_token_%d|>", reserved)
			reserved++
		}
		v.tokens = append(v.tokens, name)
	}
	return v
}

// id returns the id of a special token.
func (v *vocabulary) id(special int) int32 { return int32(len(v.tokens) - v.specials + special) }

// text returns a special token.
func (v *vocabulary) text(special int) string { return v.tokens[v.id(special)] }

// vocabularyBuilder adds merges to a vocabulary until it is full.
type vocabularyBuilder struct {
	*vocabulary
	full  int
	known map[string]bool
}

// fill fills the vocabulary with n tokens: bytes, white space, numbers of up to three digits, syllables, and words of ever
// more syllables, each also with a space before it, as English text has them.
func (v *vocabulary) fill(n int) {
	in := vocabularyBuilder{v, n, make(map[string]bool, n)}
	for b := range 256 {
		in.add(byteText(byte(b)))
	}
	in.whitespace()
	syllables := in.syllables()
	in.numbers()
	in.words(syllables)
}

// byteText writes a byte as GPT-2's alphabet does: bytes that print stand for themselves, the others, in order, for the
// characters from U+0100 on.
func byteText(b byte) string {
	prints := func(b byte) bool { return b > ' ' && b < 0x7F || b > 0xA0 && b != 0xAD }
	if prints(b) {
		return string(rune(b))
	}
	r := rune(0x100)
	for c := range b {
		if !prints(c) {
			r++
		}
	}
	return string(r)
}

func (in *vocabularyBuilder) add(text string) {
	in.known[text] = true
	in.tokens = append(in.tokens, text)
}

// merge adds the token that two others make, unless there is no room or it exists.
func (in *vocabularyBuilder) merge(left, right string) (text string, added bool) {
	text = left + right
	if len(in.tokens) == in.full || in.known[text] {
		return text, false
	}
	in.add(text)
	in.merges = append(in.merges, [2]string{left, right})
	return text, true
}

// whitespace adds doubled line feeds, and indentation.
func (in *vocabularyBuilder) whitespace() {
	space, feed := byteText(' '), byteText('\n')
	in.merge(feed, feed)
	for range 4 { // 2, 4, 8 and 16
		space, _ = in.merge(space, space)
	}
}

// numbers adds those of two and three digits.
func (in *vocabularyBuilder) numbers() {
	const digits = "0123456789"
	var pairs []string
	for _, a := range digits {
		for _, b := range digits {
			pair, _ := in.merge(string(a), string(b))
			pairs = append(pairs, pair)
		}
	}
	for _, pair := range pairs {
		for _, c := range digits {
			in.merge(pair, string(c))
		}
	}
}

// syllables adds a consonant and a vowel, in either order, and returns them all.
func (in *vocabularyBuilder) syllables() (list []string) {
	const consonants, vowels = "tnshrldcmfpgwybvkjxz", "eaoiu"
	for _, c := range consonants {
		for _, v := range vowels {
			list = append(list, string(c)+string(v), string(v)+string(c))
		}
	}
	for _, s := range list {
		first, size := utf8.DecodeRuneInString(s)
		in.merge(string(first), s[size:])
		in.merge(byteText(' '), s)
	}
	return list
}

// words joins words, the shortest first, until the vocabulary is full. There is no end to them: every round adds one at least,
// because its two words have more syllables together than any two before.
func (in *vocabularyBuilder) words(words []string) {
	space := byteText(' ')
	for round := 0; len(in.tokens) < in.full; round++ {
		for i := range round + 1 {
			left, right := words[i], words[round-i]
			word, added := in.merge(left, right)
			if !added {
				continue
			}
			words = append(words, word)
			in.merge(space+left, right)
		}
	}
}
