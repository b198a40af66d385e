package main

import (
	"math"

	"github.com/antigravity-go/antigravity/llama"
)

// prediction is a probability distribution over the next token.
type prediction struct {
	logits    []float32   // [vocab]
	favourite llama.Token // the likeliest token
	total     float64     // ln Σ exp(logits[i])
}

// newPrediction makes a prediction of logits, which it keeps.
func newPrediction(logits []float32) prediction {
	p := prediction{logits: logits}
	for i, v := range logits {
		if v > logits[p.favourite] {
			p.favourite = llama.Token(i)
		}
	}
	largest, sum := float64(logits[p.favourite]), 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - largest)
	}
	p.total = largest + math.Log(sum)
	return p
}

// log returns the natural logarithm of a token's probability.
func (p prediction) log(t llama.Token) float64 { return float64(p.logits[t]) - p.total }

// divergence returns the Kullback-Leibler divergence of another prediction from this one, Σ p·log(p/q), in nats.
func (p prediction) divergence(q prediction) (sum float64) {
	for i := range p.logits {
		log := p.log(llama.Token(i))
		sum += math.Exp(log) * (log - q.log(llama.Token(i)))
	}
	return max(sum, 0) // a divergence is never negative, but rounding may make its sum so
}
