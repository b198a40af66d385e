package backendtest

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

func (d plain) Route(logits *tensor.Tensor, r backend.Routing, chosen, weights *tensor.Tensor) error {
	return d.call("Route", logits, func() error { return d.Backend.Route(logits, r, chosen, weights) })
}

func (d plain) MatMulExperts(x, w, chosen, out *tensor.Tensor) error {
	return d.call("MatMulExperts", x, func() error { return d.Backend.MatMulExperts(x, w, chosen, out) })
}

func (d plain) AddExpertBias(out, bias, chosen *tensor.Tensor) error {
	return d.call("AddExpertBias", out, func() error { return d.Backend.AddExpertBias(out, bias, chosen) })
}

func (d plain) SumExperts(y, weights, out *tensor.Tensor) error {
	return d.call("SumExperts", y, func() error { return d.Backend.SumExperts(y, weights, out) })
}

func (d plain) SwiGLUClamped(a, b *tensor.Tensor, limit float32) error {
	return d.call("SwiGLUClamped", a, func() error { return d.Backend.SwiGLUClamped(a, b, limit) })
}

// FeedExperts is backend.ExpertFuser's.
func (d *Device) FeedExperts(x *tensor.Tensor, n *backend.ExpertNetwork, chosen, weights, gate, up, down, out *tensor.Tensor) error {
	return d.call("FeedExperts", x, func() error { return d.experts.FeedExperts(x, n, chosen, weights, gate, up, down, out) })
}
