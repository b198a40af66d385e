package model

import (
	"fmt"
	"strings"

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
	Path    *Path // of labels of tokens that are marked B, I, E and S: the labels are those of the best path; nil: those with the best scores
	Padding int32 // a token that does not count at a text's end if LastPooling takes its last state; -1: no such token
}

// Path has a number for each step from a token's label to the next one's, which is added to the logarithm of a path's probability: from O to O, from O to a
// label that begins (B or S), from an entity's B or I to its I, from these to its E, from E or S to O, and from E or S to a label that begins. No other step
// is allowed.
type Path [6]float32

// The steps of a Path.
const (
	StayOutside = iota
	Enter
	GoOn
	Finish
	Leave
	EnterNext
)

// MarkOf returns how a label of a token is marked, O, B, I, E or S, and what follows the mark; 0 if it is not.
func MarkOf(label string) (mark byte, kind string) {
	switch {
	case label == "O":
		return 'O', ""
	case len(label) > 2 && label[1] == '-' && strings.IndexByte("BIES", label[0]) >= 0:
		return label[0], label[2:]
	}
	return 0, ""
}

// CanPath reports whether labels are O and, of each kind, B, I, E and S, and so may have a Path.
func CanPath(labels []string) bool {
	if len(labels) > maxPathLabels {
		return false
	}
	marks, outside := map[string]int{}, 0
	for _, label := range labels {
		switch mark, kind := MarkOf(label); mark {
		case 0:
			return false
		case 'O':
			outside++
		default:
			bit := 1 << strings.IndexByte("BIES", mark)
			if marks[kind]&bit != 0 {
				return false
			}
			marks[kind] |= bit
		}
	}
	for _, all := range marks {
		if all != 1<<4-1 {
			return false
		}
	}
	return outside == 1
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

// maxPathLabels is a limit that no model with a Path comes near: there are as many steps as its square.
const maxPathLabels = 1024

// maxPath is the most that a step of a path counts, in natural logarithms.
const maxPath = 1000

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
	if h.Path != nil {
		if !CanPath(h.Labels) {
			return unsupported.Errorf("the %d labels are those of a best path, and are not O and, of each kind, B-, I-, E- and S-, or more than %d", len(h.Labels), maxPathLabels)
		}
		for _, bias := range h.Path {
			if !(bias >= -maxPath && bias <= maxPath) {
				return fmt.Errorf("a step from one label to the next counts %g, not between %d and %d", bias, -maxPath, maxPath)
			}
		}
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
