package openai

import (
	"github.com/antigravity-go/antigravity/llama"
)

// chatLogprobs are the log-probabilities of the tokens that the model chose for an answer, in their order: of its text, of its calls, and
// of a stop string that ended it. In a stream they come with the token, also where its text is held back, since more must come to tell what
// it is.
type chatLogprobs struct {
	Content []tokenLogprob `json:"content"`
	Refusal *string        `json:"refusal"`
}

type tokenLogprob struct {
	token
	Top []token `json:"top_logprobs"`
}

// token is a token with its log-probability. Where its bytes are no text by themselves, U+FFFD stands in Token for what is none. A special
// token has the name that the vocabulary has for it, and no bytes.
type token struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// logprobsOf returns the log-probabilities of a piece's tokens, nil if it has none.
func (t *chatTeller) logprobsOf(all []llama.Logprobs) *chatLogprobs {
	if len(all) == 0 {
		return nil
	}
	out := &chatLogprobs{}
	for _, l := range all {
		one := tokenLogprob{token: tokenOf(t.tokenizer, l.Chosen), Top: []token{}}
		for _, other := range l.Top[:min(len(l.Top), t.top)] {
			one.Top = append(one.Top, tokenOf(t.tokenizer, other))
		}
		out.Content = append(out.Content, one)
	}
	return out
}

func tokenOf(t *llama.Tokenizer, l llama.TokenLogprob) token {
	out := token{Token: t.Text(l.Token), Logprob: finite(l.Logprob)}
	if t.Special(l.Token) {
		return out
	}
	bytes := t.AppendBytes(nil, l.Token)
	out.Token, out.Bytes = string(bytes), make([]int, len(bytes))
	for i, b := range bytes {
		out.Bytes[i] = int(b)
	}
	return out
}

// leastLogprob stands for the log-probability of what has no chance, for which JSON has no number; it is OpenAI's.
const leastLogprob = -9999

// finite returns a log-probability that JSON has a number for.
func finite(logprob float32) float32 {
	if logprob >= leastLogprob {
		return logprob
	}
	return leastLogprob // less, or not a number
}
