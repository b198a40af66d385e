package ask

import (
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
)

// Answers may be complete before anybody begins to collect them.
func TestCollectAfterTheEnd(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	registry, err := models.New([]models.Spec{{Name: "flint", Model: model}}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close(t.Context())
	desk := &Desk{Models: registry, Answers: 2}
	m, err := desk.Open(t.Context(), "flint")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	choice := Choice{Prompt: model.Tokenizer().Encode("The capital of"), Params: llama.Params{MaxTokens: 1}}
	answers, err := m.Ask(t.Context(), []Choice{choice, choice}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Close()
	answers.running.Wait()
	pieces, err := answers.Collect()
	if err != nil || len(pieces) != 2 || pieces[0].Text == "" || pieces[0].Text != pieces[1].Text {
		t.Errorf("%v, %+v: want two equal answers", err, pieces)
	}
}
