package llama

import (
	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/llama/internal/sampling"
)

// TokenLogprob is a token with the natural logarithm of its probability.
type TokenLogprob struct {
	Token   Token
	Text    string // the token's bytes, as AppendBytes gives them: perhaps a part of a character
	Logprob float32
}

// Logprobs are the log-probabilities at one generated token, by the model's own distribution: before mask, constraint, penalties,
// temperature and truncation.
type Logprobs struct {
	Chosen TokenLogprob
	Top    []TokenLogprob // the likeliest tokens, likeliest first, as many as Params.Logprobs asked for
}

// logprobs computes the log-probabilities of the chosen and the n likeliest tokens. The tokenizer has their texts.
func logprobs(logits []float32, chosen Token, n int, tokenizer *Tokenizer) Logprobs {
	norm := sampling.LogSumExp(logits)
	at := func(t Token) TokenLogprob {
		return TokenLogprob{t, string(tokenizer.AppendBytes(nil, t)), float32(float64(logits[t]) - norm)}
	}
	result := Logprobs{Chosen: at(chosen)}
	n = min(n, len(logits))
	top := make([]int32, n)
	selection.Largest(logits, top, make([]float32, n))
	for _, t := range top {
		result.Top = append(result.Top, at(Token(t)))
	}
	return result
}
