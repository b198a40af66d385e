package llama

import "github.com/antigravity-go/antigravity/tensor"

// projection is a linear map x ↦ x·weightᵀ + bias. The weight is [out, in], the bias [out]; a nil bias adds nothing.
type projection struct {
	weight, bias *tensor.Tensor
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
	if err := l.add(d, ws, &ws.attentionFlat, &l.o, atOutput, l.attentionPostNorm); err != nil {
		return err
	}
	if err := l.feedForward(d, ws); err != nil {
		return err
	}
	return l.add(d, ws, &ws.gate, &l.down, atDown, l.mlpPostNorm)
}

// queryKeyValue computes queries, keys and values from the normed stream.
func (l *layer) queryKeyValue(d *device, ws *workspace) error {
	ws.weights = append(ws.weights[:0], l.q.weight, l.k.weight, l.v.weight)
	ws.outs = append(ws.outs[:0], &ws.qFlat, &ws.kFlat, &ws.vFlat)
	if err := l.project(d, ws, l.attentionNorm); err != nil {
		return err
	}
	for i, bias := range [...]*tensor.Tensor{l.q.bias, l.k.bias, l.v.bias} {
		if err := addBias(d, ws.outs[i], bias); err != nil {
			return err
		}
	}
	if err := l.adapt(d, ws, l.attentionNorm, atQuery, atKey, atValue); err != nil {
		return err
	}
	if err := l.normHeads(d, l.qNorm, &ws.q, &ws.qFlat); err != nil {
		return err
	}
	if err := l.normHeads(d, l.kNorm, &ws.k, &ws.kFlat); err != nil {
		return err
	}
	return scale(d, &ws.q, l.queryScale)
}

// project multiplies the normed stream with ws.weights to ws.outs.
func (l *layer) project(d *device, ws *workspace, norm *tensor.Tensor) error {
	if norm != nil {
		return d.fused.NormMatMul(&ws.x, norm, l.eps, &ws.normed, ws.weights, ws.outs)
	}
	for i, w := range ws.weights {
		if err := d.MatMulTransposed(&ws.x, w, ws.outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// adapt adds to ws.outs, which belong to some places, what the adapters of the pass make of the normed stream.
func (l *layer) adapt(d *device, ws *workspace, norm *tensor.Tensor, at ...place) error {
	ad := &ws.adapting
	if !ad.needs(at...) {
		return nil
	}
	in := &ws.x
	if norm != nil {
		in = &ws.normed
		if err := ad.norm(d, &ws.x, norm, l.eps, in); err != nil {
			return err
		}
	}
	for i, p := range at {
		if err := ad.add(d, p, in, ws.outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// normHeads normalises each head of x [rows, heads, headDim], or, by a longer norm, all of a row's together: flat is the same memory as rows.
func (l *layer) normHeads(d *device, norm, x, flat *tensor.Tensor) error {
	switch {
	case norm == nil:
		return nil
	case norm.Shape().Dim(0) == x.Shape().Dim(-1):
		return d.RMSNorm(x, norm, l.eps)
	}
	return d.RMSNorm(flat, norm, l.eps)
}

// add adds the projection of x, which stands at a place, to the stream.
func (l *layer) add(d *device, ws *workspace, x *tensor.Tensor, p *projection, at place, norm *tensor.Tensor) error {
	if norm == nil && l.residualScale == 1 {
		if err := d.fused.MatMulAdd(x, p.weight, &ws.product, &ws.x); err != nil {
			return err
		}
		if err := addBias(d, &ws.x, p.bias); err != nil {
			return err
		}
		return ws.adapting.add(d, at, x, &ws.x)
	}
	if err := d.MatMulTransposed(x, p.weight, &ws.product); err != nil {
		return err
	}
	if err := addBias(d, &ws.product, p.bias); err != nil {
		return err
	}
	if err := ws.adapting.add(d, at, x, &ws.product); err != nil {
		return err
	}
	if norm != nil {
		if err := d.RMSNorm(&ws.product, norm, l.eps); err != nil {
			return err
		}
	}
	if err := scale(d, &ws.product, l.residualScale); err != nil {
		return err
	}
	return d.AddAssign(&ws.x, &ws.product)
}

// feedForward computes act(x·gateᵀ)·(x·upᵀ) of the normed stream into ws.gate.
func (l *layer) feedForward(d *device, ws *workspace) error {
	if l.fuses && l.gate.bias == nil && l.mlpNorm != nil && !ws.adapting.needs(atGate, atUp) {
		return d.fused.NormSwiGLU(&ws.x, l.mlpNorm, l.eps, &ws.normed, l.gate.weight, l.up.weight, &ws.up, &ws.gate)
	}
	ws.weights = append(ws.weights[:0], l.gate.weight, l.up.weight)
	ws.outs = append(ws.outs[:0], &ws.gate, &ws.up)
	if err := l.project(d, ws, l.mlpNorm); err != nil {
		return err
	}
	if err := addBias(d, &ws.gate, l.gate.bias); err != nil {
		return err
	}
	if err := addBias(d, &ws.up, l.up.bias); err != nil {
		return err
	}
	if err := l.adapt(d, ws, l.mlpNorm, atGate, atUp); err != nil {
		return err
	}
	return l.activate(d.Backend, &ws.gate, &ws.up)
}
