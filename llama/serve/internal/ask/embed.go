package ask

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// embedTogether is how many tokens texts have at most that are computed together. One text may have more. So a request with many texts competes
// with others as one that has a long prompt does, and not as one for each text: they would wait for all of those whenever they come.
const embedTogether = 512

// A Compared has the texts that Embed, Rerank and Classify work on, each by itself or with another one before it.
type Compared struct {
	Query   *string  // nil: the texts are embedded, or classified
	Seconds []string // of pairs of texts to classify, as many as Texts; nil: each text is by itself
	Texts   []string
	Place   func(i int) string // names a text in errors: "input[3]"
	Names   FieldNames         // of parameters
	Long    int64              // bytes that the results take for each token, if texts may be longer than the model takes; 0: they may not
}

// Embed returns the vectors of texts, which are computed in one place of the queue, and the number of their tokens. Errors about a text
// come before any wait.
func (m *Model) Embed(ctx context.Context, in Compared, o llama.EmbedOptions) (vectors [][]float32, tokens int, err error) {
	switch m.Model.Kind() {
	case llama.Reranker:
		return nil, 0, m.otherKind("it compares a query with documents and makes no vectors; ask POST /v1/rerank")
	case llama.Classifier, llama.Tagger:
		return nil, 0, m.otherKind("it makes no vectors; POST /v1/embeddings needs an embedder")
	}
	tokens, err = m.inGroups(ctx, in, 4*int64(m.Model.Config().HiddenSize), func(texts []string) error {
		group, err := m.Lease.Embed(ctx, o, texts...)
		vectors = append(vectors, group...)
		return err
	})
	return vectors, tokens, err
}

// Rerank returns the scores of texts as answers to a query, as Embed returns vectors. Some generators give scores, too: llama.Model.Rerank knows
// which.
func (m *Model) Rerank(ctx context.Context, in Compared) (scores []float32, tokens int, err error) {
	const help = "it gives no scores; POST /v1/rerank needs a reranker"
	kind := m.Model.Kind()
	if kind != llama.Generator && kind != llama.Reranker {
		return nil, 0, m.otherKind(help)
	}
	tokens, err = m.inGroups(ctx, in, 4, func(texts []string) error {
		group, err := m.Lease.Rerank(ctx, *in.Query, texts...)
		if kind == llama.Generator && errors.Is(err, llama.ErrUnsupported) {
			err = m.otherKind(help)
		}
		scores = append(scores, group...)
		return err
	})
	return scores, tokens, err
}

// otherKind is the error of a request that this kind of model cannot serve. help says which requests it serves.
func (m *Model) otherKind(help string) *wire.Error {
	kind := m.Model.Kind()
	article := "a"
	if kind == llama.Embedder {
		article = "an"
	}
	return &wire.Error{Status: http.StatusBadRequest, Code: "unsupported_model", Param: "model",
		Message: fmt.Sprintf("the model %.80q is %s %s: %s", m.Name, article, kind, help)}
}

// inGroups calls compute with texts that are computed together, one group after another, in one place of the queue. each is how many bytes the
// result of a text takes. tokens is how many the texts have, with the query before each.
func (m *Model) inGroups(ctx context.Context, in Compared, each int64, compute func(texts []string) error) (tokens int, err error) {
	var counts []int
	err = m.service.ProcessText(ctx, func() error {
		counts, err = m.count(in)
		return err
	})
	for _, n := range counts {
		tokens += n
	}
	if err == nil { // for the results
		err = m.request.Memory.Grow(each*int64(len(in.Texts)) + in.Long*int64(tokens))
	}
	if err != nil {
		return 0, Explain(ctx, err, nil)
	}
	places, err := m.Queue.Join(m.request.Client, 1)
	if err != nil {
		return 0, Explain(ctx, err, nil)
	}
	defer places[0].Leave()
	began := precise.Now()
	if err := places[0].Wait(ctx); err != nil {
		return 0, Explain(ctx, err, nil)
	}
	watch := m.request.Span
	watch.Begin(0, precise.Since(began))
	began = precise.Now()
	done, computed := 0, 0 // texts, and tokens: a client is not charged for those that were not computed
	for _, end := range groups(counts) {
		if err = compute(in.Texts[done:end]); err != nil {
			break
		}
		for _, n := range counts[done:end] {
			computed += n
		}
		done = end
	}
	watch.End(0, 0, llama.Stats{PromptTokens: computed, PrefillTime: precise.Since(began)})
	if err != nil {
		return 0, Explain(ctx, err, in.Names)
	}
	return tokens, nil
}

// count returns how many tokens the texts have, with the query.
func (m *Model) count(in Compared) ([]int, error) {
	t, most := m.Model.Tokenizer(), m.Model.LongestText()
	query := 0
	if in.Query != nil {
		pair, _ := t.EncodePair(*in.Query, "")
		query = len(pair)
	}
	counts := make([]int, len(in.Texts))
	for i, text := range in.Texts {
		place := in.Place(i)
		if text == "" {
			return nil, wire.Invalid(place, "%s is empty; it must be a text", place)
		}
		with, n := "", 0
		switch {
		case in.Query != nil:
			with, n = " with the query", query+len(t.Encode(text))
		case in.Seconds != nil:
			pair, _ := t.EncodePair(text, in.Seconds[i])
			n = len(pair)
		default:
			n = len(t.EncodeWhole(text))
		}
		if n > most && in.Long == 0 {
			return nil, &wire.Error{Status: http.StatusBadRequest, Code: "context_length_exceeded", Param: place,
				Message: fmt.Sprintf("%s has %d tokens%s, %d more than the %d that fit this model's context", place, n, with, n-most, most)}
		}
		counts[i] = n
	}
	return counts, nil
}

// Truncate leaves out the ends of texts that do not fit the model's context. It changes the list.
func (m *Model) Truncate(ctx context.Context, texts []string) error {
	t, most := m.Model.Tokenizer(), m.Model.LongestText()
	return m.service.ProcessText(ctx, func() error {
		for i, text := range texts {
			tokens := t.Encode(text)
			keep := len(tokens)
			for {
				over := len(t.EncodeWhole(texts[i])) - most
				if over <= 0 || keep == 0 {
					break
				}
				keep = max(0, keep-over)
				texts[i] = strings.TrimRight(t.Decode(tokens[:keep]...), "\ufffd") // half of a character
			}
			if keep < len(tokens) {
				m.request.Log.Info("a text to embed is too long, and its end is left out", slog.Int("tokens", len(tokens)), slog.Int("kept", keep))
			}
		}
		return nil
	})
}

// groups divides texts into groups that are computed together, and returns the end of each group. counts are the texts' numbers of tokens.
func groups(counts []int) (ends []int) {
	together := 0
	for i, n := range counts {
		if together += n; i > 0 && together > embedTogether {
			ends, together = append(ends, i), n
		}
	}
	return append(ends, len(counts))
}
