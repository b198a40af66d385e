//go:build opencl && (amd64 || arm64)

package opencl

import "github.com/antigravity-go/antigravity/tensor"

// encoders computes what encoders have and decoders have not. The host computes it: the device has no kernels for it.
type encoders struct{ *queue }

// GELUErf computes a = gelu(a)·b.
func (e *encoders) GELUErf(a, b *tensor.Tensor) error {
	return e.onHost(func() error { return e.host.GELUErf(a, b) })
}

// LayerNorm normalises the rows of x about their means.
func (e *encoders) LayerNorm(x, w, b *tensor.Tensor, eps float32) error {
	return e.onHost(func() error { return e.host.LayerNorm(x, w, b, eps) })
}

// AttendTexts lets the rows of each text attend to all of its rows.
func (e *encoders) AttendTexts(q, k, v, out *tensor.Tensor, texts []int, reach int) error {
	return e.onHost(func() error { return e.host.AttendTexts(q, k, v, out, texts, reach) })
}
