package backendtest

import (
	"context"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// A Device passes each call on to another backend, and asks a function first whether the call is to fail. With a function that returns an error for
// "RMSNorm" alone:
//
//	d.Run(&backend.Scale{…}, &backend.RMSNorm{…})   asks about Scale, and scales; asks about RMSNorm, and returns the error
//	d.Run(&backend.NormMatMul{…})                   asks about NormMatMul, and computes

// Device is a backend that computes with another one, and asks before each call whether that is to fail: see NewDevice.
type Device struct {
	backend.Backend
	// Bytes is how much memory the device has; 0: it does not end. An Alloc of more fails with tensor.ErrNoMemory. Set it before the device is used.
	Bytes  int64
	before func(string, *tensor.Tensor) error
}

// NewDevice returns a backend that computes with b, and fuses what b fuses. Ahead of each operation, of each other call of the interfaces of package
// backend, and of Alloc of its memory, before is called with the call's name and its first tensor, which is nil for Alloc, Synchronize and Compact.
// When it returns an error, the call computes nothing and returns that. Fault.Before is made for it.
func NewDevice(b backend.Backend, before func(call string, operand *tensor.Tensor) error) *Device {
	return &Device{Backend: b, before: before}
}

// Run asks about each operation and lets the other backend compute it.
func (d *Device) Run(ops ...backend.Op) error {
	for i, op := range ops {
		var first *tensor.Tensor
		for first = range backend.Operands(op) {
			break
		}
		if err := d.before(backend.NameOf(op), first); err != nil {
			return err
		}
		if err := d.Backend.Run(ops[i : i+1]...); err != nil {
			return err
		}
	}
	return nil
}

// Name is the other backend's name with "-test" added.
func (d *Device) Name() string { return d.Backend.Name() + "-test" }

// BitExact passes on.
func (d *Device) BitExact() bool { return backend.BitExact(d.Backend) }

// ScratchBytes passes on.
func (d *Device) ScratchBytes() int64 { return backend.Scratch(d.Backend) }

// Memory is the other backend's, except that Alloc may fail.
func (d *Device) Memory() tensor.Memory { return memoryOf{d.Backend.Memory(), d} }

// MemoryBytes returns Bytes.
func (d *Device) MemoryBytes() int64 { return d.Bytes }

type memoryOf struct {
	tensor.Memory
	device *Device
}

func (m memoryOf) Alloc(size int, d tensor.DType) (tensor.Buffer, error) {
	if err := m.device.before("Alloc", nil); err != nil {
		return nil, err
	}
	if has := m.device.Bytes; has > 0 && m.Used()+int64(size) > has {
		return nil, fmt.Errorf("allocate %d bytes on %s, which has %d and uses %d: %w", size, m.device.Name(), has, m.Used(), tensor.ErrNoMemory)
	}
	return m.Memory.Alloc(size, d)
}

// CopyFrom asks, and copies.
func (d *Device) CopyFrom(t *tensor.Tensor) (*tensor.Tensor, error) {
	if err := d.before("CopyFrom", t); err != nil {
		return nil, err
	}
	return d.Backend.CopyFrom(t)
}

// Prepare prepares weights as the other backend wants them.
func (d *Device) Prepare(ctx context.Context, w *tensor.Tensor) (*tensor.Tensor, error) {
	if err := d.before("Prepare", w); err != nil {
		return nil, err
	}
	return backend.Prepare(ctx, d.Backend, w)
}

// ReadBuffer asks, and copies.
func (d *Device) ReadBuffer(t *tensor.Tensor, dst []byte) error {
	if err := d.before("ReadBuffer", t); err != nil {
		return err
	}
	return d.Backend.ReadBuffer(t, dst)
}

// Synchronize asks, and waits.
func (d *Device) Synchronize() error {
	if err := d.before("Synchronize", nil); err != nil {
		return err
	}
	return d.Backend.Synchronize()
}
