package pixels

import (
	"errors"
	"fmt"
	"math"
)

// sizer chooses the size that a picture gets. tokens bounds its soft tokens, 0 stands for the configuration's own bound. The rules are
// those of transformers' processors, in the same float64 operations, which are rounded one by one: an edge that falls on the other side
// of a multiple would be other pixels and another number of tokens.
type sizer interface {
	plan(width, height, tokens int) (Plan, error)
}

// tooFew is the error of a bound that a picture cannot keep to.
func tooFew(tokens, least int) error {
	return fmt.Errorf("a picture takes %d soft tokens at least, and %d are allowed", least, tokens)
}

// half rounds to the nearest integer, and to the even one of two, as Python does.
func half(x float64) int { return int(math.RoundToEven(x)) }

// multiples scales both sides to multiples of unit, so that the picture has between least and most pixels, frames counted. It is
// smart_resize of Qwen, GLM and LFM2.
type multiples struct {
	unit        int
	least, most int // pixels, those of all frames
	frames      int
	raise       bool // a side below unit is scaled up to it first, and the other in proportion (GLM)
	full        bool // no side is rounded to 0 before pixels are counted (LFM2)
	steep       int  // the greatest ratio of the sides, 0 for any
}

func (m multiples) size(width, height, tokens int) (w, h int, err error) {
	least, most := m.least, m.most
	if tokens > 0 {
		if w, h, err = m.size(width, height, 0); err != nil || w/m.unit*(h/m.unit) <= tokens {
			return w, h, err
		}
		tokens = min(tokens, mostPixels/(m.unit*m.unit)) // no plan has more; larger products would overflow 32 bits
		most = min(most, tokens*m.unit*m.unit*m.frames)
		least = min(least, most)
	}
	if m.raise && (height < m.unit || width < m.unit) {
		scale := max(float64(m.unit)/float64(height), float64(m.unit)/float64(width))
		height, width = int(float64(height)*scale), int(float64(width)*scale)
	}
	if ratio := float64(max(height, width)) / float64(min(height, width)); m.steep > 0 && ratio > float64(m.steep) {
		return 0, 0, fmt.Errorf("a picture of %d×%d pixels is too narrow: one side is %.4g times the other, at most %d times is possible", width, height, ratio, m.steep)
	}
	unit := float64(m.unit)
	h, w = half(float64(height)/unit)*m.unit, half(float64(width)/unit)*m.unit
	if m.full {
		h, w = max(m.unit, h), max(m.unit, w)
	}
	pixels := float64(m.frames * height * width)
	switch {
	case m.frames*h*w > most:
		beta := math.Sqrt(pixels / float64(most))
		h = max(m.unit, int(math.Floor(float64(height)/beta/unit))*m.unit)
		w = max(m.unit, int(math.Floor(float64(width)/beta/unit))*m.unit)
	case m.frames*h*w < least:
		beta := math.Sqrt(float64(least) / pixels)
		h = int(math.Ceil(float64(float64(height)*beta)/unit)) * m.unit
		w = int(math.Ceil(float64(float64(width)*beta)/unit)) * m.unit
	}
	if tokens > 0 { // a narrow picture may still have more: its long side gives way
		if h > w {
			h = min(h, tokens*m.unit*m.unit/w/m.unit*m.unit)
		} else {
			w = min(w, tokens*m.unit*m.unit/h/m.unit*m.unit)
		}
	}
	return w, h, nil
}

func (m multiples) plan(width, height, tokens int) (Plan, error) {
	w, h, err := m.size(width, height, tokens)
	return whole(w, h), err
}

// fill scales a picture to as many pixels as a budget of soft tokens has, rounded down to multiples of unit (Gemma 4).
type fill struct {
	unit    int // pixels of a soft token's side
	patch   int
	budget  int
	budgets []int // those that the tower was trained with, ascending
}

