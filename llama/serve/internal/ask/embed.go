package ask

import (
	"context"
	"fmt"
	"net/http"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// embedTogether is how many tokens texts have at most that are computed together. One text may have more. So a request with many texts competes
// with others as one that has a long prompt does, and not as one for each text: they would wait for all of those whenever they come.
const embedTogether = 512

// Embed returns the vectors of texts, which are computed in one place of the queue, and how many tokens they have. place names a text in
// errors: "input[3]". What is wrong with a text is told before anything waits.
func (m *Model) Embed(ctx context.Context, texts []string, place func(i int) string) (vectors [][]float32, tokens int, err error) {
	var counts []int
	err = m.service.ProcessText(ctx, func() error {
		counts, err = m.count(texts, place)
		return err
	})
	if err == nil { // for the vectors
		err = m.request.Memory.Grow(4 * int64(len(texts)) * int64(m.Model.Config().HiddenSize))
	}
	if err != nil {
		return nil, 0, Explain(ctx, err, nil)
	}
	for _, n := range counts {
		tokens += n
	}
	places, err := m.Queue.Join(m.request.Client, 1)
	if err != nil {
		return nil, 0, Explain(ctx, err, nil)
	}
	defer places[0].Leave()
	began := precise.Now()
	if err := places[0].Wait(ctx); err != nil {
		return nil, 0, Explain(ctx, err, nil)
	}
	watch := m.request.Span
	watch.Begin(0, precise.Since(began))
	began = precise.Now()
	var group [][]float32
	for _, end := range groups(counts) {
		group, err = m.Lease.Embed(ctx, texts[len(vectors):end]...)
		if err != nil {
			break
		}
		vectors = append(vectors, group...)
	}
	watch.End(0, 0, llama.Stats{PromptTokens: tokens, PrefillTime: precise.Since(began)})
	if err != nil {
		return nil, 0, Explain(ctx, err, nil)
	}
	return vectors, tokens, nil
}

// count returns how many tokens the texts have.
func (m *Model) count(texts []string, place func(i int) string) ([]int, error) {
	t, most := m.Model.Tokenizer(), m.Model.Config().ContextLength
	counts := make([]int, len(texts))
	for i, text := range texts {
		if text == "" {
			return nil, wire.Invalid(place(i), "%s is empty; it must be a text", place(i))
		}
		n := len(t.EncodeWhole(text))
		if n > most {
			return nil, &wire.Error{Status: http.StatusBadRequest, Code: "context_length_exceeded", Param: place(i),
				Message: fmt.Sprintf("%s has %d tokens, %d more than the %d that fit this model's context", place(i), n, n-most, most)}
		}
		counts[i] = n
	}
	return counts, nil
}

// groups returns where the groups of texts end that are computed together, for how many tokens the texts have.
func groups(counts []int) (ends []int) {
	together := 0
	for i, n := range counts {
		if together += n; i > 0 && together > embedTogether {
			ends, together = append(ends, i), n
		}
	}
	return append(ends, len(counts))
}
