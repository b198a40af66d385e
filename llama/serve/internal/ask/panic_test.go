package ask

import (
	"net/http"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
)

// TestPanicEndsOneAnswer checks that a panic while an answer is computed is that answer's error, and that the others go on.
func TestPanicEndsOneAnswer(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	registry, err := models.New([]models.Spec{{Name: "flint", Loaded: model}}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close(t.Context())
	m, err := (&Service{Models: registry, MaxAnswers: 2}).Open(t.Context(), "flint")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	choice := Choice{Prompt: model.Tokenizer().Encode("The capital of"), Params: llama.Params{MaxTokens: 3}}
	broken := choice
	broken.Params.Mask = llama.LogitMaskFunc(func([]llama.Token, []float32) error { panic("a mistake") })
	answers, err := m.Ask(t.Context(), []Choice{broken, choice}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Close()
	tokens := 0
	var failed *Event
	for {
		e, ok := answers.Next()
		if !ok {
			break
		}
		if e.Err != nil {
			failed = &e
		}
		tokens += len(e.Piece.Tokens)
	}
	if failed == nil || failed.Choice != 0 || failed.Err.Status != http.StatusInternalServerError || failed.Err.Err == nil || tokens == 0 {
		t.Errorf("%d tokens, and the failure is %+v", tokens, failed)
	}
}
