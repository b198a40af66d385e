package cli

import (
	"math/rand/v2"

	"github.com/antigravity-go/antigravity/llama"
)

// SamplingFlags defines the flags of p's fields; answer is the default for the most tokens of an answer.
func SamplingFlags(f *Flags, p *llama.Params, answer int) {
	f.Group("Sampling", func() {
		f.IntVar(&p.MaxTokens, "n", answer, "`number` of tokens to generate at most; 0: until the model or the context ends")
		f.Float32(&p.Temperature, "temperature", "the higher `t`, the freer the choice: it divides the logits; 0: always the likeliest token")
		f.IntVar(&p.TopK, "top-k", 0, "draw among the `k` likeliest tokens; 0: all")
		f.Float32(&p.TopP, "top-p", "draw among the likeliest tokens whose probabilities reach `p` together; 0: all")
		f.Float32(&p.MinP, "min-p", "draw among tokens at least `p` times as likely as the likeliest; 0: all")
		f.Float32(&p.RepeatPenalty, "repeat-penalty", "`factor` that makes tokens less likely which occurred lately; 0 or 1: none")
		f.Uint64Var(&p.Seed, "seed", 0, "`number` that the draws start from: the same one gives the same answer; random unless given")
		f.Strings(&p.Stop, "stop", "`text` that ends an answer and is not part of it; may be repeated")
		f.Sets(map[string]string{
			"Params.MaxTokens": "n", "Params.Temperature": "temperature", "Params.TopK": "top-k", "Params.TopP": "top-p", "Params.MinP": "min-p",
			"Params.RepeatPenalty": "repeat-penalty", "Params.Stop": "stop",
		})
	})
}

// Seed gives p a random seed unless one was given.
func Seed(f *Flags, p *llama.Params) {
	if !f.Given("seed") {
		p.Seed = uint64(rand.Uint32()) // short enough to type again
	}
}
