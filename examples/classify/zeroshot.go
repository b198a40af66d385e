package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
)

// Labels of the user's own need a model that knows whether one sentence follows from another. For the text "The match ended 2:1" and the labels
// sports and politics it is asked about two pairs:
//
//	The match ended 2:1    This example is sports.      entailment 0.90, contradiction 0.02
//	The match ended 2:1    This example is politics.    entailment 0.03, contradiction 0.80
//
// With -any a label's score is entailment/(entailment + contradiction). Otherwise one label is right, and scores are a softmax of
// ln(entailment/contradiction), so that they add up to 1.

// zeroShot scores the labels of the user's own.
func (t *task) zeroShot(ctx context.Context, texts []line) error {
	follows, contradicts := -1, -1
	for i, name := range t.model.Config().Labels {
		switch name = strings.ToLower(name); {
		case strings.HasPrefix(name, "entail"):
			follows = i
		case strings.HasPrefix(name, "contradict") || strings.HasPrefix(name, "not_entail"):
			contradicts = i
		}
	}
	if follows < 0 || contradicts < 0 {
		return cli.Usagef("-labels needs a model with the labels entailment and contradiction; this one has %s", strings.Join(t.model.Config().Labels, ", "))
	}
	var pairs [][2]string
	for _, one := range texts {
		for _, name := range t.labels {
			pairs = append(pairs, [2]string{one.Text, strings.ReplaceAll(t.hypothesis, "{}", name)})
		}
	}
	all, err := t.model.ClassifyPairs(ctx, pairs...)
	if err != nil {
		return err
	}
	for i := range texts {
		labels := make([]llama.Label, len(t.labels))
		odds, sum := make([]float64, len(t.labels)), 0.0
		for j, name := range t.labels {
			scores := all[i*len(t.labels)+j]
			yes, no := float64(scores[follows].Score), float64(scores[contradicts].Score)
			labels[j].Name = name
			if t.any {
				labels[j].Score = float32(yes / max(yes+no, math.SmallestNonzeroFloat32))
				continue
			}
			odds[j] = max(yes, math.SmallestNonzeroFloat32) / max(no, math.SmallestNonzeroFloat32)
			sum += odds[j]
		}
		for j := range labels {
			if !t.any {
				labels[j].Score = float32(odds[j] / sum)
			}
		}
		texts[i].Labels = sorted(labels)
	}
	return nil
}

// sorted returns labels, the best one first.
func sorted(labels []llama.Label) (list []label) {
	for _, l := range labels {
		list = append(list, label{l.Name, l.Score})
	}
	slices.SortStableFunc(list, func(a, b label) int { return cmp.Compare(b.Score, a.Score) })
	return list
}
