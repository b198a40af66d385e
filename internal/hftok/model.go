package hftok

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// The models of tokenizers that are not BPE. WordPiece takes the longest token that a word begins with, then the longest that continues it:
// "playing" becomes "play" "##ing". Unigram takes the tokens with the largest sum of scores, by Viterbi's algorithm. For example, if "a",
// "b" and "ab" have the scores −1, −1 and −3, the best ways in the piece "ab" are found so:
//
//	from byte   token   to byte   sum
//	0           "a"     1         −1
//	0           "ab"    2         −3
//	1           "b"     2         −2, which is more than −3
//
// so that "ab" becomes "a" "b".

// maxPieceLen bounds the texts of WordPiece's and Unigram's tokens, in bytes, and with them the time that encoding takes for
// each byte of a text. SentencePiece's own default bound is 16 characters.
const maxPieceLen = 256

// A model makes tokens of pieces.
type model interface {
	// encode appends the tokens of a piece, which is not empty.
	encode(e *encoder, dst []int32, piece string) []int32
	// kind is what tokenizer.json calls the model.
	kind() string
}

func (wordLevel) kind() string { return "WordLevel" }
func (wordPiece) kind() string { return "WordPiece" }
func (*unigram) kind() string  { return "Unigram" }

// wordLevel takes every piece as a token.
type wordLevel struct{}

func (wordLevel) encode(e *encoder, dst []int32, piece string) []int32 {
	if node, ok := e.walk(piece); ok {
		if token := e.ordinary(node); token != nil {
			e.place(0, len(piece))
			return append(dst, token.id)
		}
	}
	return e.unknownToken(dst, 0, len(piece))
}

// wordPiece cuts a word into tokens: the longest token that the word begins with, then the longest that the rest begins
// with, and so on. The texts of tokens that continue a word begin with a prefix. A word that cannot be cut so is one unknown
// token.
type wordPiece struct {
	continuing string // the prefix
	from       uint32 // the trie's node of the prefix
	continues  bool   // there is such a node: the vocabulary has tokens that continue words
	maxChars   int    // the most characters of a word; a longer one is one unknown token
}

func newWordPiece(v *vocabulary, continuing string, maxChars int) (wordPiece, error) {
	w := wordPiece{continuing: continuing, maxChars: maxChars}
	w.from, w.continues = v.walk(continuing)
	return w, v.checkLengths(len(continuing))
}

// checkLengths refuses a vocabulary in which the text of a token is longer than maxPieceLen bytes, without the bytes of a
// prefix.
func (v *vocabulary) checkLengths(prefix int) error {
	for _, e := range v.entries {
		if n := len(e.text) - prefix; n > maxPieceLen && !e.special && !e.added {
			return fmt.Errorf("token %d, %.40q…, has %d bytes; at most %d would be right", e.id, e.text, n, maxPieceLen)
		}
	}
	return nil
}

func (w wordPiece) encode(e *encoder, dst []int32, word string) []int32 {
	before := len(dst)
	if len(word) > w.maxChars && utf8.RuneCountInString(word) > w.maxChars {
		return e.unknownToken(dst, 0, len(word))
	}
	for at := 0; at < len(word); {
		id, n := e.longest(word[at:], at > 0, w)
		if n == 0 {
			e.unplace(len(dst) - before)
			return e.unknownToken(dst[:before], 0, len(word))
		}
		dst = append(dst, id)
		e.place(at, at+n)
		at += n
	}
	return dst
}

// longest returns the longest token that s begins with, and its length without w's prefix, which is 0 if there is no such token. continuing
// says that s continues a word.
func (v *vocabulary) longest(s string, continuing bool, w wordPiece) (id int32, n int) {
	node := uint32(0)
	if continuing {
		if node = w.from; !w.continues {
			return 0, 0
		}
	}
	for i := 0; i < min(len(s), maxPieceLen); i++ {
		if node = v.trie.Child(node, s[i]); node == 0 {
			break
		}
		if token := v.ordinary(node); token != nil {
			id, n = token.id, i+1
		}
	}
	return id, n
}

