package backendtest_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/tensor"
)

// toy is a complete backend, for a device that computes one operation. The others are computed on the host.
type toy struct {
	*host.Base
	memory toyMemory
}

func newToy() *toy { return &toy{Base: host.NewBase(nil, nil)} }

func (*toy) Name() string                                        { return "toy" }
func (*toy) Describe() string                                    { return "a device with memory of its own" }
func (*toy) BitExact() bool                                      { return true } // a product of two floats has one result
func (d *toy) Memory() tensor.Memory                             { return &d.memory }
func (d *toy) Close() error                                      { return nil }
func (d *toy) CopyFrom(t *tensor.Tensor) (*tensor.Tensor, error) { return host.CopyFrom(d, t) }

// Run computes operations.
func (d *toy) Run(ops ...backend.Op) error { return backend.Each(ops, d.compute) }

// compute computes Scale on the device, unless x is somewhere else.
func (d *toy) compute(op backend.Op) error {
	if o, ok := op.(*backend.Scale); ok {
		buffer, ok := o.X.Buffer().(*toyBuffer)
		if ok && buffer.run(func(memory []byte) { scaleKernel(memory[o.X.Offset():][:o.X.Size()], o.By) }) {
			return nil
		}
	}
	return d.Base.Compute(op)
}

// scaleKernel is what a real device would run.
func scaleKernel(memory []byte, v float32) {
	for ; len(memory) > 0; memory = memory[4:] {
		x := math.Float32frombits(binary.LittleEndian.Uint32(memory))
		binary.LittleEndian.PutUint32(memory, math.Float32bits(x*v))
	}
}

// toyMemory allocates on the device, and counts.
type toyMemory struct{ used atomic.Int64 }

func (m *toyMemory) Used() int64 { return m.used.Load() }

func (m *toyMemory) Alloc(size int, d tensor.DType) (tensor.Buffer, error) {
	if size < 0 {
		return nil, fmt.Errorf("toy: allocate %d bytes", size)
	}
	m.used.Add(int64(size))
	return &toyBuffer{owner: m, dtype: d, size: size, memory: make([]byte, size)}, nil
}

// toyBuffer is memory of the device. The host sees a copy.
type toyBuffer struct {
	owner *toyMemory
	dtype tensor.DType
	size  int

	mu     sync.Mutex
	memory []byte        // the device's; nil: freed
	view   tensor.Buffer // the host's copy while maps > 0
	maps   int           // Map's calls that Unmap has not undone
}

func (b *toyBuffer) DType() tensor.DType { return b.dtype }
func (b *toyBuffer) Size() int           { return b.size }
func (b *toyBuffer) ReadOnly() bool      { return false }
func (b *toyBuffer) Sync() error         { return nil } // the device has finished whenever a method returns
func (b *toyBuffer) Mapped() bool        { return b.Bytes() != nil }

func (b *toyBuffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.maps == 0 {
		return nil
	}
	return b.view.Bytes()
}

func (b *toyBuffer) Map() (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.memory == nil {
		return errors.New("toy: map a buffer that has been freed")
	}
	if b.maps == 0 {
		if b.view, err = new(tensor.Galloc).Alloc(b.size, b.dtype); err != nil {
			return err
		}
		copy(b.view.Bytes(), b.memory)
	}
	b.maps++
	return nil
}

func (b *toyBuffer) Unmap() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.maps > 1 {
		b.maps--
		return nil
	}
	return b.unmap()
}

// unmap gives the contents back to the device. The caller holds the lock.
func (b *toyBuffer) unmap() error {
	if b.maps == 0 {
		return nil
	}
	copy(b.memory, b.view.Bytes())
	b.maps = 0
	return b.view.Free()
}

func (b *toyBuffer) Free() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.memory == nil {
		return nil
	}
	err := b.unmap()
	b.owner.used.Add(-int64(b.size))
	b.memory = nil
	return err
}

// run lets the device compute with the memory, unless the host has it.
func (b *toyBuffer) run(kernel func(memory []byte)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.maps > 0 || b.memory == nil {
		return false
	}
	kernel(b.memory)
	return true
}

// A complete backend, of a device with memory of its own. It passes Run.
func Example() {
	device := newToy()
	defer device.Close()
	numbers, err := tensor.FromFloats([]float32{1, 2, 3}, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	x, err := numbers.ToDevice(device)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer x.Free()
	result := make([]float32, 3)
	err = errors.Join(
		device.Run(
			&backend.Scale{X: x, By: 2},          // on the device
			&backend.AddAssign{A: x, B: numbers}, // by the embedded Base
		),
		backend.ReadFloats(device, x, result), // back to the host
	)
	fmt.Println(result, err)
	// Output: [3 6 9] <nil>
}
