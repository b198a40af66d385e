//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// recurrent computes what recurrent layers have and others have not.
type recurrent struct{ *queue }

// MulAssign computes a *= b.
func (r *recurrent) MulAssign(a, b *tensor.Tensor) error {
	return r.onHost(func() error { return r.host.MulAssign(a, b) })
}

// SigmoidMul computes a = σ(a)·b.
func (r *recurrent) SigmoidMul(a, b *tensor.Tensor) error {
	return r.onHost(func() error { return r.host.SigmoidMul(a, b) })
}

// Softplus computes a = ln(1+e^(a+bias)).
func (r *recurrent) Softplus(a, bias *tensor.Tensor) error {
	return r.onHost(func() error { return r.host.Softplus(a, bias) })
}

// Convolve computes the causal convolution of each channel.
func (r *recurrent) Convolve(x, w, b, out *tensor.Tensor, of []backend.Stretch) error {
	return r.onHost(func() error { return r.host.Convolve(x, w, b, out, of) })
}

// Recur passes the rows of each stretch through its state.
func (r *recurrent) Recur(q, k, v, g, beta, out *tensor.Tensor, delta bool, of []backend.Stretch) error {
	return r.onHost(func() error { return r.host.Recur(q, k, v, g, beta, out, delta, of) })
}
