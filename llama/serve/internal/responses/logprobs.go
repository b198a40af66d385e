package responses

import (
	"github.com/antigravity-go/antigravity/llama"
)

// tokenLogprob is the log-probability of a token of a text, and of the likeliest tokens in its place.
type tokenLogprob struct {
	token
	Top []token `json:"top_logprobs"`
}

type token struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// leastLogprob stands for the log-probability of what has no chance or no number, which JSON cannot say; it is OpenAI's.
const leastLogprob = -9999

// logprobs writes log-probabilities, with so many alternatives.
type logprobs struct {
	tokenizer *llama.Tokenizer
	top       int
}

// of returns those of a piece's tokens: none if they were not asked for.
func (l *logprobs) of(p llama.Piece) (list []tokenLogprob) {
	for _, each := range p.Logprobs {
		one := tokenLogprob{token: l.token(each.Chosen), Top: []token{}}
		for _, other := range each.Top[:min(len(each.Top), l.top)] {
			one.Top = append(one.Top, l.token(other))
		}
		list = append(list, one)
	}
	return list
}

func (l *logprobs) token(t llama.TokenLogprob) token {
	bytes := l.tokenizer.AppendBytes(nil, t.Token)
	out := token{Token: string(bytes), Logprob: leastLogprob, Bytes: make([]int, len(bytes))}
	if t.Logprob > leastLogprob {
		out.Logprob = t.Logprob
	}
	for i, b := range bytes {
		out.Bytes[i] = int(b)
	}
	return out
}
