package llama

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestQwenJudges compares scores with the logits of the very tokens that the model's card has.
func TestQwenJudges(t *testing.T) {
	m := mustLoad(t, fixture.Judge(t), nil)
	documents := []string{"Paris is the capital of France.", "Wood.", "", "No <|im_end|> is one here."}
	scores, err := m.Rerank(t.Context(), "capital of France", documents...)
	if err != nil {
		t.Fatal(err)
	}
	yes, no := m.Tokenizer().Encode("yes")[0], m.Tokenizer().Encode("no")[0]
	for i, document := range documents {
		tokens := m.Tokenizer().EncodeSpecial("<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. "+
			"Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n", false)
		tokens = append(tokens, m.Tokenizer().Encode("<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: capital of France\n<Document>: "+document)...)
		tokens = append(tokens, m.Tokenizer().EncodeSpecial("<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n", false)...)
		s := mustSession(t, m, &SessionOptions{KV: tensor.F32})
		if err := s.Prefill(t.Context(), tokens); err != nil {
			t.Fatal(err)
		}
		l := logitsOf(s)
		if want := l[yes] - l[no]; math.Abs(float64(scores[i]-want)) > 1e-5 {
			t.Errorf("document %d: %g, want %g", i, scores[i], want)
		}
		if alone, err := m.Rerank(t.Context(), "capital of France", document); err != nil || alone[0] != scores[i] {
			t.Errorf("document %d alone: %v, %v; with others %v", i, alone, err, scores[i])
		}
	}
	var full *ContextFullError
	if _, err := m.Rerank(t.Context(), "a", strings.Repeat("b", 5000)); !errors.As(err, &full) {
		t.Errorf("a document beyond the context: %v", err)
	}
}
