package llama

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
)

// Late interaction (ColBERT, arXiv 2004.12832) compares the tokens of a query with those of a document, and not one vector with another one. For example,
// with queries of 6 tokens,
//
//	the query wood?      [CLS] [Q] wood ? [SEP] [MASK]            has 6 vectors. What the first 5 see, the mask sees too, and nobody sees the mask
//	the document Oak.    [CLS] [D] oak . [SEP]                    has 4, and the dot has no vector
//	their score          for each of the 6 the largest product with one of the 4, and the sum of these 6

// Side is one of the two sides of a search by vectors of tokens.
type Side uint8

// The sides.
const (
	QuerySide Side = iota
	DocumentSide
)

// TokenVectors are vectors of a text's tokens, in their order: [tokens][size], each of unit length.
type TokenVectors [][]float32

// EmbedTokens returns the vectors of the tokens of each text. MaxSim compares those of one side with those of the other. Tokens that the tokenizer puts around
// a text have vectors, too, and so has the prefix of the side. What else the files say is done: queries are filled up with masks, which have vectors, and some tokens of documents, such as full stops, do not.
//
// The texts are computed together, and together with those of other goroutines; no vector depends on the company. Special tokens in the texts are inert. A
// text that is longer than the files allow for its side is a *ContextFullError, one without tokens and another side a *ParamError: then nothing is computed.
// The error of a model without such files wraps ErrUnsupported: it is for folders as PyLate saves them.
func (side Side) EmbedTokens(ctx context.Context, m *Model, texts ...string) ([]TokenVectors, error) {
	l := m.files.Pipeline.Late
	if l == nil {
		return nil, fmt.Errorf("%w: the model's files do not say how it makes vectors of tokens", ErrUnsupported)
	}
	if err := m.tokenizer.hasTexts(); err != nil {
		return nil, err
	}
	e := embedding{model: m}
	var all [][]Token
	var kept [][]bool // nil: all
	for i, text := range texts {
		var tokens []Token
		var err error
		prompt := m.files.Pipeline.Prompts[m.files.Pipeline.Default]
		switch side {
		case QuerySide:
			tokens, err = lateTokens(m, &l.Query, prompt+text)
			if err == nil && l.Expands {
				tokens, err = e.expand(l, tokens)
			}
		case DocumentSide:
			if tokens, err = lateTokens(m, &l.Document, prompt+text); err == nil {
				kept = append(kept, keptOf(m, l, tokens))
			}
		default:
			return nil, &ParamError{"the side", side, "QuerySide or DocumentSide"}
		}
		if err != nil {
			return nil, fmt.Errorf("embed the tokens of text %d: %w", i, err)
		}
		all = append(all, tokens)
	}
	if len(all) == 0 {
		return nil, nil
	}
	pooled, err := e.pool(ctx, all)
	if err != nil {
		return nil, err
	}
	vectors := make([]TokenVectors, len(all))
	for i := range all {
		states := pooled[i].parts[0].each
		pooled[i].parts = nil // which frees them as the vectors grow
		if vectors[i], err = tokenVectors(m, states); err != nil {
			return nil, err
		}
		if kept != nil {
			n := 0
			vectors[i] = slices.DeleteFunc(vectors[i], func([]float32) bool { n++; return !kept[i][n-1] })
		}
	}
	return vectors, nil
}

// lateTokens returns the tokens of a text with those around it and the prefix of its side.
func lateTokens(m *Model, side *checkpoint.LateSide, text string) ([]Token, error) {
	tokens := m.tokenizer.EncodeWhole(text)
	if len(tokens) == 0 {
		return nil, &ParamError{"the text", `""`, "one that has tokens"}
	}
	if side.Prefix != "" {
		prefix, ok := m.tokenizer.ID(side.Prefix)
		if !ok {
			return nil, fmt.Errorf("%w: the prefix %.40q is no token of the model's tokenizer", ErrUnsupported, side.Prefix)
		}
		tokens = slices.Insert(tokens, 1, prefix)
	}
	if len(tokens) > side.Length {
		return nil, fmt.Errorf("it must be no longer than the %d tokens of its side: %w", side.Length, &ContextFullError{Want: len(tokens), Room: side.Length})
	}
	return tokens, nil
}

