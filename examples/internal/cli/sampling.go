package cli

import (
	"errors"
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
		f.Func("think", "`on` or off: whether the model thinks before it answers; unless given, as its chat template has it", func(word string) error {
			if word != "on" && word != "off" {
				return errors.New("it must be on or off")
			}
			p.Template.Thinking.Enabled = new(word == "on")
			return nil
		})
		f.IntVar(&p.Template.Thinking.Budget, "think-budget", 0, "`number` of tokens after which a thought is closed, so that the answer follows; 0: no bound")
		f.Sets(map[string]string{
			"Params.Template.Thinking.Budget": "think-budget",
			"Params.MaxTokens":                "n", "Params.Temperature": "temperature", "Params.TopK": "top-k", "Params.TopP": "top-p", "Params.MinP": "min-p",
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
