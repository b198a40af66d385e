package llama

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// projection is a linear map x ↦ x·weightᵀ + bias. The weight is [out, in], the bias [out]; a nil bias adds nothing.
type projection struct {
	weight, bias *tensor.Tensor
}

// layer is one block of the transformer (arXiv 2302.13971): attention and a feed-forward network, each behind a norm and
// added to the residual stream.
type layer struct {
	attentionNorm, mlpNorm *tensor.Tensor // [hidden]
	q, k, v, o             projection
	gate, up, down         projection
}

// forward computes the rows of a pass: ws.x [rows, hidden] in place, appending their keys and values to the caches.
func (l *layer) forward(d *device, ws *workspace, eps float32) error {
	if err := l.queryKeyValue(d, ws, eps); err != nil {
		return err
	}
	if err := ws.caches.Append(&ws.q, &ws.k, &ws.v, &ws.rope); err != nil {
		return err
	}
	if err := ws.caches.Attend(&ws.q, &ws.attention); err != nil {
		return err
	}
	return l.output(d, ws, eps)
}

// queryKeyValue computes queries, keys and values from the normed stream.
func (l *layer) queryKeyValue(d *device, ws *workspace, eps float32) error {
	ws.weights = append(ws.weights[:0], l.q.weight, l.k.weight, l.v.weight)
	ws.outs = append(ws.outs[:0], &ws.qFlat, &ws.kFlat, &ws.vFlat)
	if err := d.fused.NormMatMul(&ws.x, l.attentionNorm, eps, &ws.normed, ws.weights, ws.outs); err != nil {
		return err
	}
	for i, bias := range [...]*tensor.Tensor{l.q.bias, l.k.bias, l.v.bias} {
		if err := addBias(d, ws.outs[i], bias); err != nil {
			return err
		}
	}
	ad := &ws.adapting
	if !ad.needs(atQuery, atKey, atValue) {
		return nil
	}
	if err := ad.normed(d, &ws.x, l.attentionNorm, eps, &ws.normed); err != nil {
		return err
	}
	if err := ad.add(d, atQuery, &ws.normed, &ws.qFlat); err != nil {
		return err
	}
	if err := ad.add(d, atKey, &ws.normed, &ws.kFlat); err != nil {
		return err
	}
	return ad.add(d, atValue, &ws.normed, &ws.vFlat)
}

// output adds to the stream the projection of the attention's result, and then the feed-forward network's result.
func (l *layer) output(d *device, ws *workspace, eps float32) error {
	if err := d.fused.MatMulAdd(&ws.attentionFlat, l.o.weight, &ws.product, &ws.x); err != nil {
		return err
	}
	if err := addBias(d, &ws.x, l.o.bias); err != nil {
		return err
	}
	if err := ws.adapting.add(d, atOutput, &ws.attentionFlat, &ws.x); err != nil {
		return err
	}
	if err := l.swiGLU(d, ws, eps); err != nil {
		return err
	}
	if err := d.fused.MatMulAdd(&ws.gate, l.down.weight, &ws.product, &ws.x); err != nil {
		return err
	}
	if err := addBias(d, &ws.x, l.down.bias); err != nil {
		return err
	}
	return ws.adapting.add(d, atDown, &ws.gate, &ws.x)
}

// swiGLU computes silu(x·gateᵀ)·(x·upᵀ) of the normed stream into ws.gate.
func (l *layer) swiGLU(d *device, ws *workspace, eps float32) error {
	ad := &ws.adapting
	adapted := ad.needs(atGate, atUp)
	if l.gate.bias == nil && !adapted {
		return d.fused.NormSwiGLU(&ws.x, l.mlpNorm, eps, &ws.normed, l.gate.weight, l.up.weight, &ws.up, &ws.gate)
	}
	ws.weights = append(ws.weights[:0], l.gate.weight, l.up.weight)
	ws.outs = append(ws.outs[:0], &ws.gate, &ws.up)
	if err := d.fused.NormMatMul(&ws.x, l.mlpNorm, eps, &ws.normed, ws.weights, ws.outs); err != nil {
		return err
	}
	if err := addBias(d, &ws.gate, l.gate.bias); err != nil {
		return err
	}
	if err := addBias(d, &ws.up, l.up.bias); err != nil {
		return err
	}
	if adapted {
		if err := ad.normed(d, &ws.x, l.mlpNorm, eps, &ws.normed); err != nil {
			return err
		}
		if err := ad.add(d, atGate, &ws.normed, &ws.gate); err != nil {
			return err
		}
		if err := ad.add(d, atUp, &ws.normed, &ws.up); err != nil {
			return err
		}
	}
	return d.SiLUMul(&ws.gate, &ws.up)
}

// addBias adds a bias [out] to each row of x [rows, out].
func addBias(d *device, x, bias *tensor.Tensor) error {
	if bias == nil {
		return nil
	}
	return d.AddAssign(x, bias)
}

// device is a backend with its optional interfaces, which are looked up once: its own methods where it has them, package
// backend's substitutes otherwise.
type device struct {
	backend.Backend
	fused  backend.Fuser
	choose backend.Selector
}

func newDevice(b backend.Backend) *device {
	return &device{Backend: b, fused: backend.Fused(b), choose: backend.Selecting(b)}
}
