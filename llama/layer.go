package llama

import "github.com/antigravity-go/antigravity/tensor"

// projection is a linear map x ↦ x·weightᵀ + bias, and what adapters add at its place. The weight is [out, in], the bias [out]; a nil
// bias adds nothing.
type projection struct {
	weight, bias *tensor.Tensor
	at           place
}

// layer is one block of the transformer (arXiv 2302.13971): attention and a feed-forward network, each behind a norm and
// added to the residual stream. Families differ in which norms there are; those that a model has not are nil.
type layer struct {
	attentionNorm, mlpNorm         *tensor.Tensor // [hidden]: of what each half begins with
	attentionPostNorm, mlpPostNorm *tensor.Tensor // [hidden]: of what each half adds to the stream
	qNorm, kNorm                   *tensor.Tensor // [headDim]: of each head; or [heads·headDim]: of all heads together
	q, k, v, o                     projection
	gate, up, down                 projection
	rotary                         int // which of the model's
	*manner
}

// newLayer returns a layer without its tensors.
func newLayer(m *manner) layer {
	return layer{
		q: projection{at: atQuery}, k: projection{at: atKey}, v: projection{at: atValue}, o: projection{at: atOutput},
		gate: projection{at: atGate}, up: projection{at: atUp}, down: projection{at: atDown}, manner: m,
	}
}

// forward computes the rows of a pass: ws.x [rows, hidden] in place, appending their keys and values to the caches.
func (l *layer) forward(d *device, ws *workspace) error {
	if err := l.queryKeyValue(d, ws); err != nil {
		return err
	}
	if err := ws.caches.Append(&ws.q, &ws.k, &ws.v, &ws.ropes[l.rotary]); err != nil {
		return err
	}
	if err := ws.caches.Attend(&ws.q, &ws.attention); err != nil {
		return err
	}
	if err := l.add(d, ws, &ws.attentionFlat, &l.o, l.attentionPostNorm); err != nil {
		return err
	}
	if err := l.feedForward(d, ws); err != nil {
		return err
	}
	return l.add(d, ws, &ws.gate, &l.down, l.mlpPostNorm)
}

// queryKeyValue computes queries, keys and values of the normed stream.
func (l *layer) queryKeyValue(d *device, ws *workspace) error {
	ws.outs = append(ws.outs[:0], &ws.qFlat, &ws.kFlat, &ws.vFlat)
	if err := l.project(d, ws, l.attentionNorm, &l.q, &l.k, &l.v); err != nil {
		return err
	}
	if err := l.normHeads(d, l.qNorm, &ws.q, &ws.qFlat); err != nil {
		return err
	}
	if err := l.normHeads(d, l.kNorm, &ws.k, &ws.kFlat); err != nil {
		return err
	}
	return d.scale(&ws.q, l.queryScale)
}

// project computes projections of the normed stream to ws.outs.
func (l *layer) project(d *device, ws *workspace, norm *tensor.Tensor, projections ...*projection) error {
	ws.weights = ws.weights[:0]
	for _, p := range projections {
		ws.weights = append(ws.weights, p.weight)
	}
	if err := d.normMatMul(&ws.x, norm, l.eps, &ws.normed, ws.weights, ws.outs); err != nil {
		return err
	}
	for i, p := range projections {
		if err := d.addBias(ws.outs[i], p.bias); err != nil {
			return err
		}
	}
	return ws.adapting.addOfNorm(d, projections, &ws.x, norm, l.eps, &ws.normed, ws.outs)
}

// normHeads normalises each head of x [rows, heads, headDim] or, by a longer norm, all of a row's together: flat is the same memory as
// rows.
func (l *layer) normHeads(d *device, norm, x, flat *tensor.Tensor) error {
	if norm != nil && norm.Shape().Dim(0) != x.Shape().Dim(-1) {
		x = flat
	}
	return d.norm(x, norm, l.eps)
}

// add adds to the stream the projection of x, normed where there is a norm for that.
func (l *layer) add(d *device, ws *workspace, x *tensor.Tensor, p *projection, norm *tensor.Tensor) error {
	if norm == nil && l.residualScale == 1 {
		if err := d.fused.MatMulAdd(x, p.weight, &ws.product, &ws.x); err != nil {
			return err
		}
		return l.complete(d, ws, x, p, &ws.x)
	}
	if err := d.MatMulTransposed(x, p.weight, &ws.product); err != nil {
		return err
	}
	if err := l.complete(d, ws, x, p, &ws.product); err != nil {
		return err
	}
	if err := d.norm(&ws.product, norm, l.eps); err != nil {
		return err
	}
	if err := d.scale(&ws.product, l.residualScale); err != nil {
		return err
	}
	return d.AddAssign(&ws.x, &ws.product)
}

// complete adds to out, which has x·weightᵀ, what else belongs to the projection of x.
func (l *layer) complete(d *device, ws *workspace, x *tensor.Tensor, p *projection, out *tensor.Tensor) error {
	if err := d.addBias(out, p.bias); err != nil {
		return err
	}
	return ws.adapting.add(d, p.at, x, out)
}

// feedForward computes act(x·gateᵀ)·(x·upᵀ) of the normed stream into ws.gate.
func (l *layer) feedForward(d *device, ws *workspace) error {
	if l.fuses && l.gate.bias == nil && l.mlpNorm != nil && !ws.adapting.needs(atGate, atUp) {
		return d.fused.NormSwiGLU(&ws.x, l.mlpNorm, l.eps, &ws.normed, l.gate.weight, l.up.weight, &ws.up, &ws.gate)
	}
	ws.outs = append(ws.outs[:0], &ws.gate, &ws.up)
	if err := l.project(d, ws, l.mlpNorm, &l.gate, &l.up); err != nil {
		return err
	}
	return l.activate(d.Backend, &ws.gate, &ws.up)
}
