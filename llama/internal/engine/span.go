package engine

import (
	"cmp"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// A conversation with images has rows that are no tokens' but an image's: a Span of them for each image. Their ids among the tokens are beyond the
// vocabulary, and the engine looks at their spans alone. For example, an image of 2 rows of 3 soft tokens after 4 tokens of text, in a model with M-RoPE:
//
//	row in the conversation   0 1 2 3   4 5 6 7 8 9   10 11
//	                          text      the image     text
//	time                      0 1 2 3   4 4 4 4 4 4   7  8
//	row of the image          0 1 2 3   4 4 4 5 5 5   7  8
//	column                    0 1 2 3   4 5 6 4 5 6   7  8
//
// Text goes on after the largest position of the image. Other models give an image's rows the positions that a text's would have.

// Span is some rows of a conversation that are an image's: rows From, From+1, … of its Features.
type Span struct {
	Start, Rows int       // the rows are Start, Start+1, … of the conversation
	Features    *Features // of the whole image
	From        int
	Columns     int // how many rows one row of the image has, in models with M-RoPE; 0: in others
	Position    int // of the first row; with M-RoPE, of the image's first
}

// End returns the row after the span.
func (s *Span) End() int { return s.Start + s.Rows }

// next returns the position of the row after the span.
func (s *Span) next() int {
	if s.Columns == 0 {
		return s.Position + s.Rows
	}
	n := s.From + s.Rows
	return s.Position + max((n+s.Columns-1)/s.Columns, min(n, s.Columns))
}

// at returns the positions of a row of the span.
func (s *Span) at(row int) [3]int {
	i := row - s.Start
	if s.Columns == 0 {
		return [3]int{s.Position + i, s.Position + i, s.Position + i}
	}
	i += s.From
	return [3]int{s.Position, s.Position + i/s.Columns, s.Position + i%s.Columns}
}

// Position returns the position of a row of a conversation, after some of the spans: of a text's row, or of the first row of the next span.
func Position(spans []Span, row int) int {
	if n := len(spans); n > 0 {
		return spans[n-1].next() + row - spans[n-1].End()
	}
	return row
}

// before returns how many of the spans begin before a row.
func before(spans []Span, row int) int {
	n, _ := slices.BinarySearchFunc(spans, row, func(s Span, row int) int { return cmp.Compare(s.Start, row) })
	return n
}

// within returns the spans that have some of the rows from … to-1.
func within(spans []Span, from, to int) []Span {
	lo := before(spans, from)
	if lo > 0 && spans[lo-1].End() > from {
		lo--
	}
	return spans[lo:before(spans, to)]
}

// positions returns the positions of a row of a conversation.
func positions(spans []Span, row int) [3]int {
	n := before(spans, row+1)
	if n > 0 && row < spans[n-1].End() {
		return spans[n-1].at(row)
	}
	p := Position(spans[:n], row)
	return [3]int{p, p, p}
}

// eachSpan calls f for the rows of the pass that images have: rows to … to+n-1 of the pass are rows from … from+n-1 of the span's Features.
func (p *pass) eachSpan(f func(s *Span, from, to, n int) error) error {
	for _, j := range p.jobs {
		start, end := j.start(), j.start()+j.rows
		spans := within(j.Spans, start, end)
		for i := range spans {
			s := &spans[i]
			lo, hi := max(s.Start, start), min(s.End(), end)
			if err := f(s, s.From+lo-s.Start, j.first+lo-start, hi-lo); err != nil {
				return err
			}
		}
	}
	return nil
}

// fit returns how many of the job's tokens a pass takes that has room for some rows of prompts, 1 at least. If the rows of an image see each other, they are
// computed in one pass, however many they are, and no others of the conversation with them.
func (j *Job) fit(room int, together model.Together) int {
	n := min(len(j.Tokens), room)
	spans := within(j.Spans, j.Start, j.Start+len(j.Tokens))
	switch {
	case together == model.Never || len(spans) == 0:
		return n
	case spans[0].Start > j.Start:
		return min(n, spans[0].Start-j.Start)
	}
	return min(spans[0].End()-j.Start, len(j.Tokens))
}

// seesItself reports whether the job's rows of the pass are an image's that see each other, in a layer with a window or without.
func (j *Job) seesItself(together model.Together, windowed bool) bool {
	if together == model.Never || together == model.InWindow && !windowed {
		return false
	}
	return len(within(j.Spans, j.start(), j.start()+j.rows)) > 0
}

// placeImages puts the features of images in the place of embeddings.
func (p *pass) placeImages() error {
	return p.eachSpan(func(s *Span, from, to, n int) error { return p.copyRows(s.Features.X, &p.x, from, to, n) })
}

// copyRows copies n rows, from one on of a tensor to one on of another.
func (p *pass) copyRows(src, dst *tensor.Tensor, from, to, n int) error {
	width := src.Shape().Dim(1)
	return p.copied.Run(p.device, backend.CopySlice{Src: src, Dst: dst, From: from * width, To: to * width, N: n * width})
}

// addDeep adds to images' rows what their features have for a layer, after that layer. Other rows stay as they are, bit for bit.
func (p *pass) addDeep(layer int) error {
	return p.eachSpan(func(s *Span, from, to, n int) error {
		if layer >= len(s.Features.Deep) {
			return nil
		}
		if err := p.copyRows(s.Features.Deep[layer], &p.product, from, to, n); err != nil {
			return err
		}
		if err := p.x.SliceInto(&p.some[0], to, to+n); err != nil {
			return err
		}
		if err := p.product.SliceInto(&p.some[1], to, to+n); err != nil {
			return err
		}
		return p.summed.Run(p.device, backend.AddAssign{A: &p.some[0], B: &p.some[1]})
	})
}
