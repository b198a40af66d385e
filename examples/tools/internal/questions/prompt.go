package questions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
)

// Prompt is a question in tokens.
type Prompt struct {
	Before []llama.Token // read before the eviction
	After  []llama.Token // read after it; empty unless the question is a late one
	Answer string
}

// Render applies the model's chat template.
func (q *Question) Render(t *llama.Tokenizer) (p Prompt, err error) {
	history := make([]llama.Message, len(q.Messages))
	for i, m := range q.Messages {
		history[i] = llama.Message{Role: m[0], Content: m[1]}
	}
	p.Answer = q.Answer
	if p.Before, err = t.Template(history, llama.TemplateOptions{}); err != nil || !q.Late() {
		return p, err
	}
	begun, err := t.Template(history[:len(history)-1], llama.TemplateOptions{NoOpening: true})
	if err != nil {
		return p, err
	}
	if len(begun) > len(p.Before) || !slices.Equal(begun, p.Before[:len(begun)]) {
		return p, fmt.Errorf("the chat template renders the beginning of a conversation otherwise than the whole: it cannot be cut before the last message")
	}
	p.Before, p.After = begun, p.Before[len(begun):]
	return p, nil
}

// MaxAnswer is the most tokens that an answer may have: a longer one is wrong.
const MaxAnswer = 120

// Tokens returns how many tokens the conversation can come to have.
func (p *Prompt) Tokens() int { return len(p.Before) + len(p.After) + MaxAnswer }

// Answered reports whether the greedy answer of a session that has read Before is the right one. It stops as soon as the text differs.
func (p *Prompt) Answered(ctx context.Context, s *llama.Session) (bool, error) {
	var text strings.Builder
	for piece, err := range s.Generate(ctx, p.After, llama.Params{MaxTokens: MaxAnswer}) {
		if err != nil {
			return false, err
		}
		text.WriteString(piece.Text)
		if !strings.HasPrefix(p.Answer, text.String()) {
			return false, nil
		}
	}
	return text.String() == p.Answer, nil
}
