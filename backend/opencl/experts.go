//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// experts computes what mixtures of experts need.
type experts struct{ *queue }

// Route chooses experts for the rows of logits.
func (e *experts) Route(logits *tensor.Tensor, r backend.Routing, chosen, weights *tensor.Tensor) error {
	return e.onHost(func() error { return e.host.Route(logits, r, chosen, weights) })
}

// MatMulExperts multiplies each pair's row with its expert's weights.
func (e *experts) MatMulExperts(x, w, chosen, out *tensor.Tensor) error {
	return e.onHost(func() error { return e.host.MatMulExperts(x, w, chosen, out) })
}

// AddExpertBias adds each pair's expert's bias to its row.
func (e *experts) AddExpertBias(out, bias, chosen *tensor.Tensor) error {
	return e.onHost(func() error { return e.host.AddExpertBias(out, bias, chosen) })
}

// SumExperts adds up the rows of pairs.
func (e *experts) SumExperts(y, weights, out *tensor.Tensor) error {
	return e.onHost(func() error { return e.host.SumExperts(y, weights, out) })
}

// SwiGLUClamped computes a = (u+1)·g·σ(1.702·g) of the clamped a and b.
func (e *experts) SwiGLUClamped(a, b *tensor.Tensor, limit float32) error {
	return e.onHost(func() error { return e.host.SwiGLUClamped(a, b, limit) })
}
