package ask

import "github.com/antigravity-go/antigravity/llama"

// MaxTopLogprobs is the most alternatives that a client gets of a token: OpenAI's bound.
const MaxTopLogprobs = 20

// Logprobs writes log-probabilities as OpenAI's chat completions and Responses have them.
type Logprobs struct {
	Tokenizer *llama.Tokenizer
	Top       int // alternatives of a token
}

// TokenLogprob is the log-probability of a token that the model chose, and of the likeliest tokens in its place.
type TokenLogprob struct {
	TokenProb
	Top []TokenProb `json:"top_logprobs"` // never nil
}

// TokenProb is a token with its log-probability. In Token, U+FFFD stands for bytes that are no text by themselves. A special token has its
// name in the vocabulary, and no bytes.
type TokenProb struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // never nil
}

// Of returns the log-probabilities of a piece's tokens, or nil if the piece has no log-probabilities.
func (l *Logprobs) Of(p llama.Piece) (list []TokenLogprob) {
	for _, each := range p.Logprobs {
		one := TokenLogprob{TokenProb: l.token(each.Chosen), Top: []TokenProb{}}
		for _, other := range each.Top[:min(len(each.Top), l.Top)] {
			one.Top = append(one.Top, l.token(other))
		}
		list = append(list, one)
	}
	return list
}

func (l *Logprobs) token(t llama.TokenLogprob) TokenProb {
	out := TokenProb{Token: l.Tokenizer.Text(t.Token), Logprob: FiniteLogprob(t.Logprob), Bytes: []int{}}
	if l.Tokenizer.Special(t.Token) {
		return out
	}
	bytes := l.Tokenizer.AppendBytes(nil, t.Token)
	out.Token = string(bytes)
	for _, b := range bytes {
		out.Bytes = append(out.Bytes, int(b))
	}
	return out
}

// leastLogprob stands for the log-probability of a token without a chance, since JSON has no number for it; it is OpenAI's.
const leastLogprob = -9999

// FiniteLogprob returns a log-probability that JSON has a number for.
func FiniteLogprob(logprob float32) float32 {
	if logprob >= leastLogprob {
		return logprob
	}
	return leastLogprob // less, or not a number
}
