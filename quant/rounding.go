package quant

import "math"

// Rounding a block is a search for the scales with which the error Σ w·(x − rounded x)² is small. search tries some scales for each
// group, each improved by least squares. share finds one number for the block, so that each group's scale is nearly a multiple of it.
// settle and refit then improve both in turn. For example, one of the tries for a group [-1 0.5 0.24] with the integers -8 to 7, and all
// weights 1:
//
//	scale -1/-8 = 0.125   maps the extreme element to -8
//	assign                q = [-8 4 2], and the error is 0.0001: 0.24 becomes 0.25
//	solve                 scale Σxq/Σqq = 10.48/84 = 0.12476, with the error 0.000095

// rounding says what the rounded numbers of a format can be, which with the format's facts is all that the search for them needs to
// know. See unpacked for how an element is made of them.
type rounding struct {
	low, high float64      // the range of q; its values are evenly spaced
	book      *nearestBook // or the values
	scaleLow  int          // the range of scale, in formats with inner scales
	scaleHigh int
	minHigh   int     // the range of min is 0 to minHigh, in formats with inner scales and minimums; m is below zero then
	tries     int     // how many scales the search tries to either side of the obvious one
	step      float64 // how much further each of them maps the extreme element, in units of q
	steep     bool    // without importance large elements weigh much more, see favourLarge
}

// nearestBook finds the nearest of a few integers of eight bits.
type nearestBook struct {
	values  []int8
	nearest [512]int8 // by twice the number, rounded down, plus 256: the middles between integers are halves of integers
}

func newBook(values []int8) *nearestBook {
	b := &nearestBook{values: values}
	k := 0
	for i := range b.nearest {
		v := float64(i-256)/2 + 0.25
		for k+1 < len(values) && math.Abs(v-float64(values[k+1])) < math.Abs(v-float64(values[k])) {
			k++
		}
		b.nearest[i] = values[k]
	}
	return b
}

// of returns the value nearest to v.
func (b *nearestBook) of(v float64) float64 {
	switch v *= 2; {
	case v < -256:
		return float64(b.nearest[0])
	case v < 255:
		return float64(b.nearest[int(math.Floor(v))+256])
	}
	return float64(b.nearest[511])
}

// rounder rounds the blocks of a format. Its memory is used for one block after the other.
type rounder struct {
	*rounding
	blockLen, groupLen int
	groups             int  // of a block
	shared             bool // scales are integers, multiples of one for the block
	minimum            bool
	x, w               [256]float64
	sums               [16]sums
	scale, min         [16]float64 // of each group, what the search found
	trial              levels
}

// levels are what a block's elements can be: those of group g are d·scale·q − m·min.
type levels struct {
	d, m       float64
	scale, min [16]float64 // integers; 1 in formats without inner scales
}

// prepare makes r a rounder of a format that is searched, with all weights 1.
func (r *rounder) prepare(f Format) {
	facts := f.facts()
	r.rounding, r.blockLen, r.groupLen, r.shared, r.minimum = &facts.rounding, facts.blockLen, facts.groupLen, facts.groupLen > 0, facts.minimum
	if !r.shared {
		r.groupLen = r.blockLen
	}
	r.groups = r.blockLen / r.groupLen
	for i := range r.w {
		r.w[i] = 1
	}
}

// maxHalf is the largest finite binary16: scales do not grow beyond it.
const maxHalf = 65504

// toHalf rounds a number to what a binary16 can hold.
func toHalf(v float64) float64 {
	var b [2]byte
	putHalf(b[:], float32(max(-maxHalf, min(maxHalf, v))))
	return float64(half(b[:]))
}

// magic rounds by addition: a double near 1.5·2⁵² has no fraction.
const magic = 0x1.8p52

// integral rounds a number of magnitude below 2⁵¹ to the nearest integer, halves to even.
func integral(v float64) float64 { return v + magic - magic }

// sums are what least squares needs to know of some elements x, their weights w and their rounded q.
type sums struct{ w, wx, wxx, wq, wqq, wxq float64 }

// weigh sums what does not depend on q.
func weigh(x, w []float64) (s sums) {
	for i, v := range x {
		t := float64(w[i] * v)
		s.w += w[i]
		s.wx += t
		s.wxx += float64(t * v)
	}
	return s
}

// error is Σ w·(x − scale·q − offset)², which may come out a little below zero.
func (s *sums) error(scale, offset float64) float64 {
	e := s.wxx + float64(scale*(float64(scale*s.wqq)-float64(2*s.wxq)))
	return e + float64(offset*(float64(offset*s.w)-float64(2*s.wx)+float64(2*float64(scale*s.wq))))
}

