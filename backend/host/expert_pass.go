package host

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

// Products with experts. The pairs, a row and an expert that it chose, are sorted by their experts, so that an expert's weights are read
// once for all of its pairs. Then the activations are brought into the weights' form in that order, and the weights of all chosen experts
// are cut into one list of pieces. For two rows that choose the experts [5 2] and [2 7]:
//
//	pairs    0: row 0, expert 5   1: row 0, expert 2   2: row 1, expert 2   3: row 1, expert 7
//	sorted   [1 2 0 3]
//	groups   expert 2 at places 0 and 1, expert 5 at place 2, expert 7 at place 3
//	pieces   rows of expert 2's weights with two pairs, of expert 5's and of expert 7's with one each

// matMulExperts multiplies each pair's row with its expert's weights.
func (b *experts) matMulExperts(o *backend.MatMulExperts) error {
	const op = "MatMulExperts"
	d, w := o.Dims(), o.W
	if d.Pairs == 0 || d.N == 0 {
		return nil
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add(op, o.X, o.Chosen, o.Out); err != nil {
		return err
	}
	if err := maps.addWeights(op, w); err != nil {
		return err
	}
	if err := needWholeExperts(w); err != nil {
		return err
	}
	p := b.passes.get()
	defer b.passes.put(p)
	if err := p.begin(op, b.machine, integers(o.Chosen), d.Experts); err != nil {
		return err
	}
	if err := p.activate(b.runner, w.DType().Format().ActivationForm(), floats(o.X), d.K, d.Pairs/d.Rows); err != nil {
		return err
	}
	p.scattered = true
	p.add(w, nil, floats(o.Out))
	return p.multiply(b.runner)
}

// expertPass is products of pairs with the weights of their experts, as a task of several phases. The pairs are sorted by their experts,
// so that an expert's weights are read once, for the rows of all of its pairs; and the weights of all experts that were chosen are cut into
// one list of pieces. A piece is some rows of one expert's weights, multiplied with all of its pairs.
//
// Place s of the activation and of the outputs belongs to pair sorted[s]. A row of the activation is copied to the places of its pairs only if
// kernels read it there with those of others: an expert's only pair reads it at any place.
type expertPass struct {
	name    string // of the operation
	kernels *asm.Kernels
	held    *atomic.Int64 // counts the scratch memory below; it is the machine's
	phase   func(p *expertPass, worker, piece int)
	part    string // of the phase
	count   int    // pieces of the phase

	pairOrder

	acts    quant.Activation // [pairs, k], sorted
	at      []int32          // the place where acts has a place's row
	joined  quant.Activation // [pairs, n], sorted: what the epilogue makes of the products
	scratch []float32        // of acts, if they are floats
	x       []float32        // [pairs/choices, k]
	choices int              // how many neighbouring pairs share a row of x

	terms     []expertTerm
	scattered bool           // the outputs have the order of pairs; else they are sorted
	epilogue  expertEpilogue // nil: no epilogue
	hidden    expertHidden   // what the epilogue joins
	sum       expertSum
	pieces    []expertPiece
	workers   expertWorkers
}

// pairOrder is the pairs, sorted by their experts.
type pairOrder struct {
	sorted []int32       // the pairs in the order of places
	places []int32       // the pairs' places
	alone  []bool        // of each place: its expert has no other pair
	starts []int32       // scratch: [experts+1]
	groups []expertGroup // those with most pairs first
}

// expertHidden is the products of gate and up, [pairs, n], sorted, and the network that says how to join them.
type expertHidden struct {
	network  *backend.ExpertNetwork
	gate, up []float32
}

// expertWorkers is what each worker has for itself, kept from one operation to the next.
type expertWorkers struct {
	calls  []asm.PanelProduct    // kept to spare an allocation
	views  []quant.Activation    // the same
	tiles  workerMemory[float32] // outputs before they are scattered to the order of pairs
	packed workerMemory[byte]    // for panels of what files have as rows
}

// expertGroup is the pairs of one expert: places [first, last).
type expertGroup struct{ expert, first, last int32 }

// expertPiece is rows [lo, hi) of the weights of a group's expert.
type expertPiece struct{ group, lo, hi int32 }

// expertEpilogue is what happens to elements [lo, hi) of a place's row of the terms' outputs as soon as they are computed, while they are in
// the cache.
type expertEpilogue func(p *expertPass, worker, place, lo, hi int)

// expertSum is the sum of the rows of pairs, as SumExperts has it, for pairs that are sorted. A piece is some columns of some rows.
type expertSum struct {
	y       []float32 // [pairs, n], sorted
	weights []float32 // [rows, choices]
	out     []float32 // [rows, n]
	n       int
	columns int // of a piece
}

// expertTerm is the weights of all experts.
type expertTerm struct {
	dtype    tensor.DType
	format   quant.Format
	panels   *asm.Panels // how w is packed; nil: as files have it
	packs    *asm.Panels // how rows that files have are packed for each product, since that takes less than multiplying them as they are
	w        []byte
	rowBytes int
	n        int       // rows of an expert
	bias     []float32 // [experts, n]; nil: no bias
	out      []float32 // [pairs, n]
}

// reset forgets the operands, and keeps the scratch.
func (p *expertPass) reset() {
	p.kernels, p.phase, p.x, p.acts.X = nil, nil, nil, nil
	p.epilogue, p.hidden, p.sum, p.scattered = nil, expertHidden{}, expertSum{}, false
	clear(p.terms)
	p.terms = p.terms[:0]
	clear(p.workers.calls)
	clear(p.workers.views)
}

// begin sorts the pairs by their experts. It returns an error if a choice is no expert.
func (p *expertPass) begin(name string, m *machine, chosen []int32, experts int) error {
	if err := backend.CheckChosen(name, chosen, experts); err != nil {
		return err
	}
	p.name, p.kernels, p.held = name, m.kernels, &m.held
	if n := m.runner.Size(); len(p.workers.calls) < n {
		p.workers.calls, p.workers.views = make([]asm.PanelProduct, n), make([]quant.Activation, n)
	}
	p.workers.tiles.reserve(m.runner.Size())
	p.workers.packed.reserve(m.runner.Size())
	p.sorted = slices.Grow(p.sorted[:0], len(chosen))[:len(chosen)]
	p.places = slices.Grow(p.places[:0], len(chosen))[:len(chosen)]
	p.alone = slices.Grow(p.alone[:0], len(chosen))[:len(chosen)]
	p.at = slices.Grow(p.at[:0], len(chosen))[:len(chosen)]
	p.starts = slices.Grow(p.starts[:0], experts+1)[:experts+1]
	clear(p.starts)
	for _, e := range chosen {
		p.starts[e+1]++
	}
	p.groups = p.groups[:0]
	for e := range int32(experts) {
		first := p.starts[e]
		if n := p.starts[e+1]; n > 0 {
			p.groups = append(p.groups, expertGroup{e, first, first + n})
			for place := first; place < first+n; place++ {
				p.alone[place] = n == 1
			}
		}
		p.starts[e+1] += first
	}
	for pair, e := range chosen {
		p.sorted[p.starts[e]], p.places[pair] = int32(pair), p.starts[e]
		p.starts[e]++
	}
	slices.SortFunc(p.groups, mostPairsFirst)
	p.inPlace()
	return nil
}

// inPlace says that the activation has each row at its own place.
func (p *expertPass) inPlace() {
	for place := range p.at {
		p.at[place] = int32(place)
	}
}

// mostPairsFirst orders groups by how much work they are, so that the last pieces are small.
func mostPairsFirst(a, b expertGroup) int {
	return cmp.Or(cmp.Compare(b.last-b.first, a.last-a.first), cmp.Compare(a.expert, b.expert))
}

// activate brings the rows of x into a form, in the order of places. Each row serves the given number of neighbouring pairs, its choices;
// with 0 choices the rows have the order of places already.
func (p *expertPass) activate(r Runner, form quant.ActivationForm, x []float32, k, choices int) error {
	pairs := len(p.sorted)
	p.reserve(&p.acts, form, k)
	if form == quant.Float {
		had := cap(p.scratch)
		p.scratch = slices.Grow(p.scratch[:0], pairs*k)[:pairs*k]
		p.acts.X = p.scratch
		p.held.Add(4 * int64(cap(p.scratch)-had))
	}
	p.x, p.choices = x, choices
	p.phase, p.part, p.count = (*expertPass).prepare, "activation", max(1, min(pairs/max(choices, 1), pairs*k/elementsPerPiece, 8*r.Size()))
	return r.Run(p, p.count)
}

// reserve makes room for an activation of all pairs.
func (p *expertPass) reserve(a *quant.Activation, form quant.ActivationForm, k int) {
	had := cap(a.Q)
	a.Reserve(form, len(p.sorted), k)
	p.held.Add(int64(cap(a.Q) - had))
}

// prepare brings the rows of a piece to the places of their pairs.
func (p *expertPass) prepare(_, piece int) {
	rows, k := len(p.sorted)/max(p.choices, 1), p.acts.K
	for row := piece * rows / p.count; row < (piece+1)*rows/p.count; row++ {
		first, places := row, p.places[:1]
		if p.choices > 0 {
			places = p.places[row*p.choices:][:p.choices]
			first = int(places[0])
		}
		if x := p.x[row*k:][:k]; p.acts.Form == quant.Float {
			copy(p.acts.X[first*k:][:k], x)
		} else {
			p.kernels.Prepare(&p.acts, first, x)
		}
		p.at[first] = int32(first)
		for _, place := range places[1:] {
			if p.alone[place] {
				p.at[place] = int32(first)
			} else {
				p.acts.CopyRow(int(place), first)
			}
		}
	}
}

// add adds the weights of all experts, with their biases, as a term.
func (p *expertPass) add(w *tensor.Tensor, bias, out []float32) {
	t := expertTerm{
		dtype: w.DType(), format: w.DType().Format(), panels: panelsOf(w), w: dataOf(w), rowBytes: w.RowBytes(), n: w.Shape().Dim(1), bias: bias, out: out,
	}
	if t.panels == nil && t.n%asm.PanelRows == 0 {
		t.packs = p.kernels.PanelsFor(t.format)
	}
	p.terms = append(p.terms, t)
}

// rowsPerCut is of how many rows of weights, or a multiple, the pieces of an expert are: those of the panels that kernels for a single row
// of activations take together.
const rowsPerCut = 4 * asm.PanelRows

// pairsPerRead is how many pairs it takes to compute as long as it takes to read the weights from memory.
const pairsPerRead = 4

// bytesPerCut is how many bytes of weights a piece has at least: what a core of many reads in some microseconds.
const bytesPerCut = 16 << 10

// cutsLeft is in how many pieces for each worker the work that is left is divided to find the next piece's size.
const cutsLeft = 2

// multiply computes the terms, which have equally many rows, for all pairs.
func (p *expertPass) multiply(r Runner) error {
	p.cut(r.Size())
	p.phase, p.part, p.count = (*expertPass).multiplyPiece, "", len(p.pieces)
	return r.Run(p, p.count)
}

// cut lists the pieces for a number of workers. Each is a share of the work that is left, and so pieces become smaller: few are handed over,
// and the workers end together. For 28 experts of 768 rows, each with a pair, and 16 workers:
//
//	left    28 experts' rows   …   12 experts'   …   3 experts'   …   384 rows
//	share   672                    288               72               12
//	rows    768                    256, 256, 256     64, 64, 64, …    64, 64, 64, …
func (p *expertPass) cut(workers int) {
	n, terms := p.terms[0].n, len(p.terms)
	p.pieces = p.pieces[:0]
	left := n * (len(p.groups)*pairsPerRead + len(p.sorted)) // in rows that one pair is multiplied with, and nothing is read
	for g, group := range p.groups {
		pairs := int(group.last - group.first)
		cost := pairs + pairsPerRead // of a row
		least := max(rowsPerCut, bytesPerCut/max(1, p.terms[0].rowBytes*terms), workPerPiece/max(1, pairs*p.acts.K*terms))
		for lo := 0; lo < n; {
			share := max(least, left/(cutsLeft*workers*cost)) / rowsPerCut
			rows := (n - lo + rowsPerCut - 1) / rowsPerCut // that the group has left, in cuts, as share
			pieces := max(1, (rows+share/2)/share)         // equal ones
			hi := min(n, lo+(rows+pieces-1)/pieces*rowsPerCut)
			p.pieces = append(p.pieces, expertPiece{int32(g), int32(lo), int32(hi)})
			left -= (hi - lo) * cost
			lo = hi
		}
	}
}

// Phase says what the present phase is.
func (p *expertPass) Phase() timing.Phase {
	if p.part != "" {
		return timing.Phase{Operation: p.name, Part: p.part, Cols: p.acts.K, DType: tensor.F32}
	}
	return timing.Phase{Operation: p.name, Rows: len(p.groups) * len(p.terms) * p.terms[0].n, Cols: p.acts.K, DType: p.terms[0].dtype}
}

// Do computes one piece of the present phase.
func (p *expertPass) Do(worker, piece int) { p.phase(p, worker, piece) }

// multiplyPiece multiplies rows of an expert's weights, of each term.
func (p *expertPass) multiplyPiece(worker, piece int) {
	at := p.pieces[piece]
	group, lo, hi := p.groups[at.group], int(at.lo), int(at.hi)
	first, pairs := int(group.first), int(group.last-group.first)
	row := int(p.at[first])
	p.workers.views[worker] = p.acts.Part(row, row+pairs)
	for i := range p.terms {
		t := &p.terms[i]
		switch {
		case !p.scattered:
			p.multiplyRows(worker, t, int(group.expert), lo, hi, t.out[first*t.n+lo:], t.n)
		case pairs == 1:
			p.multiplyRows(worker, t, int(group.expert), lo, hi, t.out[int(p.sorted[first])*t.n+lo:], t.n)
		default:
			tile := p.workers.tiles.of(worker, pairs*(hi-lo))
			p.multiplyRows(worker, t, int(group.expert), lo, hi, tile, hi-lo)
			for _, pair := range p.sorted[first:][:pairs] {
				tile = tile[copy(t.out[int(pair)*t.n:][lo:hi], tile):]
			}
		}
		if t.bias != nil {
			for place := first; place < first+pairs; place++ {
				p.kernels.Add(t.out[place*t.n:][lo:hi], t.bias[int(group.expert)*t.n:][lo:hi])
			}
		}
	}
	if p.epilogue != nil {
		for place := first; place < first+pairs; place++ {
			p.epilogue(p, worker, place, lo, hi)
		}
	}
}

// multiplyRows multiplies rows [lo, hi) of an expert's weights with the worker's view of the activation, to rows of out that are stride
// elements apart.
func (p *expertPass) multiplyRows(worker int, t *expertTerm, expert, lo, hi int, out []float32, stride int) {
	w, acts, call := t.w[(expert*t.n+lo)*t.rowBytes:], &p.workers.views[worker], &p.workers.calls[worker]
	if t.panels == nil && t.packs != nil && hi-lo >= asm.PanelRows {
		const most = rowsPerCut / asm.PanelRows
		size := asm.PanelRows * t.rowBytes
		room := p.workers.packed.of(worker, most*size)
		for ; lo < hi; lo += rowsPerCut {
			n := min(most, (hi-lo)/asm.PanelRows)
			for i := range n {
				t.packs.Pack(room[i*size:][:size], w[i*size:][:size], t.rowBytes, acts.K)
			}
			*call = asm.PanelProduct{Panels: room, Count: n, Acts: acts, Out: out, Stride: stride}
			t.packs.Multiply(call)
			w, out = w[n*size:], out[n*asm.PanelRows:]
		}
		return
	}
	if t.panels == nil {
		t.format.DotRows(out, stride, w, t.rowBytes, hi-lo, acts)
		return
	}
	*call = asm.PanelProduct{Panels: w, Count: (hi - lo) / asm.PanelRows, Acts: acts, Out: out, Stride: stride}
	t.panels.Multiply(call)
}
