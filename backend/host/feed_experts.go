package host

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

// feedExperts computes a layer's experts from the rows to the sum. The pairs are sorted once; between the products rows stay in the order of
// places. Biases and activations are applied to each piece while it is in the cache, and it is brought there into the form that the last
// product wants, unless blocks of that form are longer than the shortest piece.
func (b Fused) feedExperts(o *backend.FeedExperts) (err error) {
	const op = "FeedExperts"
	d, n := o.Dims(), &o.Network
	if d.Pairs == 0 || d.N == 0 || d.K == 0 {
		return nil
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add(op, o.X, o.Chosen, o.Weights, o.Gate, o.Up, o.Down, o.Out); err != nil {
		return err
	}
	if err := maps.addWeights(op, n.Gate, n.Up, n.Down); err != nil {
		return err
	}
	for _, w := range [...]*tensor.Tensor{n.Gate, n.Up, n.Down} {
		if err := needWholeExperts(w); err != nil {
			return err
		}
	}
	var biases [3][]float32
	for i, bias := range [...]*tensor.Tensor{n.GateBias, n.UpBias, n.DownBias} {
		if biases[i], err = maps.optional(op, bias); err != nil {
			return err
		}
	}
	p := b.experts.passes.get()
	defer b.experts.passes.put(p)
	if err := p.begin(op, b.machine, integers(o.Chosen), d.Experts); err != nil {
		return err
	}
	choices := d.Pairs / d.Rows
	p.hidden = expertHidden{n, floats(o.Gate), floats(o.Up)}
	form := n.Gate.DType().Format().ActivationForm()
	if err := p.activate(b.runner, form, floats(o.X), d.K, choices); err != nil {
		return err
	}
	p.add(n.Gate, biases[0], p.hidden.gate)
	if other := n.Up.DType().Format().ActivationForm(); other != form {
		if err := p.multiply(b.runner); err != nil {
			return err
		}
		p.terms = p.terms[:0]
		if err := p.activate(b.runner, other, floats(o.X), d.K, choices); err != nil {
			return err
		}
	}
	p.add(n.Up, biases[1], p.hidden.up)
	p.epilogue = (*expertPass).join
	last := n.Down.DType().Format().ActivationForm()
	whole := last != quant.Float && rowsPerCut%last.BlockLen() == 0
	if whole {
		p.reserve(&p.joined, last, d.N)
		p.epilogue = (*expertPass).joinToActivation
	}
	if err := p.multiply(b.runner); err != nil {
		return err
	}
	p.epilogue, p.terms = nil, p.terms[:0]
	if whole {
		p.acts, p.joined = p.joined, p.acts
		p.inPlace()
	} else if err := p.activate(b.runner, last, p.hidden.gate, d.N, 0); err != nil {
		return err
	}
	p.sum = expertSum{y: floats(o.Down), weights: floats(o.Weights), out: floats(o.Out), n: d.K}
	p.add(n.Down, biases[2], p.sum.y)
	if err := p.multiply(b.runner); err != nil {
		return err
	}
	return p.sumUp(b.runner, choices)
}

// joinToActivation is join, and brings the result into the form that the last product wants.
func (p *expertPass) joinToActivation(worker, place, lo, hi int) {
	p.join(worker, place, lo, hi)
	to, at := &p.workers.views[worker], place*p.terms[0].n
	*to = p.joined.Columns(place, lo, hi)
	p.kernels.Prepare(to, 0, p.hidden.gate[at+lo:at+hi])
}

// join joins the products of gate and up by the network's activation.
func (p *expertPass) join(_, place, lo, hi int) {
	at := place * p.terms[0].n
	gate, up := p.hidden.gate[at+lo:at+hi], p.hidden.up[at+lo:at+hi]
	switch p.hidden.network.Activation {
	case backend.ActivateSiLU:
		p.kernels.SiLUMul(gate, gate, up)
	case backend.ActivateGELU:
		p.kernels.GELUMul(gate, gate, up)
	case backend.ActivateClamped:
		p.kernels.SwiGLUClamped(gate, gate, up, p.hidden.network.Limit)
	}
}

// sumUp adds the rows of pairs to those of out.
func (p *expertPass) sumUp(r Runner, choices int) error {
	s := &p.sum
	rows := len(p.sorted) / choices
	p.choices, s.columns = choices, s.n
	pieces := max(1, min(len(p.sorted)*s.n/elementsPerPiece, r.Size()))
	if rows < pieces {
		s.columns = max((s.n*rows+pieces-1)/pieces, 1)
	}
	p.phase, p.part, p.count = (*expertPass).sumPiece, "sum", rows*((s.n+s.columns-1)/s.columns)
	if rows >= pieces {
		p.count = pieces
	}
	return r.Run(p, p.count)
}

// sumPiece adds up columns of a row, or some rows.
func (p *expertPass) sumPiece(_, piece int) {
	s := &p.sum
	if rows := len(s.out) / s.n; s.columns == s.n {
		for row := piece * rows / p.count; row < (piece+1)*rows/p.count; row++ {
			p.sumRow(row, 0, s.n)
		}
		return
	}
	cuts := (s.n + s.columns - 1) / s.columns
	lo := piece % cuts * s.columns
	p.sumRow(piece/cuts, lo, min(lo+s.columns, s.n))
}

// sumRow adds up columns [lo, hi) of a row, in the order of rank.
func (p *expertPass) sumRow(row, lo, hi int) {
	s := &p.sum
	out := s.out[row*s.n:][lo:hi]
	for pair := row * p.choices; pair < (row+1)*p.choices; pair++ {
		p.kernels.Axpy(out, s.weights[pair], s.y[int(p.places[pair])*s.n:][lo:hi])
	}
}
