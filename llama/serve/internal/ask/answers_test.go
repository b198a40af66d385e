package ask

import (
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
)

// Answers may be complete before anybody begins to read them, and do not keep the model then.
func TestAnswersThatNobodyReadsYet(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	registry, err := models.New([]models.Spec{{Name: "flint", Loaded: model}}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close(t.Context())
	service := &Service{Models: registry, MaxAnswers: 2}
	m, err := service.Open(t.Context(), "flint")
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
	if n := registry.List()[0].InUse; n != 0 {
		t.Errorf("the model has %d leases, though all is computed", n)
	}
	text, ended := [2]string{}, 0
	for {
		e, ok := answers.Next()
		if !ok {
			break
		}
		text[e.Choice] += e.Piece.Text
		if e.last() {
			ended++
		}
	}
	if ended != 2 || text[0] == "" || text[0] != text[1] {
		t.Errorf("%d ends, %q: want two equal answers", ended, text)
	}
}
