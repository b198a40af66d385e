package chat

import (
	"slices"
	"sort"

	"github.com/antigravity-go/antigravity/internal/jinja"
)

// Bounds on looking for special tokens in one rendering.
const (
	maxSegments = 1 << 18
	maxSteps    = 1 << 25 // bytes compared
)

// specials finds special tokens in a text.
//
// Invariants: texts is sorted, without repetitions and empty ones; texts[first[b]:first[b+1]] begin with the byte b.
type specials struct {
	texts []string
	first [257]int32
}

func newSpecials(texts ...string) specials {
	s := specials{texts: slices.Clone(texts)}
	slices.Sort(s.texts)
	s.texts = slices.Compact(s.texts)
	if len(s.texts) > 0 && s.texts[0] == "" {
		s.texts = s.texts[1:]
	}
	for b := range s.first {
		s.first[b] = int32(sort.Search(len(s.texts), func(i int) bool { return int(s.texts[i][0]) >= b }))
	}
	return s
}

// at returns the longest special token that text begins with, or "", and how many bytes of text it compared to find out.
func (s specials) at(text string) (longest string, steps int) {
	low, high := int(s.first[text[0]]), int(s.first[int(text[0])+1])
	for n := 1; low < high; n++ { // texts[low:high] share n bytes with text
		if len(s.texts[low]) == n {
			longest = s.texts[low]
			low++
		}
		if n == len(text) {
			break
		}
		same := s.texts[low:high]
		from := sort.Search(len(same), func(i int) bool { return same[i][n] >= text[n] })
		to := from + sort.Search(len(same)-from, func(i int) bool { return same[from+i][n] > text[n] })
		low, high = low+from, low+to
		steps++
	}
	return longest, steps
}

// in reports whether text contains a special token.
func (s specials) in(text string) bool {
	for i := range len(text) {
		if token, _ := s.at(text[i:]); token != "" {
			return true
		}
	}
	return false
}

// segments cuts a rendering at its special tokens, which are recognised only if all of their bytes count as the template's.
func (s specials) segments(rendered jinja.Text) ([]Segment, error) {
	text := rendered.String()
	var list []Segment
	plain, steps := 0, 0 // text[plain:] is in no segment yet
	cut := func(from, to int) {
		if from > plain {
			list = append(list, Segment{Text: text[plain:from]})
		}
		if to > from {
			list = append(list, Segment{Text: text[from:to], Special: true})
		}
		plain = to
	}
	for from, to := range trusted(rendered) {
		for from < to {
			token, n := s.at(text[from:to])
			if steps += n; steps > maxSteps || len(list) > maxSegments {
				return nil, &jinja.BudgetError{What: "special tokens, or bytes to look for them", Limit: maxSegments}
			}
			if token == "" {
				from++
				continue
			}
			cut(from, from+len(token))
			from += len(token)
		}
	}
	cut(len(text), len(text))
	return list, nil
}

// trusted yields the stretches of bytes that count as the template's, each in its full length: if two of them touch, they are one.
func trusted(rendered jinja.Text) func(yield func(from, to int) bool) {
	return func(yield func(from, to int) bool) {
		at, start := 0, 0
		for s, o := range rendered.Spans {
			if o.Outside() {
				if at > start && !yield(start, at) {
					return
				}
				start = at + len(s)
			}
			at += len(s)
		}
		if at > start {
			yield(start, at)
		}
	}
}
