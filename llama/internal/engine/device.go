package engine

import (
	"github.com/antigravity-go/antigravity/backend"
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
