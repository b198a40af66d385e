package openai

import (
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
)

// chatLogprobs are the log-probabilities of an answer's tokens.
type chatLogprobs struct {
	Content []tokenLogprob `json:"content"`
	Refusal *string        `json:"refusal"`
}

type tokenLogprob struct {
	token
	Top []token `json:"top_logprobs"`
}

type token struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// logprobs returns the log-probabilities of a piece's tokens, nil if it has none.
func (in *chatRequest) logprobs(m *ask.Model, p llama.Piece) *chatLogprobs {
	if len(p.Logprobs) == 0 {
		return nil
	}
	out := &chatLogprobs{}
	t := m.Model.Tokenizer()
	for _, l := range p.Logprobs {
		one := tokenLogprob{token: tokenOf(t, l.Chosen), Top: []token{}}
		if in.TopLogprobs != nil {
			for _, other := range l.Top[:min(len(l.Top), *in.TopLogprobs)] {
				one.Top = append(one.Top, tokenOf(t, other))
			}
		}
		out.Content = append(out.Content, one)
	}
	return out
}

func tokenOf(t *llama.Tokenizer, l llama.TokenLogprob) token {
	bytes := t.AppendBytes(nil, l.Token)
	out := token{Token: string(bytes), Logprob: l.Logprob, Bytes: make([]int, len(bytes))}
	for i, b := range bytes {
		out.Bytes[i] = int(b)
	}
	return out
}