// unigram cuts a piece into the tokens with the greatest product of probabilities (Kudo, "Subword Regularization", 2018).
type unigram struct {
	scores       []float64  // by id, logarithms of probabilities
	unknownScore float64    // of a character that is no token
	bytes        [256]int32 // the tokens of the bytes, or -1
	byteFallback bool       // neighbouring unknown characters become the tokens of their bytes, if all of them have one, and not one unknown token
}

// unknownPenalty is how much lower than the lowest score of a token the score of a character that is no token is, as in
// SentencePiece.
const unknownPenalty = 10

func newUnigram(v *vocabulary, scores []float64, byteFallback bool) (*unigram, error) {
	u := &unigram{scores: scores, unknownScore: math.Inf(1), byteFallback: byteFallback}
	for _, s := range scores {
		u.unknownScore = min(u.unknownScore, s-unknownPenalty)
	}
	for b := range u.bytes {
		u.bytes[b] = -1
		if token := v.find(fmt.Sprintf("<0x%02X>", b)); token != nil && !token.special && !token.added {
			u.bytes[b] = token.id
		}
	}
	return u, v.checkLengths(0)
}

// step is the last step of the best way from a piece's beginning to one of its bytes. A way is a row of tokens and unknown characters that
// together spell the piece up to that byte. The best way has the greatest sum of scores.
type step struct {
	score  float64 // the sum for the whole way
	token  int32   // the last token of the way, -1 for an unknown character
	length int32   // the bytes of the last token; 0 if no way leads here
}

// encode finds the best way to the piece's end by Viterbi's algorithm: from each character it tries the tokens that begin
// there. path[i] is the best way to byte i.
func (u *unigram) encode(e *encoder, dst []int32, piece string) []int32 {
	path := slices.Grow(e.path[:0], len(piece)+1)[:len(piece)+1]
	clear(path)
	e.path = path
	for at := 0; at < len(piece); {
		_, char := utf8.DecodeRuneInString(piece[at:])
		known := false // the character is a token
		node := uint32(0)
		for n := 1; n <= min(len(piece)-at, maxPieceLen); n++ {
			if node = e.trie.Child(node, piece[at+n-1]); node == 0 {
				break
			}
			if token := e.ordinary(node); token != nil && int(token.id) < len(u.scores) {
				path[at+n].offer(path[at].score+u.scores[token.id], token.id, n)
				known = known || n == char
			}
		}
		if !known {
			path[at+char].offer(path[at].score+u.unknownScore, -1, char)
		}
		at += char
	}
	return u.trace(e, dst, piece)
}

// offer replaces the best way by another one, if that has a greater sum or is the first.
func (s *step) offer(score float64, token int32, length int) {
	if s.length == 0 || score > s.score {
		*s = step{score, token, int32(length)}
	}
}

// trace appends the tokens of the best way to the end of a piece, which encode has found.
func (u *unigram) trace(e *encoder, dst []int32, piece string) []int32 {
	ends := e.ends[:0] // the ends of the way's steps, the last first
	for at := len(piece); at > 0; at -= int(e.path[at].length) {
		ends = append(ends, int32(at))
	}
	e.ends = ends
	at := 0
	for i := len(ends) - 1; i >= 0; i-- {
		token := e.path[ends[i]].token
		if token >= 0 {
			dst = append(dst, token)
			e.place(at, int(ends[i]))
		} else {
			for i > 0 && e.path[ends[i-1]].token < 0 {
				i--
			}
			dst = u.unknown(e, dst, piece, at, int(ends[i]))
		}
		at = int(ends[i])
	}
	return dst
}

// unknown appends the tokens for a run of characters that are no tokens: the bytes of a piece from one to another.
func (u *unigram) unknown(e *encoder, dst []int32, piece string, from, to int) []int32 {
	if !u.byteFallback {
		return e.unknownToken(dst, from, to)
	}
	before := len(dst)
	for i := from; i < to; i++ {
		id := u.bytes[piece[i]]
		if id < 0 {
			e.unplace(len(dst) - before)
			return e.unknownToken(dst[:before], from, to)
		}
		dst = append(dst, id)
		e.place(from, to)
	}
	return dst
}
