package llama

import (
	"slices"
	"strings"
	"unicode"

	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/model"
)

// The best path of labels is found by Viterbi's algorithm. Of two tokens with these probabilities
//
//	token   O     B-PER  I-PER  E-PER  S-PER
//	Ada     0.1   0.3    0.5    0      0.1
//	Byron   0.3   0      0      0.6    0.1
//
// the best labels by themselves, I-PER and E-PER, are no entity. The best path is B-PER E-PER, with 0.3 · 0.6.

// alongPath returns the entities of the best path.
func alongPath(text string, tags []Tag, h *model.Head) []Entity {
	p := newPaths(h)
	j := newJoiner(h.Labels)
	for i, label := range p.best(tags) {
		j.addLabel(&tags[i], label)
	}
	list := j.entities()
	for i := range list {
		e := &list[i]
		e.Start = e.End - len(strings.TrimLeftFunc(text[e.Start:e.End], unicode.IsSpace))
		e.End = e.Start + len(strings.TrimRightFunc(text[e.Start:e.End], unicode.IsSpace))
	}
	return slices.DeleteFunc(list, func(e Entity) bool { return e.Start == e.End })
}

// paths are the paths that labels allow.
type paths struct {
	from         [][]step // of each label, the labels that may come before it
	begins, ends []bool
}

// step is a step from a label to the next token's.
type step struct {
	label int
	bias  float64
}

func newPaths(h *model.Head) *paths {
	n := len(h.Labels)
	p := &paths{from: make([][]step, n), begins: make([]bool, n), ends: make([]bool, n)}
	var biases model.Path
	if h.Path != nil {
		biases = *h.Path
	}
	for to, label := range h.Labels {
		next, kind := model.MarkOf(label)
		p.begins[to] = next == 'O' || next == 'B' || next == 'S'
		p.ends[to] = next == 'O' || next == 'E' || next == 'S'
		for from, before := range h.Labels {
			last, other := model.MarkOf(before)
			if number, allowed := stepOf(last, next, kind == other); allowed {
				p.from[to] = append(p.from[to], step{from, float64(biases[number])})
			}
		}
	}
	return p
}

// stepOf returns which step of a model.Path leads from one mark to the next, and whether there is one. same says that both are of one kind.
func stepOf(last, next byte, same bool) (number int, allowed bool) {
	begins := next == 'B' || next == 'S'
	switch last {
	case 'O':
		if next == 'O' {
			return model.StayOutside, true
		}
		return model.Enter, begins
	case 'B', 'I':
		if next == 'I' {
			return model.GoOn, same
		}
		return model.Finish, same && next == 'E'
	}
	if next == 'O' {
		return model.Leave, true
	}
	return model.EnterNext, begins
}

// least is about the logarithm of the least positive number of 32 bits: scores of 0 count as much.
const least = -104

// best returns a label for each tag. Of two paths that are as good, the one counts that has the lower labels from the end.
func (p *paths) best(tags []Tag) []int {
	if len(tags) == 0 {
		return nil
	}
	n := len(p.from)
	sums, next := make([]float64, n), make([]float64, n)
	back := make([]uint16, len(tags)*n) // of each token and label, the label before
	open := make([]bool, n)             // the labels that a path reaches
	reached := make([]bool, n)
	for i := range tags {
		for to := range n {
			best, found := 0.0, i == 0 && p.begins[to]
			for _, s := range p.from[to] {
				if i > 0 && open[s.label] && (!found || sums[s.label]+s.bias > best) {
					best, found = sums[s.label]+s.bias, true
					back[i*n+to] = uint16(s.label)
				}
			}
			score := float64(least)
			if x := tags[i].Scores[to]; x > 0 {
				score = max(exact.Log(float64(x)), score)
			}
			next[to], reached[to] = best+score, found
		}
		sums, next, open, reached = next, sums, reached, open
	}
	last := -1
	for label := range n {
		if open[label] && p.ends[label] && (last < 0 || sums[label] > sums[last]) {
			last = label
		}
	}
	labels := make([]int, len(tags))
	for i := len(tags) - 1; i >= 0; i-- {
		labels[i] = last
		last = int(back[i*n+last])
	}
	return labels
}
