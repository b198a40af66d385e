package llama

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A text that is longer than its model is classified in windows, which share a quarter of their tokens. For example, a text of 1100 tokens by a model that
// takes 512, two of them special ones:
//
//	window   tokens         scores      weight
//	0        0 to 509       0.9 0.1     510
//	1        383 to 892     0.2 0.8     383
//	2        766 to 1099    0.7 0.3     207
//
// A window's weight is how many of its tokens no window before it has. The means of the scores are 0.62 and 0.38, and the largest ones 0.9 and 0.8.

// Windows says how a text is classified that is longer than Model.LongestText.
type Windows uint8

// The ways to classify long texts.
const (
	NoWindows  Windows = iota // not at all: a *ContextFullError, as Model.Classify
	MeanScores                // by the means of the windows' scores, each weighted by its tokens that no window before it has
	BestScores                // by the largest score that a label has in any window, as a guard wants it: then scores do not add up to 1
)

// windowsNames are the names of the ways.
var windowsNames = []string{NoWindows: "none", MeanScores: "mean", BestScores: "best"}

// String returns the name of the way, as "mean".
func (way Windows) String() string { return nameOf(windowsNames, way) }

// UnmarshalText reads what String returns.
func (way *Windows) UnmarshalText(text []byte) error {
	return readName(way, windowsNames, "the way to classify long texts", text)
}

// nameOf returns the name of a value.
func nameOf[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprint(uint8(v))
}

// readName reads the name of a value.
func readName[T ~uint8](v *T, names []string, field string, text []byte) error {
	at := slices.Index(names, string(text))
	if at < 0 {
		return &ParamError{field, fmt.Sprintf("%.40q", text), "one of " + strings.Join(names, ", ")}
	}
	*v = T(at)
	return nil
}

// Classify is m.Classify with texts of any length. Texts that the model takes as a whole have the scores of m.Classify.
func (way Windows) Classify(ctx context.Context, m *Model, texts ...string) ([][]Label, error) {
	switch {
	case way == NoWindows:
		return m.Classify(ctx, texts...)
	case way > BestScores:
		return nil, &ParamError{"the way to classify long texts", way, "one of the constants NoWindows, MeanScores and BestScores"}
	}
	if err := canClassify(m); err != nil {
		return nil, err
	}
	before, after := m.tokenizer.EncodeSpecial("", true), fromInt32(m.tokenizer.around.After())
	room := m.LongestText() - len(before) - len(after)
	result := make([][]Label, len(texts))
	for i, text := range texts {
		tokens := m.tokenizer.Encode(text)
		if len(tokens) <= room || room < 1 {
			labels, err := m.Classify(ctx, text)
			if err != nil {
				return nil, fmt.Errorf("text %d: %w", i, err)
			}
			result[i] = labels[0]
			continue
		}
		merged, seen := make([]float64, len(m.config.Head.Labels)), 0
		for windows := range slices.Chunk(windowsOf(len(tokens), room), windowsTogether) {
			l := labelling{model: m}
			for _, w := range windows {
				l.texts = append(l.texts, slices.Concat(before, tokens[w.start:w.end], after))
			}
			all, err := l.labels(ctx)
			if err != nil {
				return nil, fmt.Errorf("text %d: %w", i, err)
			}
			for n, labels := range all {
				way.merge(merged, labels, windows[n].end-seen, seen == 0)
				seen = windows[n].end
			}
		}
		for n, name := range m.config.Head.Labels {
			if way == MeanScores {
				merged[n] /= float64(seen)
			}
			result[i] = append(result[i], Label{name, float32(merged[n])})
		}
	}
	return result, nil
}

// merge adds a window's scores to those of the windows before it. first says that there is no window before it.
func (way Windows) merge(merged []float64, labels []Label, weight int, first bool) {
	for i, l := range labels {
		score := float64(l.Score)
		switch {
		case way == MeanScores:
			merged[i] += float64(score * float64(weight)) // the conversion keeps processors from fusing
		case first || score > merged[i]:
			merged[i] = score
		}
	}
}
