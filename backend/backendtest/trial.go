package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/tensor"
)

// role says what an operation does with an operand.
type role uint8

const (
	reading role = iota // only read
	weight              // only read, and prepared for the device if the check says so
	output              // written; poisoned before
	update              // read and written
	scratch             // lent: of undefined contents afterwards
)

// written reports whether the operation may change an operand.
func (r role) written() bool { return r >= output }

// operand is one tensor of an operation, described on the host.
type operand struct {
	name  string
	role  role
	dtype tensor.DType
	dims  []int
	data  []byte // nil: poison
	limit limit  // of an output or update
}

// trial is an operation on given operands.
type trial struct {
	operands []operand
	// do calls the operation with the operands on the backend's device.
	do func(b backend.Backend, t []*tensor.Tensor) error
}

// placed is an operand on a device. Those that may be written lie between guards: poisoned rows of the same buffer.
type placed struct {
	*operand
	whole, view *tensor.Tensor
	guard       int // bytes before the view, and after it
}

// guardElements is about how much lies on either side of what an operation may write.
const guardElements = 64

// guardRows returns how many rows of the first dimension make a guard.
func (o *operand) guardRows() int {
	if !o.role.written() {
		return 0
	}
	return max(1, guardElements/elements(o.dims[1:]))
}

// place puts an operand on a device.
func (o *operand) place(b backend.Backend, prepared bool) (p placed, err error) {
	guard := o.guardRows()
	dims := append([]int{o.dims[0] + 2*guard}, o.dims[1:]...)
	shape, err := tensor.NewShape(dims...)
	if err != nil {
		return p, err
	}
	host, err := tensor.New(nil, o.dtype, shape)
	if err != nil {
		return p, err
	}
	p = placed{operand: o, whole: host, guard: host.Size() / dims[0] * guard}
	data := host.Data()
	if guard > 0 || o.data == nil {
		poisoned(data)
	}
	copy(data[p.guard:], o.data)
	if prepared && o.role == weight {
		p.whole, err = backend.Prepare(context.Background(), b, host)
	} else {
		p.whole, err = host.ToDevice(b)
	}
	if err != nil {
		host.Free()
		return p, err
	}
	if p.whole != host {
		host.Free()
	}
	p.view, err = p.whole.Slice(guard, guard+o.dims[0])
	return p, err
}

// poisoned fills memory with poison.
func poisoned(data []byte) {
	for n := copy(data, []byte{poison}); n < len(data); n *= 2 {
		copy(data[n:], data[:n])
	}
}

// outcome is a trial's operands after the operation.
type outcome struct {
	contents [][]byte // of outputs and updates; nil for the others
	faults   []string // writes outside the operation's output
	elapsed  time.Duration
}

// errMove begins the errors of operands that do not reach the device.
var errMove = errors.New("move")

// on runs the trial on a backend, once, and reads its operands back.
func (t *trial) on(b backend.Backend, prepared bool) (*outcome, error) {
	operands, views := make([]placed, len(t.operands)), make([]*tensor.Tensor, len(t.operands))
	defer func() {
		for _, p := range operands {
			if p.whole != nil {
				p.whole.Free()
			}
		}
	}()
	for i := range t.operands {
		p, err := t.operands[i].place(b, prepared)
		operands[i], views[i] = p, p.view
		if err != nil {
			return nil, fmt.Errorf("%w %s to the device: %w", errMove, t.operands[i].name, err)
		}
	}
	if err := b.Synchronize(); err != nil {
		return nil, fmt.Errorf("synchronize: %w", err)
	}
	began := precise.Now()
	if err := t.do(b, views); err != nil {
		return nil, err
	}
	if err := b.Synchronize(); err != nil {
		return nil, fmt.Errorf("synchronize: %w", err)
	}
	result := &outcome{contents: make([][]byte, len(operands)), elapsed: precise.Since(began)}
	for i, p := range operands {
		if prepared && p.role == weight {
			continue // in a layout that may have no bytes to read
		}
		content, fault, err := p.inspect(b)
		if err != nil {
			return nil, fmt.Errorf("read %s back: %w", p.name, err)
		}
		if fault != "" {
			result.faults = append(result.faults, fault)
		}
		result.contents[i] = content
	}
	return result, nil
}

// inspect reads an operand back. It returns what an output holds, and which memory was written although it must not be.
func (p *placed) inspect(b backend.Backend) (content []byte, fault string, err error) {
	whole := make([]byte, p.whole.Size())
	if err := b.ReadBuffer(p.whole, whole); err != nil {
		return nil, "", err
	}
	content = whole[p.guard : len(whole)-p.guard]
	if !p.role.written() {
		if p.data != nil && !bytes.Equal(content, p.data) {
			fault = "changed its input " + p.name
		}
		return nil, fault, nil
	}
	before, after := touched(whole[:p.guard]), touched(whole[len(whole)-p.guard:])
	if before+after > 0 {
		fault = fmt.Sprintf("wrote outside %s: %d bytes before and %d after it", p.name, before, after)
	}
	return content, fault, nil
}

// touched counts the bytes of a guard that are not poison any more.
func touched(guard []byte) int { return len(guard) - bytes.Count(guard, []byte{poison}) }