// assign gives q the integers for which scale·q + offset is nearest to x, and sums with these; nil q are only summed.
func (r *rounder) assign(s *sums, x, w []float64, scale, offset float64, q []int8) {
	inverse := 0.0
	if scale != 0 {
		inverse = 1 / scale
	}
	s.wq, s.wqq, s.wxq = 0, 0, 0
	low, high := r.low, r.high
	w = w[:len(x)]
	for i, v := range x {
		n := float64((v - offset) * inverse)
		switch {
		case r.book != nil:
			n = r.book.of(n)
		case n < low:
			n = low
		case n > high:
			n = high
		default:
			n = integral(n)
		}
		t := float64(w[i] * n)
		s.wq += t
		s.wqq += float64(t * n)
		s.wxq += float64(t * v)
		if q != nil {
			q[i] = int8(n)
		}
	}
}

// solve returns the scale and the offset that are best for the q that were summed, and their error.
func (r *rounder) solve(s *sums) (scale, offset, err float64) {
	if r.minimum {
		if d := float64(s.w*s.wqq) - float64(s.wq*s.wq); d > 0 {
			scale = (float64(s.w*s.wxq) - float64(s.wx*s.wq)) / d
			offset = (float64(s.wqq*s.wx) - float64(s.wq*s.wxq)) / d
			if scale > 0 && (offset <= 0 || !r.shared) {
				return scale, offset, s.error(scale, offset)
			}
		}
	}
	if s.wqq > 0 {
		scale = s.wxq / s.wqq
	}
	return scale, 0, s.error(scale, 0)
}

// search returns a scale and an offset with which a group's error is small. It tries scales that map the extreme elements to the extreme
// integers, or a little further, each improved by least squares; and from the best of these on it rounds and solves in turn, which lowers
// the error each time. So do the quantisers of llama.cpp (make_qx_quants, make_qkx3_quants in ggml-quants.c).
func (r *rounder) search(s *sums, x, w []float64) (scale, offset float64) {
	lowest, highest := x[0], x[0]
	for _, v := range x[1:] {
		lowest, highest = min(lowest, v), max(highest, v)
	}
	best := math.Inf(1)
	try := func(a, b float64) bool {
		r.assign(s, x, w, a, b, nil)
		a, b, e := r.solve(s)
		if !(e < best) {
			return false
		}
		scale, offset, best = a, b, e
		return true
	}
	low, high := r.low, r.high
	if r.minimum {
		if r.shared {
			lowest = min(lowest, 0)
		}
		if !(highest > lowest) {
			return 0, lowest
		}
		for k := -r.tries; k <= r.tries; k++ {
			try((highest-lowest)/(high-low+float64(r.step*float64(k))), lowest)
		}
	} else {
		extreme := highest
		if -lowest > highest {
			extreme = lowest
		}
		if extreme == 0 {
			return 0, 0
		}
		for k := -r.tries; k <= r.tries; k++ {
			try(extreme/(low-float64(r.step*float64(k))), 0)
			try(extreme/(high+float64(r.step*float64(k))), 0)
		}
	}
	for range 4 {
		if before := best; !try(scale, offset) || best > before*0.9999 {
			break
		}
	}
	return scale, offset
}

// share returns the number d for which the values are nearest to d times integers between low and high, weighted with importance.
func share(values, importance []float64, low, high int) float64 {
	extreme := 0.0
	for _, v := range values {
		if math.Abs(v) > math.Abs(extreme) {
			extreme = v
		}
	}
	if extreme == 0 || high == low {
		return extreme
	}
	best, d := math.Inf(1), 0.0
	try := func(candidate float64) {
		var up, down float64 // d = up/down is best for the integers that the candidate gives
		for i, v := range values {
			n := max(float64(low), min(float64(high), integral(v/candidate)))
			t := float64(importance[i] * n)
			up += float64(t * v)
			down += float64(t * n)
		}
		if !(down > 0) {
			return
		}
		c, e := up/down, 0.0
		for i, v := range values {
			n := max(float64(low), min(float64(high), integral(v/candidate)))
			diff := v - float64(c*n)
			e += float64(importance[i] * float64(diff*diff))
		}
		if e < best {
			best, d = e, c
		}
	}
	for k := -4; k <= 4; k++ {
		by := float64(0.15 * float64(k))
		try(extreme / (float64(high) + by))
		if low < 0 {
			try(extreme / (float64(low) - by))
		}
	}
	return d
}

// favourLarge weighs the elements of the block in x by √(mean square + x²): it costs a model's predictions less
// to round large elements well, whatever is known of the activations. Steep weights are without the root.
func (r *rounder) favourLarge(steep bool) {
	mean := 0.0
	for _, v := range r.x[:r.blockLen] {
		mean += float64(v*v) / float64(r.blockLen)
	}
	for i, v := range r.x[:r.blockLen] {
		r.w[i] = mean + float64(v*v)
		if !steep {
			r.w[i] = math.Sqrt(r.w[i])
		}
	}
}

// group returns the elements of a group and their weights.
func (r *rounder) group(g int) (x, w []float64) {
	from, to := g*r.groupLen, (g+1)*r.groupLen
	return r.x[from:to], r.w[from:to]
}

