//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// Memory allocates on the device: memory that the host can map without a copy where the two share it.
type Memory struct {
	backend *Backend
	used    atomic.Int64
}

// Used returns the bytes of the device's memory in use: of buffers not yet freed, rearranged weights, and scratch.
func (m *Memory) Used() int64 { return m.used.Load() }

// padding rounds buffers up, so that kernels may load whole pieces.
const padding = 64

// Alloc returns zeroed memory for size bytes of elements of type d.
func (m *Memory) Alloc(size int, d tensor.DType) (tensor.Buffer, error) {
	if size < 0 || !d.Valid() {
		return nil, fmt.Errorf("opencl: allocate %d bytes of %v: no such buffer", size, d)
	}
	if int64(size) > m.backend.maxAlloc {
		return nil, fmt.Errorf("opencl: allocate %d bytes of %v on %v: its buffers have at most %d", size, d, m.backend.device, m.backend.maxAlloc)
	}
	m.backend.mu.Lock()
	defer m.backend.mu.Unlock()
	mem, err := m.alloc(size, m.backend.device.Shared)
	if err != nil {
		return nil, err
	}
	if err := m.backend.context.Fill(mem, 0, mem.Size()); err != nil {
		mem.Release()
		return nil, m.backend.fail(fmt.Sprintf("clear %d bytes", size), err)
	}
	return &Buffer{backend: m.backend, dtype: d, size: size, mem: mem}, nil
}

// alloc allocates without clearing; with host the memory should be such as the host can map. The caller holds the backend's
// lock.
func (m *Memory) alloc(size int, host bool) (*cl.Mem, error) {
	b := m.backend
	if b.closed {
		return nil, fmt.Errorf("opencl: allocate %d bytes: %w", size, ErrClosed)
	}
	size = max(size+padding-1, padding) / padding * padding
	mem, err := b.context.NewBuffer(size, host, func() { m.used.Add(-int64(size)) })
	if err != nil {
		return nil, b.fail(fmt.Sprintf("allocate %d bytes beside %d in use of %d", size, m.Used(), b.device.GlobalBytes), err)
	}
	m.used.Add(int64(size))
	return mem, nil
}

// Buffer is memory of the device. The host sees it between Map and Unmap, when the device must not. Once the backend has been
// closed it can still be unmapped and freed, but not mapped.
//
// The backend's lock guards the change between the two: who holds it finds a buffer that is the device's, and that stays so
// until the commands have been enqueued.
type Buffer struct {
	backend *Backend
	dtype   tensor.DType
	size    int
	mem     *cl.Mem

	viewMu sync.Mutex // guards view for those who do not hold the backend's lock; nothing else is locked under it
	view   []byte     // the host's view, nil while the memory is the device's; written under both locks
	maps   int        // Map's calls that Unmap has not undone; the backend's lock guards it
}

// DType returns the type of the elements.
func (b *Buffer) DType() tensor.DType { return b.dtype }

// Size returns the bytes.
func (b *Buffer) Size() int { return b.size }

// ReadOnly returns false.
func (b *Buffer) ReadOnly() bool { return false }

// Bytes returns the host's view while the buffer is mapped, else nil.
func (b *Buffer) Bytes() []byte {
	b.viewMu.Lock()
	defer b.viewMu.Unlock()
	return b.view
}

// show changes the host's view.
func (b *Buffer) show(view []byte) {
	b.viewMu.Lock()
	defer b.viewMu.Unlock()
	b.view = view
}

// Mapped tells whether the host may touch the buffer.
func (b *Buffer) Mapped() bool { return b.Bytes() != nil }

// Map waits for the device and makes the contents visible to the host.
func (b *Buffer) Map() error {
	if err := b.backend.lockOpen(fmt.Sprintf("map %d bytes", b.size)); err != nil {
		return err
	}
	defer b.backend.mu.Unlock()
	switch {
	case b.mem.Released():
		return fmt.Errorf("opencl: map %d bytes: the buffer has been freed", b.size)
	case b.maps > 0:
		b.maps++
		return nil
	}
	bytes, err := b.backend.context.Map(b.mem, b.mem.Size())
	if err != nil {
		return b.backend.fail(fmt.Sprintf("map %d bytes", b.size), err)
	}
	b.show(bytes[:b.size:len(bytes)])
	b.maps = 1
	return nil
}

// Unmap undoes a Map; with the last, the contents go back to the device.
func (b *Buffer) Unmap() error {
	b.backend.mu.Lock()
	defer b.backend.mu.Unlock()
	b.maps = max(b.maps-1, 0)
	if b.maps > 0 {
		return nil
	}
	return b.unmap()
}

// unmap gives the contents back to the device, whoever has mapped them. The caller holds the backend's lock.
func (b *Buffer) unmap() error {
	if b.view == nil {
		return nil
	}
	bytes := b.view[:cap(b.view)]
	b.show(nil)
	b.maps = 0
	return b.backend.fail(fmt.Sprintf("unmap %d bytes", b.size), b.backend.context.Unmap(b.mem, bytes))
}

// Sync waits until the device has finished with the buffer.
func (b *Buffer) Sync() error { return b.backend.Synchronize() }

// Free releases the memory. It is idempotent.
func (b *Buffer) Free() error {
	b.backend.mu.Lock()
	defer b.backend.mu.Unlock()
	if b.mem.Released() {
		return nil
	}
	err := errors.Join(b.backend.settle(), b.unmap())
	if freeErr := b.mem.Release(); err == nil {
		err = b.backend.fail("free a buffer", freeErr)
	}
	return err
}

// onDevice returns the memory where kernels may use it now, and as long as the caller holds the backend's lock.
func (b *Buffer) onDevice() (*cl.Mem, bool) { return b.mem, b.view == nil && !b.mem.Released() }
