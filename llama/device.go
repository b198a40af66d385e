package llama

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

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

// addBias adds a bias [out] to each row of x [rows, out]; nil adds nothing.
func addBias(d *device, x, bias *tensor.Tensor) error {
	if bias == nil {
		return nil
	}
	return d.AddAssign(x, bias)
}

// scale multiplies x by a factor.
func scale(d *device, x *tensor.Tensor, factor float32) error {
	if factor == 1 {
		return nil
	}
	return d.Scale(x, factor)
}