// round rounds the block in x, with the weights w, to u. The search finds a scale and a minimum for each group alone. If the groups' scales
// share one number of the block, each group then takes the best integers for what it found, and the block's numbers are solved for once
// more, in turn.
func (r *rounder) round(u *unpacked) {
	t := &r.trial
	var curvature [16]float64 // how much a scale that is a little off costs
	for g := range r.groups {
		x, w := r.group(g)
		s := &r.sums[g]
		*s = weigh(x, w)
		r.scale[g], r.min[g] = r.search(s, x, w)
		r.min[g] = -r.min[g]
		r.assign(s, x, w, r.scale[g], -r.min[g], nil)
		curvature[g] = s.wqq
	}
	t.d, t.m = r.scale[0], r.min[0]
	t.scale[0], t.min[0] = 1, 1
	if r.shared {
		t.d = toHalf(share(r.scale[:r.groups], curvature[:r.groups], r.scaleLow, r.scaleHigh))
		if r.minimum {
			for g := range r.groups {
				curvature[g] = r.sums[g].w
			}
			t.m = toHalf(share(r.min[:r.groups], curvature[:r.groups], 0, r.minHigh))
		}
		r.integers()
	}
	t.d, t.m = toHalf(t.d), toHalf(t.m)
	best, chosen := math.Inf(1), *t
	for range 3 {
		e := r.settle()
		if !(e < best) {
			break
		}
		enough := e > best*0.999
		best, chosen = e, *t
		if enough {
			break
		}
		r.refit()
	}
	*t = chosen
	r.write(u)
}

// integers rounds the groups' scales and minimums to multiples of d and m.
func (r *rounder) integers() {
	t := &r.trial
	over := func(v, d float64, low, high int) float64 {
		if d == 0 {
			return float64(max(low, 0))
		}
		return max(float64(low), min(float64(high), integral(max(-1e9, min(1e9, v/d)))))
	}
	for g := range r.groups {
		t.scale[g] = over(r.scale[g], t.d, r.scaleLow, r.scaleHigh)
		t.min[g] = over(r.min[g], t.m, 0, r.minHigh)
	}
}

// settle rounds each group with its integer scale and with the neighbours of it, for each with the minimum that suits it best, keeps
// the best, and returns the error of the block. The sums are then those of the rounded elements.
func (r *rounder) settle() (total float64) {
	t := &r.trial
	for g := range r.groups {
		x, w := r.group(g)
		s := &r.sums[g]
		best := math.Inf(1)
		var keep sums
		from, minimum := t.scale[g], t.min[g]
		try := func(scale, min float64) {
			r.assign(s, x, w, float64(t.d*scale), -float64(t.m*min), nil)
			if e := s.error(float64(t.d*scale), -float64(t.m*min)); e < best {
				best, keep, t.scale[g], t.min[g] = e, *s, scale, min
			}
		}
		try(from, minimum)
		if r.shared {
			for _, scale := range [...]float64{from, from - 1, from + 1} {
				if scale < float64(r.scaleLow) || scale > float64(r.scaleHigh) {
					continue
				}
				if scale != from {
					try(scale, minimum)
				}
				if r.minimum && t.m > 0 && s.w > 0 {
					suits := (float64(float64(t.d*scale)*s.wq) - s.wx) / float64(s.w*t.m)
					suits = max(0, min(float64(r.minHigh), integral(max(-1e9, min(1e9, suits)))))
					if suits != minimum {
						try(scale, suits)
					}
				}
			}
		}
		*s = keep
		total += max(best, 0)
	}
	return total
}

// refit solves for the d and m that suit the block's rounded elements and integers best.
func (r *rounder) refit() {
	t := &r.trial
	var aa, ab, bb, ax, bx float64 // of a = scale·q, b = −min and x
	for g := range r.groups {
		s, scale, min := &r.sums[g], t.scale[g], t.min[g]
		aa += float64(float64(scale*scale) * s.wqq)
		ax += float64(scale * s.wxq)
		ab -= float64(float64(scale*min) * s.wq)
		bb += float64(float64(min*min) * s.w)
		bx -= float64(min * s.wx)
	}
	if r.minimum {
		if det := float64(aa*bb) - float64(ab*ab); det > 0 {
			d := (float64(bb*ax) - float64(ab*bx)) / det
			m := (float64(aa*bx) - float64(ab*ax)) / det
			if d > 0 && (m > 0 || !r.shared) {
				t.d, t.m = toHalf(d), toHalf(m)
				return
			}
		}
	}
	if aa > 0 {
		t.d = toHalf((ax - float64(t.m*ab)) / aa)
	}
}

// write rounds the elements to the levels.
func (r *rounder) write(u *unpacked) {
	t := &r.trial
	u.d, u.m = float32(t.d), -float32(t.m)
	for g := range r.groups {
		x, w := r.group(g)
		r.assign(&r.sums[g], x, w, float64(t.d*t.scale[g]), -float64(t.m*t.min[g]), u.q[g*r.groupLen:(g+1)*r.groupLen])
		u.scale[g], u.min[g] = int32(t.scale[g]), int32(t.min[g])
	}
}
