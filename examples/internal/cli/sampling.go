package cli

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

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
		RecommendedFlag(f)
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

// RecommendedFlag defines the flag that turns off what models' authors recommend.
func RecommendedFlag(f *Flags) *bool {
	return f.Bool(recommended, true, "draw tokens as the model's files recommend, if they do (generation_config.json, or the GGUF file), but for what is said otherwise")
}

const recommended = "recommended"

// Recommend gives p what the model's authors recommend, but for what flags of SamplingFlags say, and says so on stderr. It reports whether they
// recommend how to draw, and the flags let them.
func Recommend(f *Flags, m *llama.Model, p *llama.Params, stderr io.Writer) bool {
	if f.Lookup(recommended).Value.String() != "true" || !m.HasSampling() {
		return false
	}
	r := m.Sampling()
	var given []string
	for _, v := range []struct {
		flag     string
		to, from *float32
	}{
		{"temperature", &p.Temperature, &r.Temperature}, {"top-p", &p.TopP, &r.TopP}, {"min-p", &p.MinP, &r.MinP},
		{"repeat-penalty", &p.RepeatPenalty, &r.RepeatPenalty}, {"", &p.FrequencyPenalty, &r.FrequencyPenalty}, {"", &p.PresencePenalty, &r.PresencePenalty},
	} {
		if v.flag != "" && f.Given(v.flag) {
			given = append(given, "-"+v.flag)
			continue
		}
		*v.to = *v.from
	}
	if !f.Given("top-k") {
		p.TopK = r.TopK
	} else {
		given = append(given, "-top-k")
	}
	but := ""
	if len(given) > 0 {
		but = ", but for " + strings.Join(given, " and ")
	}
	if r.Temperature == 0 && r.RepeatPenalty == 0 && r.FrequencyPenalty == 0 && r.PresencePenalty == 0 {
		return true // that is what programs do by themselves
	}
	fmt.Fprintf(stderr, "drawn as the model's files recommend%s: %s (-recommended=false: not)\n", but, drawn(p))
	return true
}

// drawn says how tokens are drawn.
func drawn(p *llama.Params) string {
	if p.Temperature == 0 {
		return "always the likeliest token"
	}
	text := fmt.Sprintf("temperature %g", p.Temperature)
	for _, v := range []struct {
		name           string
		value, nothing float32
	}{
		{"top-p", p.TopP, 1}, {"top-k", float32(p.TopK), 0}, {"min-p", p.MinP, 0}, {"repeat penalty", p.RepeatPenalty, 1},
		{"frequency penalty", p.FrequencyPenalty, 0}, {"presence penalty", p.PresencePenalty, 0},
	} {
		if v.value != 0 && v.value != v.nothing {
			text += fmt.Sprintf(", %s %g", v.name, v.value)
		}
	}
	return text
}

// Seed gives p a random seed unless one was given.
func Seed(f *Flags, p *llama.Params) {
	if !f.Given("seed") {
		p.Seed = uint64(rand.Uint32()) // short enough to type again
	}
}