func (f fill) plan(width, height, tokens int) (Plan, error) {
	budget := f.budget
	if tokens > 0 {
		if tokens < f.budgets[0] {
			return Plan{}, tooFew(tokens, f.budgets[0])
		}
		for _, b := range f.budgets {
			if b <= tokens {
				budget = b
			}
		}
	}
	pool := f.unit / f.patch
	target := budget * pool * pool * f.patch * f.patch
	factor := math.Sqrt(float64(target) / float64(width*height))
	h := int(math.Floor(float64(factor*float64(height))/float64(f.unit))) * f.unit
	w := int(math.Floor(float64(factor*float64(width))/float64(f.unit))) * f.unit
	switch {
	case h == 0 && w == 0: // one token, and no room for it
		return Plan{}, errors.New("the budget of soft tokens is 0")
	case h == 0:
		h, w = f.unit, min(width/height, budget)*f.unit
	case w == 0:
		w, h = f.unit, min(height/width, budget)*f.unit
	}
	if h*w > target {
		return Plan{}, fmt.Errorf("a picture of %d×%d pixels would become %d×%d, more than %d soft tokens", width, height, w, h, budget)
	}
	return whole(w, h), nil
}

// fixed gives each picture the same size (Gemma 3, LLaVA).
type fixed struct {
	width, height int
	tokens        int
}

func (f fixed) plan(_, _, tokens int) (Plan, error) {
	if tokens > 0 && tokens < f.tokens {
		return Plan{}, tooFew(tokens, f.tokens)
	}
	return whole(f.width, f.height), nil
}

// within scales a picture down until it lies in width×height, and rounds the sides up to multiples of unit (Pixtral). A side has a
// pixel at least: transformers gives very narrow pictures a side of 0, and fails.
type within struct {
	width, height int
	unit          int
}

func (s within) plan(width, height, tokens int) (Plan, error) {
	for {
		w, h := width, height
		ratio := max(float64(h)/float64(s.height), float64(w)/float64(s.width))
		if ratio > 1 {
			h, w = int(math.Floor(float64(h)/ratio)), int(math.Floor(float64(w)/ratio))
		}
		w, h = max(w, 1), max(h, 1)
		columns, rows := (w-1)/s.unit+1, (h-1)/s.unit+1
		if tokens == 0 || columns*rows <= tokens {
			return whole(columns*s.unit, rows*s.unit), nil
		}
		// The picture keeps its shape in a smaller frame.
		shrunk := math.Sqrt(float64(tokens) / float64(columns*rows))
		s.width = min(s.width-s.unit, int(float64(max(w, h))*shrunk)+s.unit)
		s.height = min(s.height-s.unit, int(float64(max(w, h))*shrunk)+s.unit)
		s.width, s.height = max(s.width, s.unit), max(s.height, s.unit)
	}
}

// squares scales a picture so that its long side is longest, rounds the sides up to multiples of tile, cuts it into tiles, and adds
// the whole picture as one more (Idefics 3, SmolVLM).
type squares struct {
	longest, tile int
	split         bool
	tokens        int // of a tile
}

// mostSide is the longest side that transformers' Idefics 3 makes.
const mostSide = 4096

