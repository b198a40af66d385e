package ask

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Embed returns the vectors of texts, which are computed together in one place of the queue, and how many tokens they have. place names a
// text in errors: "input[3]". What is wrong with a text is told before anything waits.
func (m *Model) Embed(ctx context.Context, texts []string, place func(i int) string) (vectors [][]float32, tokens int, err error) {
	t, most := m.Model.Tokenizer(), m.Model.Config().ContextLength
	begin := len(t.EncodeSpecial("", true))
	for i, text := range texts {
		if text == "" {
			return nil, 0, wire.Bad(place(i), "%s is empty; it must be a text", place(i))
		}
		n := begin + len(t.Encode(text))
		if n > most {
			return nil, 0, &wire.Error{Status: http.StatusBadRequest, Code: "context_length_exceeded", Param: place(i),
				Message: fmt.Sprintf("%s has %d tokens, %d more than the %d that fit this model's context", place(i), n, n-most, most)}
		}
		tokens += n
	}
	places, err := m.Queue.Join(m.request.Client, 1)
	if err != nil {
		return nil, 0, Explain(ctx, err, nil)
	}
	defer places[0].Leave()
	began := time.Now()
	if err := places[0].Wait(ctx); err != nil {
		return nil, 0, Explain(ctx, err, nil)
	}
	watch := m.request.Watch
	watch.Begin(0, time.Since(began))
	began = time.Now()
	vectors, err = m.Model.Embed(ctx, texts...)
	watch.End(0, 0, llama.Stats{PromptTokens: tokens, PrefillTime: time.Since(began)})
	if err != nil {
		return nil, 0, Explain(ctx, err, nil)
	}
	return vectors, tokens, nil
}
