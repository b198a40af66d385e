package ollama

import (
	"context"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// continued returns the tokens of a conversation that goes on: those of an earlier answer's context, the text that the model's chat
// template puts after an answer, and a message of the user with the opening of the next answer.
//
// The text after an answer is found in a conversation of three turns, after its second one. Example, of a template in the form of ChatML:
//
//	<|im_start|>user x<|im_end|> <|im_start|>assistant y <|im_end|> <|im_start|>user prompt<|im_end|> <|im_start|>assistant
//	\________________ closed _____________________________________/ \__________________ rest _________________________________/
//	                                                     \ ending /
func (q *question) continued(ctx context.Context, before []int, prompt string) ([]llama.Token, error) {
	t := q.model.Model.Tokenizer()
	tokens := make([]llama.Token, len(before))
	for i, n := range before {
		if n < 0 || n >= t.VocabSize() {
			at := fmt.Sprintf("context[%d]", i)
			return nil, wire.Invalid(at, "%s is %d; it must be a token's number, 0 to %d", at, n, t.VocabSize()-1)
		}
		tokens[i] = llama.Token(n)
	}
	turns := []llama.Message{{Role: llama.RoleUser, Content: "x"}, {Role: llama.RoleAssistant, Content: "y"}}
	rendered := q.params.Template
	rendered.NoOpening = true
	closed, err := q.model.Prompt(ctx, turns, rendered, q.names)
	if err != nil {
		return nil, err
	}
	whole, err := q.model.Prompt(ctx, append(turns, llama.Message{Role: llama.RoleUser, Content: prompt}), q.params.Template, q.names)
	if err != nil {
		return nil, err
	}
	ending := len(closed) - 1
	for ending >= 0 && !q.model.Model.IsEnd(closed[ending]) {
		ending--
	}
	if ending < 0 || len(whole) < len(closed) || !slices.Equal(whole[:len(closed)], closed) {
		return nil, wire.Unsupported("context", "context is not supported by this model's chat template: send the conversation to /api/chat")
	}
	return slices.Concat(tokens, closed[ending:], whole[len(closed):]), nil
}