func (s squares) plan(width, height, tokens int) (Plan, error) {
	if tokens > 0 && tokens < s.tokens {
		return Plan{}, tooFew(tokens, s.tokens)
	}
	longest := s.longest
	for {
		w, h := longestSide(width, height, longest)
		p := Plan{Resizes: []Resized{{0, w, h}}}
		side := Resized{1, s.tile, s.tile}
		if s.split {
			// The picture is resized twice, since transformers does so. It can have other pixels than once.
			aspect := float64(w) / float64(h)
			ceil := func(n int) int { return (n + s.tile - 1) / s.tile * s.tile }
			if w >= h {
				w = ceil(w)
				h = ceil(int(float64(w) / aspect))
			} else {
				h = ceil(h)
				w = ceil(int(float64(float64(h) * aspect)))
			}
			w, h = max(w, s.tile), max(h, s.tile)
			if w > s.tile || h > s.tile {
				if columns, rows := w/s.tile, h/s.tile; tokens == 0 || (columns*rows+1)*s.tokens <= tokens {
					q := tiled(s.tile, columns, rows)
					q.Resizes[0].From = 1
					for i := range q.Views {
						q.Views[i].From = 2
					}
					q.Resizes = append(p.Resizes, q.Resizes[0], Resized{2, s.tile, s.tile})
					q.Views = append(q.Views, View{From: 3, Width: s.tile, Height: s.tile})
					return q, nil
				}
				if longest > s.tile { // fewer tiles of a smaller picture
					longest = max(longest-s.tile, s.tile)
					continue
				}
			}
		}
		p.Resizes = append(p.Resizes, side)
		p.Views = []View{{From: 2, Width: s.tile, Height: s.tile}}
		return p, nil
	}
}

// longestSide returns the size with a long side of longest, and an even short one.
func longestSide(width, height, longest int) (w, h int) {
	aspect := float64(width) / float64(height)
	if width >= height {
		w = longest
		h = int(float64(w) / aspect)
		h += h & 1
	} else {
		h = longest
		w = int(float64(float64(h) * aspect))
		w += w & 1
	}
	w, h = max(w, 1), max(h, 1)
	aspect = float64(w) / float64(h)
	if w >= h && w > mostSide {
		w = mostSide
		h = max(int(float64(w)/aspect), 1)
	} else if h > w && h > mostSide {
		h = mostSide
		w = max(int(float64(float64(h)*aspect)), 1)
	}
	return w, h
}

// mosaic scales a small picture as multiples does. A large one becomes a grid of tiles of the shape that is nearest to its own, and the
// scaled picture after them (LFM2-VL).
type mosaic struct {
	small     multiples
	patch     int
	tile      int
	least     int     // tiles of a grid
	most      int     // a grid of 1 tile at most stands for no grids
	tolerance float64 // by how much a small picture may have more pixels than small.most
	thumbnail bool
	tokens    int // of a tile
}

func (m mosaic) plan(width, height, tokens int) (Plan, error) {
	w, h, err := m.small.size(width, height, tokens)
	if err != nil {
		return Plan{}, err
	}
	small := whole(w, h)
	unit := m.small.unit
	round := func(n int) int { return max(m.patch, half(float64(n)/float64(unit))*unit) }
	if m.most <= 1 || float64(round(height)*round(width)) <= float64(m.small.most)*m.tolerance {
		return small, nil
	}
	columns, rows := m.grid(width, height)
	p := tiled(m.tile, columns, rows)
	if m.thumbnail && columns*rows != 1 {
		p.Resizes = append(p.Resizes, small.Resizes[0])
		p.Views = append(p.Views, View{From: 2, Width: w, Height: h})
	}
	if n := columns*rows*m.tokens + w/unit*(h/unit); tokens > 0 && n > tokens {
		return small, nil
	}
	return p, nil
}

// grid returns the grid with the ratio of sides that is nearest to the picture's: of equally near ones, the last that is less than twice
// as large as the picture. Grids are in the order of their number of tiles, and of width for equal numbers.
func (m mosaic) grid(width, height int) (columns, rows int) {
	aspect := float64(width) / float64(height)
	best := math.Inf(1)
	columns, rows = 1, 1
	for n := m.least; n <= m.most; n++ {
		for c := 1; c <= n; c++ {
			if n%c != 0 {
				continue
			}
			r := n / c
			difference := math.Abs(aspect - float64(c)/float64(r))
			if difference < best {
				best, columns, rows = difference, c, r
			} else if difference == best && float64(width*height) > 0.5*float64(m.tile*m.tile*n) {
				columns, rows = c, r
			}
		}
	}
	return columns, rows
}
