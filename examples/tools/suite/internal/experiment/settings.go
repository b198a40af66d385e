package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// settings are a Config in the words of the packages that do the work.
type settings struct {
	config  *runs.Config
	weights tensor.DType // 0: as they are stored
	kv      tensor.DType
	policy  eviction.Policy
	skills  []string // of the questions; empty: all of the file
}

// The most that a Config may ask for, far beyond what makes sense: sums of these fit an int of 32 bits.
const (
	maxTokens  = 1 << 24
	maxThreads = 4096
	maxFactor  = 100 // of Handicap
)

// newSettings checks what can be checked of a Config before the model is loaded. Errors begin with the name of the axis that is wrong.
func newSettings(c *runs.Config) (*settings, error) {
	s := &settings{config: c}
	var err error
	switch {
	case c.Model == "":
		return nil, fmt.Errorf("model: it must be pebble, flint or a path")
	case c.Threads < 0 || c.Threads > maxThreads:
		return nil, fmt.Errorf("threads %d: it must be 1 to %d, or 0 for one of each processor", c.Threads, maxThreads)
	case c.Prompt < 1 || c.Prompt > maxTokens:
		return nil, fmt.Errorf("prompt %d: it must be 1 to %d tokens, since nothing can be generated after none", c.Prompt, maxTokens)
	case c.Generate < 0 || c.Generate > maxTokens:
		return nil, fmt.Errorf("generate %d: it must be 0 to %d tokens", c.Generate, maxTokens)
	case !(c.Handicap >= 0 && c.Handicap <= maxFactor): // NaN too
		return nil, fmt.Errorf("handicap %v: it must be 0 to %d", c.Handicap, maxFactor)
	case c.Questions != "" && c.Asked < 1:
		return nil, fmt.Errorf("asked %d: with a file of questions it must be at least 1, how many of each skill are asked", c.Asked)
	}
	if c.Weights != "" {
		if s.weights, err = oneOf(c.Weights, tensor.Q4_0, tensor.Q4_1, tensor.Q8_0, tensor.F16, tensor.BF16, tensor.F32); err != nil {
			return nil, fmt.Errorf("weights %w, or empty for the type that is stored", err)
		}
	}
	if s.kv, err = oneOf(c.KV, tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0); err != nil {
		return nil, fmt.Errorf("kv %w", err)
	}
	if s.policy, err = newPolicy(c); err != nil {
		return nil, err
	}
	for skill := range strings.SplitSeq(c.Skills, ",") {
		if skill = strings.TrimSpace(skill); skill != "" {
			s.skills = append(s.skills, skill)
		}
	}
	return s, nil
}

// oneOf returns the type of a name among those that are known.
func oneOf(name string, known ...tensor.DType) (tensor.DType, error) {
	i := slices.IndexFunc(known, func(d tensor.DType) bool { return strings.EqualFold(d.String(), name) })
	if i < 0 {
		names := make([]string, len(known))
		for i, d := range known {
			names[i] = d.String()
		}
		return 0, fmt.Errorf("%q: it must be one of %s", name, strings.Join(names, ", "))
	}
	return known[i], nil
}

// newPolicy makes the eviction policy, which has the window for its budget: a sliding one's protected tokens are part of it.
func newPolicy(c *runs.Config) (eviction.Policy, error) {
	const sliding = "sliding"
	observing := []string{"snapkv", "pyramidkv", "ada"}
	named := strings.ToLower(c.Policy)
	o := eviction.Options{Budget: c.Window}
	switch {
	case named == eviction.None.Name() && c.Window != 0:
		return nil, fmt.Errorf("window %d: with the policy %s it must be 0", c.Window, named)
	case named != sliding && c.Protected != 0:
		return nil, fmt.Errorf("protected %d: with a policy other than %s it must be 0", c.Protected, sliding)
	case c.Protected < 0 || c.Protected > maxTokens:
		return nil, fmt.Errorf("protected %d: it must be 0 to %d tokens", c.Protected, maxTokens)
	case named == sliding && c.Protected == 0:
		o.ProtectedPrefix = -1 // to eviction, 0 is the default
	case named == sliding:
		o.ProtectedPrefix = c.Protected
	case slices.Contains(observing, named):
		o.Observation = min(observation, max(c.Window/2, 1)) // of a small window the latest queries take half at most
	}
	p, err := eviction.ByName(c.Policy, o)
	if err != nil {
		return nil, fmt.Errorf("policy and window: %w", err)
	}
	return p, nil
}

// observation is the number of latest queries by which the policies choose that look at such: eviction's own default.
const observation = 32

// fits checks the Config against the model's.
func (s *settings) fits(model llama.Config) error {
	if tokens := s.config.Prompt + s.config.Generate; tokens > model.ContextLength {
		return fmt.Errorf("prompt %d and generate %d: the context of %s has %d tokens, not %d",
			s.config.Prompt, s.config.Generate, s.config.Model, model.ContextLength, tokens)
	}
	return nil
}

// session opens a session for a conversation of a number of tokens.
func (s *settings) session(model *llama.Model, tokens int) (*llama.Session, error) {
	o := &llama.SessionOptions{KV: s.kv, Eviction: s.policy}
	if s.policy == eviction.None { // otherwise the policy says what it needs
		o.Capacity = min(tokens, model.Config().ContextLength)
	}
	session, err := model.NewSession(o)
	if err != nil {
		return nil, fmt.Errorf("a session with kv %s, policy %s and a window of %d: %w", s.config.KV, s.config.Policy, s.config.Window, err)
	}
	return session, nil
}
