package model

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Head is what a model has that puts labels on texts, or on tokens: the states that Pooling chooses pass through Layers, and the last layer makes a
// number for each label. The zero value is a model without such a head. For example, a reranker of BERT's has
//
//	Pooling FirstPooling, Layers {64 → 64 with a bias, then tanh; 64 → 1 with a bias}, Labels {"LABEL_0"}
//
// and a model that finds names of persons in texts EachPooling, Layers {64 → 3 with a bias}, Labels {"O", "B-PER", "I-PER"}.
type Head struct {
	Pooling Pooling
	Layers  []HeadLayer // at most two
	Labels  []string
	Problem Problem
	Padding int32 // a token that does not count at a text's end if LastPooling takes its last state; -1: no such token
}

// HeadLayer is a layer of a head, and whether a norm follows it, with a bias.
type HeadLayer struct {
	Dense
	Norm, NormBias bool
}

// Given reports whether the model has a head.
func (h *Head) Given() bool { return len(h.Layers) > 0 }

// Each reports whether each token gets labels, and not the text.
func (h *Head) Each() bool { return h.Pooling == EachPooling }

// Pooling says which of a text's last hidden states make its vector, or are labelled.
type Pooling uint8

// The ways to pool.
const (
	MeanPooling     Pooling = iota // the mean of all: also if nothing is said
	FirstPooling                   // that of the first token, which may be one like [CLS]
	LastPooling                    // that of the last token, which may be one that ends a text
	MaxPooling                     // the largest of each element
	RootPooling                    // the sum of all, divided by the square root of their number
	WeightedPooling                // the mean of all, the i-th of them, counted from 1, with weight i
	EachPooling                    // all, one by one: of a Head alone
)

// Problem says how a head's numbers become scores.
type Problem uint8

// The problems.
const (
	OneLabel   Problem = iota // one label is right: scores are a softmax over all of them
	AnyLabels                 // any number of labels is right: a sigmoid of each
	Regression                // the numbers are the scores
)

// MaxLabels is a limit that no model comes near.
const MaxLabels = 1 << 16

// validate checks that the sizes fit together.
func (h *Head) validate(c *Config) error {
	switch {
	case !h.Given():
		return nil
	case len(h.Layers) > 2:
		return unsupported.Errorf("a head that labels texts has %d layers; at most 2 are implemented", len(h.Layers))
	case len(h.Labels) == 0 || len(h.Labels) > MaxLabels:
		return fmt.Errorf("the model has %d labels, not between 1 and %d", len(h.Labels), MaxLabels)
	}
	width := c.HiddenSize
	for _, l := range h.Layers {
		if l.In != width || l.Out < 1 || l.Out > MaxWidth {
			return fmt.Errorf("a layer of the head that labels texts makes %d numbers of %d, and gets %d", l.Out, l.In, width)
		}
		width = l.Out
	}
	if width != len(h.Labels) {
		return fmt.Errorf("the head makes %d numbers for %d labels", width, len(h.Labels))
	}
	return c.CheckTokens(h.Padding)
}

// Part returns which part layer n of the head is.
func (h *Head) Part(n int) Part {
	if n < len(h.Layers)-1 {
		return ScoreDense
	}
	return ScoreOutput
}

// tensors lists the head's tensors.
func (h *Head) tensors() (list []Tensor) {
	for i, l := range h.Layers {
		p := h.Part(i)
		list = append(list, Tensor{Part: p, Shape: []int{l.Out, l.In}, Role: Pooled})
		if l.Bias {
			list = append(list, Tensor{Part: p, Bias: true, Shape: []int{l.Out}, Role: Vector})
		}
		if l.Norm {
			list = append(list, Tensor{Part: ScoreNorm, Shape: []int{l.Out}, Role: Vector})
		}
		if l.Norm && l.NormBias {
			list = append(list, Tensor{Part: ScoreNorm, Bias: true, Shape: []int{l.Out}, Role: Vector})
		}
	}
	return list
}
