package model

import (
	"cmp"
	"fmt"
)

// Experts describes the feed-forward networks of layers with Routed or GatedAndRouted: a router gives each of Count networks a score for a token, and the
// Chosen ones with the largest scores compute it. The zero value: no layer has experts.
type Experts struct {
	Count, Chosen int
	Width         int     // of one expert's network
	Latent        int     // the width of what experts read and write, which projections make of the residual stream's and back; 0: that of the stream
	Ungated       bool    // networks are down(activation(up(x))), the shared one too
	SharedWidth   int     // of the network for every token; its result is added to the experts'; 0: no such network
	SharedGated   bool    // the shared network's result is multiplied by a number for each token, the sigmoid of a product
	Scores        Scores  // what the router's logits become
	Normalized    bool    // the scores of the chosen experts are divided by their sum
	Corrected     bool    // experts are chosen by their scores plus a number for each expert, which the weights do not have
	Scale         float64 // what the weights of the chosen experts are multiplied by; 0: 1
	Groups        int     // of experts that are neighbours: a token chooses ChosenGroups of them first; 0: there are no groups
	ChosenGroups  int
	Limit         float64 // what gate and up are limited to, for gpt-oss's activation; 0: the activation is that of dense networks
	Biased        bool    // the router and the experts have biases
}

// Scores is the function of a router's logits. The values are those of GGUF's expert_gating_func less one.
type Scores uint8

// The kinds of scores.
const (
	SoftmaxAll    Scores = iota // the softmax of all logits
	Sigmoid                     // the sigmoid of each logit
	SoftmaxChosen               // the softmax of the logits of the chosen experts
)

// validate checks the sizes of experts, for a model in which some layers have experts, or no layer.
func (e *Experts) validate(some bool) error {
	if some != (e.Count > 0) {
		return fmt.Errorf("the model has %d experts, and layers with experts: %v", e.Count, some)
	}
	if *e == (Experts{}) {
		return nil
	}
	for _, f := range []struct {
		name            string
		value, min, max int
	}{
		{"the number of experts", e.Count, 1, MaxExperts}, {"the number of experts for a token", e.Chosen, 1, min(e.Count, MaxChosen)},
		{"the width of an expert", e.Width, 1, MaxWidth}, {"the width of the shared expert", e.SharedWidth, 0, MaxWidth},
		{"the width of what experts read", e.Latent, 0, MaxWidth},
	} {
		if f.value < f.min || f.value > f.max {
			return fmt.Errorf("%s is %d, not between %d and %d", f.name, f.value, f.min, f.max)
		}
	}
	if g := e.Groups; g != 0 && (g < 2 || e.Count%g != 0 || e.ChosenGroups < 1 || e.ChosenGroups > g || e.Chosen > e.Count/g*e.ChosenGroups || e.Corrected && e.Count/g < 2) {
		return fmt.Errorf("%d experts of %d in %d of %d groups: there are not so many", e.Chosen, e.Count, e.ChosenGroups, g)
	}
	if e.Scale != 0 && !(e.Scale >= minScale && e.Scale <= maxScale) || e.Limit != 0 && !(e.Limit >= minScale && e.Limit <= maxScale) {
		return fmt.Errorf("experts are scaled by %g and limited to %g, not between %g and %g", e.Scale, e.Limit, minScale, maxScale)
	}
	return nil
}

// lacks reports whether the networks of layers with experts do without a part that others have.
func (e *Experts) lacks(p Part) bool {
	switch p {
	case RouterCorrection:
		return !e.Corrected
	case SharedRouter:
		return !e.SharedGated || e.SharedWidth == 0
	case SharedGate:
		return e.SharedWidth == 0 || e.Ungated
	case SharedUp, SharedDown:
		return e.SharedWidth == 0
	case ExpertGate:
		return e.Ungated
	case LatentDown, LatentUp:
		return e.Latent == 0
	}
	return false
}

// ExpertInput returns the width of what experts read and write.
func (c *Config) ExpertInput() int { return cmp.Or(c.Experts.Latent, c.HiddenSize) }
