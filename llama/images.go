package llama

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// images are those of a conversation: their places, for the engine, and the attachments, which live as long as the conversation needs them.
//
// Invariants: spans and held have the same images; spans ascend, and each has rows.
type images struct {
	spans []engine.Span
	held  []*Attachment
}

// add notes the images of tokens that follow the first at tokens of the conversation. Each id beyond the vocabulary belongs to an attachment that somebody
// holds: limits.check has seen to it.
func (s *images) add(l *limits, at int, t []Token) {
	for i, token := range t {
		if int(token) < l.config.VocabSize {
			continue
		}
		if s.goesOn(at+i, token) {
			s.spans[len(s.spans)-1].Rows++
			continue
		}
		a, row := l.home.seen.find(token)
		if a == nil {
			continue
		}
		span := engine.Span{Start: at + i, Rows: 1, From: row, Features: a.features, Position: engine.Position(s.spans, at+i)}
		if l.config.RoPE.Sections != [3]int{} {
			span.Columns = a.columns
		}
		s.spans, s.held = append(s.spans, span), append(s.held, a)
		l.home.seen.settle(a)
	}
}

// goesOn reports whether a token of the conversation is the row after the last one of the last span.
func (s *images) goesOn(at int, token Token) bool {
	n := len(s.spans) - 1
	if n < 0 || s.spans[n].End() != at {
		return false
	}
	row := s.spans[n].From + s.spans[n].Rows
	return row < s.held[n].features.Rows() && token == s.held[n].first+Token(row)
}

// heldBy returns the attachments that tokens stand for.
func heldBy(m *Model, t []Token) (list []*Attachment) {
	for i := 0; i < len(t); i++ {
		if int(t[i]) < m.config.VocabSize {
			continue
		}
		if a, row := m.seen.find(t[i]); a != nil {
			list = append(list, a)
			i += a.features.Rows() - 1 - row
		}
	}
	return list
}

// cut forgets what comes after the first n tokens.
func (s *images) cut(n int) {
	last := len(s.spans)
	for last > 0 && s.spans[last-1].Start >= n {
		last--
	}
	clear(s.held[last:])
	clear(s.spans[last:])
	s.spans, s.held = s.spans[:last], s.held[:last]
	if last > 0 && s.spans[last-1].End() > n {
		s.spans[last-1].Rows = n - s.spans[last-1].Start
	}
}

// clone returns a copy that shares nothing that changes.
func (s *images) clone() images { return images{slices.Clone(s.spans), slices.Clone(s.held)} }

// whole returns n, or the beginning of the image that the first n tokens would cut in two, if its rows see each other.
func (s *images) whole(together model.Together, n int) int {
	if together == model.Never {
		return n
	}
	for _, span := range s.spans {
		if span.Start < n && n < span.End() {
			return span.Start
		}
	}
	return n
}

// chunkOf returns how many of the tokens that come next make a chunk of size: more if otherwise the chunk would end within an image, and its rows see each other.
func chunkOf(c *sequence, t []Token, size int) int {
	n := min(size, len(t))
	if c.config.Together == model.Never {
		return n
	}
	for n < len(t) && int(t[n]) >= c.config.VocabSize {
		if _, row := c.home.seen.find(t[n]); row == 0 {
			break
		}
		n++
	}
	return n
}

// reach returns the largest length up to n to which the conversation can go back to go on otherwise: recurrent layers may have no snapshot of n, and rows
// that see each other stay together.
func reach(c *sequence, n int) int {
	for {
		reached := c.memory.Reach(c.images.whole(c.config.Together, n))
		if reached == n {
			return n
		}
		n = reached
	}
}

// checkImages refuses ids beyond the vocabulary that are not those of an attachment, its rows in order and from the first on, though there may be texts
// between them. had are the tokens before t. Rows that see each other must be there to the last.
func checkImages(l *limits, t, had []Token) error {
	vocabulary := l.config.VocabSize
	var a *Attachment // the last image
	row := 0          // of a, the next that t may have; 0: a is complete
	for i := len(had) - 1; i >= 0 && a == nil; i-- {
		if int(had[i]) < vocabulary {
			continue
		}
		if a, row = l.home.seen.find(had[i]); a == nil {
			break
		}
		row = (row + 1) % a.features.Rows()
	}
	follows := len(had) > 0 && int(had[len(had)-1]) >= vocabulary // the token before is a row, too
	for i, token := range t {
		if int(token) < vocabulary {
			follows = false
			continue
		}
		is, at := l.home.seen.find(token)
		switch {
		case is == nil:
			return &ParamError{fmt.Sprintf("token %d", i), int(token), fmt.Sprintf("0 to %d, the vocabulary's, or one of an Attachment that is still reachable", vocabulary-1)}
		case l.options.Positions == ReanchorSinks:
			return &ParamError{fmt.Sprintf("token %d", i), "an image's", "one of the vocabulary: with ReanchorSinks, tokens get new positions, and images cannot"}
		case follows && is != a && row != 0:
			return &ParamError{fmt.Sprintf("token %d", i), "of an image", fmt.Sprintf("the row after the first %d of the image before it: the rows of an image come in order, and all of them", row)}
		case is == a && at == row, at == 0 && !(follows && row != 0):
		default:
			want := 0
			if is == a {
				want = row
			}
			return &ParamError{fmt.Sprintf("token %d", i), fmt.Sprintf("row %d of an image", at), fmt.Sprintf("row %d: the rows of an image come in order, and all of them", want)}
		}
		a, row, follows = is, (at+1)%is.features.Rows(), true
	}
	if row != 0 && l.config.Together != model.Never {
		return &ParamError{"the prompt", fmt.Sprintf("%d rows of an image", row), fmt.Sprintf("all %d: in this model they see each other", a.features.Rows())}
	}
	return nil
}