// expand fills a query up with masks, and notes how many of its tokens are seen.
func (e *embedding) expand(l *checkpoint.Late, tokens []Token) ([]Token, error) {
	m := e.model
	mask, ok := m.tokenizer.ID(l.Mask)
	if !ok {
		return nil, fmt.Errorf("%w: the mask %.40q is no token of the model's tokenizer", ErrUnsupported, l.Mask)
	}
	seen := len(tokens)
	if l.Attends {
		seen = l.Query.Length
	}
	for i := range m.config.Layers {
		if r := m.config.Layer(i).Reach; r > 0 && l.Query.Length-r > seen {
			return nil, fmt.Errorf("%w: the last mask of %d tokens sees none of the %d before the masks in layer %d, which shows %d", ErrUnsupported, l.Query.Length, seen, i, r)
		}
	}
	e.seen = append(e.seen, seen)
	for len(tokens) < l.Query.Length {
		tokens = append(tokens, mask)
	}
	return tokens, nil
}

// keptOf reports of each token of a document whether it has a vector. A word of the list that is no token stands for the unknown one, as in PyLate.
func keptOf(m *Model, l *checkpoint.Late, tokens []Token) []bool {
	kept := make([]bool, len(tokens))
	skipped := map[Token]bool{}
	for _, word := range l.Skip {
		id, ok := m.tokenizer.ID(word)
		if v, has := m.tokenizer.vocabulary.(interface{ Unknown() int32 }); !ok && has && v.Unknown() >= 0 {
			id, ok = Token(v.Unknown()), true
		}
		if ok {
			skipped[id] = true
		}
	}
	for i, t := range tokens {
		kept[i] = !skipped[t]
	}
	return kept
}

// tokenVectors returns what the model's layers make of the states of tokens, each scaled to unit length.
func tokenVectors(m *Model, states []float32) (vectors TokenVectors, err error) {
	for width := m.config.HiddenSize; len(states) > 0; {
		n := min(headRows, len(states)/width)
		made, err := m.weights.Pooled(states[:n*width], n)
		if err != nil {
			return nil, fmt.Errorf("the layers that follow the states of tokens: %w", err)
		}
		size := len(made) / n
		for row := range slices.Chunk(made, size) {
			wide := make([]float64, size)
			for i, v := range row {
				wide[i] = float64(v)
			}
			vectors = append(vectors, unit(wide))
		}
		states = states[n*width:]
	}
	return vectors, nil
}

// MaxSim returns how well a document answers the query with these vectors: for each vector of the query the largest product with one of
// the document's, added up. The better, the larger; at most as large as the query has vectors. It is 0 without vectors of either. All must have the same size.
// Its bits are the same everywhere.
func (query TokenVectors) MaxSim(document TokenVectors) float32 {
	sum := 0.0
	for _, q := range query {
		best := math.Inf(-1)
		for _, d := range document {
			product := 0.0
			for i, x := range q {
				product += float64(float64(x) * float64(d[i]))
			}
			best = max(best, product)
		}
		if len(document) > 0 {
			sum += best
		}
	}
	return float32(sum)
}

// compareTokens is Rerank by vectors of tokens.
func compareTokens(ctx context.Context, m *Model, query string, documents []string) ([]float32, error) {
	if len(documents) == 0 {
		return nil, nil
	}
	q, err := QuerySide.EmbedTokens(ctx, m, query)
	if err != nil {
		return nil, err
	}
	scores := make([]float32, 0, len(documents))
	for group := range slices.Chunk(documents, windowsTogether) {
		all, err := DocumentSide.EmbedTokens(ctx, m, group...)
		if err != nil {
			return nil, err
		}
		for _, d := range all {
			scores = append(scores, q[0].MaxSim(d))
		}
	}
	return scores, nil
}
