package hftok

import (
	"fmt"
	"strings"

	"github.com/antigravity-go/antigravity/internal/added"
	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/split"
)

// continuation begins WordPiece's tokens that continue a word.
const continuation = "##"

// maxWordChars is the most characters of a word that BERT's tokenizers cut; GGUF has no key for it.
const maxWordChars = 100

// FromVocab makes a tokenizer of a GGUF file's vocabulary, WordPiece ("bert") or Unigram ("t5"). The error wraps ErrUnsupported for other
// models. Nothing of v is retained but the strings.
//
// The pieces are those of the tokenizer.json that the file was made of. llama.cpp only comes near it (it knows no limit of a word's length,
// and looks for the longest text in the charsmap): here the tokens are the model's.
func FromVocab(v bpe.Vocab) (*Tokenizer, error) {
	t, err := fromVocab(&v)
	if err != nil {
		return nil, fmt.Errorf("hftok: reading a GGUF vocabulary: %w", err)
	}
	return t, nil
}

func fromVocab(v *bpe.Vocab) (*Tokenizer, error) {
	if v.Model != bpe.WordPieceModel && v.Model != bpe.UnigramModel {
		return nil, fmt.Errorf("%w: tokenizer.ggml.model %.40q; \"bert\" and \"t5\" are implemented", ErrUnsupported, v.Model)
	}
	if err := v.Check(); err != nil {
		return nil, err
	}
	if len(v.Tokens) > maxEntries {
		return nil, fmt.Errorf("%d tokens; at most %d would be right", len(v.Tokens), maxEntries)
	}
	t := &Tokenizer{}
	entries := make([]entry, len(v.Tokens))
	var tokens []added.Token
	for id, text := range v.Tokens {
		e := &entries[id]
		*e = entry{text: text, id: int32(id)}
		kind := v.TypeOf(id)
		if e.id == v.SEP || e.id == v.Unknown { // files of 2024 have all types normal
			kind = bpe.TypeControl
		}
		switch kind {
		case bpe.TypeControl, bpe.TypeUnknown:
			e.special = true
		case bpe.TypeUnused:
			e.added = true // the model makes no such token
		case bpe.TypeNormal, bpe.TypeByte, bpe.TypeUserDefined:
			if v.Model == bpe.WordPieceModel {
				e.text = wordText(text)
			}
			e.byte = kind == bpe.TypeByte
		default:
			return nil, fmt.Errorf("token %d, %.40q, has type %d; 1 to %d would be right", id, text, kind, bpe.TypeByte)
		}
		if e.special || kind == bpe.TypeUserDefined {
			tokens = append(tokens, added.Token{ID: e.id, Content: e.text, Special: e.special})
		}
	}
	var err error
	if t.vocabulary, err = newVocabulary(entries); err != nil {
		return nil, err
	}
	t.unknown = v.Unknown
	if v.Model == bpe.WordPieceModel {
		err = t.wordPieces(v)
	} else {
		err = t.unigrams(v)
	}
	if err != nil {
		return nil, err
	}
	t.setTemplate(v.Around())
	return t, t.matchAdded(tokens)
}

// wordText returns a token of WordPiece as tokenizer.json writes it. GGUF writes "▁play" for "play", and "ing" for "##ing".
func wordText(text string) string {
	if word, begins := strings.CutPrefix(text, spaceMark); begins {
		return word
	}
	return continuation + text
}

// VocabText returns a token of WordPiece as GGUF writes it; see wordText.
func VocabText(text string) string {
	if rest, continues := strings.CutPrefix(text, continuation); continues {
		return rest
	}
	return spaceMark + text
}

// wordPieces sets up what BERT does.
func (t *Tokenizer) wordPieces(v *bpe.Vocab) (err error) {
	t.normalize = bert(true, true, v.StripAccents, v.Lower)
	t.split = bertWords()
	t.decoder = decoder{pieces: true, continuing: continuation, tidy: true}
	t.model, err = newWordPiece(&t.vocabulary, continuation, maxWordChars)
	return err
}

// unigrams sets up what SentencePiece does.
func (t *Tokenizer) unigrams(v *bpe.Vocab) error {
	if len(v.Charsmap) > 0 {
		m, err := newCharsmap(v.Charsmap)
		if err != nil {
			return err
		}
		t.normalize = normalizers{{m.normalize, m.track}}
	}
	scheme := never
	if v.AddSpacePrefix || v.MergeSpaces {
		scheme = always
	}
	if v.MergeSpaces {
		t.split = append(t.split, splitAt(literal(" "), split.Removed))
	}
	t.split = append(t.split, markSpaces(scheme), splitAt(literal(spaceMark), split.MergedWithNext))
	t.decoder = decoder{marks: true, dropFirst: scheme == always, bytes: true}
	scores, fallback := make([]float64, len(v.Scores)), false
	for id, s := range v.Scores {
		switch v.TypeOf(id) {
		case bpe.TypeNormal, bpe.TypeUserDefined:
			scores[id] = float64(s)
		case bpe.TypeByte:
			fallback = true
		}
	}
	u, err := newUnigram(&t.vocabulary, scores, fallback)
	t.model = u
	return err
}
