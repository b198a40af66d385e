//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"sync"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// memory allocates on the device: memory that the host can map without a copy if the two share it.
type memory struct{ *queue }

// Used returns the bytes of the device's memory in use: of buffers not yet freed, rearranged weights, and scratch.
func (m memory) Used() int64 { return m.used.Load() }

// Alloc returns zeroed memory for size bytes of elements of type d.
func (m memory) Alloc(size int, d tensor.DType) (tensor.Buffer, error) {
	if size < 0 || !d.Valid() {
		return nil, fmt.Errorf("opencl: allocate %d bytes of %v: no such buffer", size, d)
	}
	if int64(size) > m.maxAlloc {
		return nil, fmt.Errorf("opencl: allocate %d bytes of %v on %v: its buffers have at most %d", size, d, m.device, m.maxAlloc)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	mem, err := m.alloc(size, m.device.Shared)
	if err != nil {
		return nil, err
	}
	if err := m.context.Fill(mem, 0, mem.Size()); err != nil {
		mem.Release()
		return nil, m.fail(fmt.Sprintf("clear %d bytes", size), err)
	}
	return &deviceBuffer{queue: m.queue, dtype: d, size: size, mem: mem}, nil
}

// deviceBuffer is memory of the device. The host sees it between Map and Unmap, when the device must not. Once the backend has been
// closed it can still be unmapped and freed, but not mapped.
//
// The queue's lock guards the change between the two: who holds it finds a buffer that is the device's, and that stays so
// until the commands have been enqueued.
type deviceBuffer struct {
	queue *queue
	dtype tensor.DType
	size  int
	mem   *cl.Mem

	viewMu sync.Mutex // guards view for those who do not hold the queue's lock; nothing else is locked under it
	view   []byte     // the host's view, nil while the memory is the device's; written under both locks
	maps   int        // Map's calls that Unmap has not undone; the queue's lock guards it
}

// DType returns the type of the elements.
func (b *deviceBuffer) DType() tensor.DType { return b.dtype }

// Size returns the bytes.
func (b *deviceBuffer) Size() int { return b.size }

// ReadOnly returns false.
func (b *deviceBuffer) ReadOnly() bool { return false }

// Bytes returns the host's view while the buffer is mapped, else nil.
func (b *deviceBuffer) Bytes() []byte {
	b.viewMu.Lock()
	defer b.viewMu.Unlock()
	return b.view
}

// show changes the host's view.
func (b *deviceBuffer) show(view []byte) {
	b.viewMu.Lock()
	defer b.viewMu.Unlock()
	b.view = view
}

// Mapped reports whether the host may touch the buffer.
func (b *deviceBuffer) Mapped() bool { return b.Bytes() != nil }

// Map waits for the device and makes the contents visible to the host.
func (b *deviceBuffer) Map() error {
	if err := b.queue.lockOpen(fmt.Sprintf("map %d bytes", b.size)); err != nil {
		return err
	}
	defer b.queue.mu.Unlock()
	switch {
	case b.mem.Released():
		return fmt.Errorf("opencl: map %d bytes: the buffer has been freed", b.size)
	case b.maps > 0:
		b.maps++
		return nil
	}
	bytes, err := b.queue.context.Map(b.mem, b.mem.Size())
	if err != nil {
		return b.queue.fail(fmt.Sprintf("map %d bytes", b.size), err)
	}
	b.show(bytes[:b.size:len(bytes)])
	b.maps = 1
	return nil
}

// Unmap undoes a Map; with the last, the contents go back to the device.
func (b *deviceBuffer) Unmap() error {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	b.maps = max(b.maps-1, 0)
	if b.maps > 0 {
		return nil
	}
	return b.unmap()
}

// unmap gives the contents back to the device, regardless of who has mapped them. The caller holds the queue's lock.
func (b *deviceBuffer) unmap() error {
	if b.view == nil {
		return nil
	}
	bytes := b.view[:cap(b.view)]
	b.show(nil)
	b.maps = 0
	return b.queue.fail(fmt.Sprintf("unmap %d bytes", b.size), b.queue.context.Unmap(b.mem, bytes))
}

// Sync waits until the device has finished with the buffer.
func (b *deviceBuffer) Sync() error { return b.queue.synchronize() }

// Free releases the memory. It is idempotent.
func (b *deviceBuffer) Free() error {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	if b.mem.Released() {
		return nil
	}
	err := errors.Join(b.queue.settle(), b.unmap())
	if freeErr := b.mem.Release(); err == nil {
		err = b.queue.fail("free a buffer", freeErr)
	}
	return err
}

// onDevice returns the memory, and whether kernels may use it now and as long as the caller holds the queue's lock.
func (b *deviceBuffer) onDevice() (*cl.Mem, bool) { return b.mem, b.view == nil && !b.mem.Released() }
