package tensor

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/internal/mmap"
)

// ErrReadOnly is returned by operations that would write to memory that must not change, such as a mapped file.
var ErrReadOnly = errors.New("tensor: the buffer is read-only")

// Buffer is memory that a device understands. A device's own type of buffer carries the device's handle of the memory, which the
// device finds by a type assertion, so that this package knows nothing of any accelerator.
type Buffer interface {
	// DType returns the type of the elements.
	DType() DType
	// Size returns the bytes.
	Size() int
	// Bytes returns the host's view of the memory, or nil while the host may not touch it (before Map, after Free).
	Bytes() []byte
	// ReadOnly says that the contents must not be written.
	ReadOnly() bool
	// Map makes the contents visible to the host and Bytes non-nil, and waits for the device if necessary. Host memory is always mapped.
	Map() error
	// Unmap undoes one Map. The last Unmap gives the contents back to the device.
	Unmap() error
	// Mapped reports whether the host may touch the memory.
	Mapped() bool
	// Sync waits until the device has finished with the buffer.
	Sync() error
	// Free releases the memory. It is idempotent; views of the buffer must not be used afterwards.
	Free() error
}

// SharedBuffer is host memory, which devices may share. What Galloc allocates is 64-byte aligned and outside the Go heap, so that
// weights and caches neither raise the garbage collector's goal nor get scanned; it is released by Free or, at the latest, when
// the buffer becomes unreachable. A byte slice taken from a buffer does not keep the buffer reachable.
//
// release is nil for memory that WrapBytes was given, and owner is nil for memory of Galloc's. After Free both bytes and owner are
// nil.
type SharedBuffer struct {
	dtype    DType
	bytes    []byte
	readOnly bool
	owner    any         // what the bytes belong to, kept reachable
	release  *allocation // the memory to give back
}

// allocation is memory of a Galloc, which is given back exactly once. A cleanup of the SharedBuffer holds it, so it must not refer to
// the SharedBuffer.
type allocation struct {
	bytes []byte
	block *mmap.Block   // that bytes lie in; nil: in memory of their own
	used  *atomic.Int64 // the Galloc's count of bytes in use
	done  atomic.Bool   // the memory was given back
}

// free gives the memory back once; later calls do nothing. A nil allocation has no memory.
func (a *allocation) free() error {
	if a == nil || a.done.Swap(true) {
		return nil
	}
	a.used.Add(-int64(len(a.bytes)))
	return a.block.Free(a.bytes)
}

// Forget hints to the system that the whole pages within the bytes [off, off+n) of the buffer are not needed for now, if they belong to a mapped file. They stay
// readable: the next touch reads them from the file again. It does nothing for other memory. Others may read the buffer meanwhile.
func (b *SharedBuffer) Forget(off, n int) {
	f, ok := b.owner.(interface{ Forget(part []byte) })
	if ok && off >= 0 && n > 0 && n <= len(b.bytes)-off {
		f.Forget(b.bytes[off : off+n])
	}
}

// WrapBytes makes a buffer of existing host memory, such as a region of a mapped file. The owner, which may be nil, is kept reachable
// as long as the buffer is. Free makes the buffer forget the memory and its owner, and releases neither of them.
func WrapBytes(d DType, b []byte, owner any, readOnly bool) *SharedBuffer {
	return &SharedBuffer{dtype: d, bytes: b, readOnly: readOnly, owner: owner}
}

// DType returns the type of the elements.
func (b *SharedBuffer) DType() DType { return b.dtype }

// Size returns the bytes.
func (b *SharedBuffer) Size() int { return len(b.bytes) }

// Bytes returns the memory itself, nil after Free.
func (b *SharedBuffer) Bytes() []byte { return b.bytes }

// ReadOnly reports whether WrapBytes was given memory that must not be written, such as a mapped file's.
func (b *SharedBuffer) ReadOnly() bool { return b.readOnly }

// Map does nothing: host memory is always mapped.
func (b *SharedBuffer) Map() error { return nil }

// Unmap does nothing.
func (b *SharedBuffer) Unmap() error { return nil }

// Mapped reports whether the buffer has not been freed.
func (b *SharedBuffer) Mapped() bool { return b.bytes != nil }

// Sync does nothing: the host is in step with itself.
func (b *SharedBuffer) Sync() error { return nil }

// Free releases the memory; a second call does nothing.
func (b *SharedBuffer) Free() error {
	b.bytes, b.owner = nil, nil
	return b.release.free()
}

// Discard gives the memory pages that lie wholly in [off, off+n) back to the system; the bytes in these pages become zero. By it a
// cache takes less memory after an eviction. Memory that the buffer does not own, or must not write, is left as it is.
func (b *SharedBuffer) Discard(off, n int) error {
	if off < 0 || n < 0 || off > len(b.bytes) || n > len(b.bytes)-off {
		return fmt.Errorf("tensor: discard of bytes %d+%d of a buffer of %d", off, n, len(b.bytes))
	}
	if b.release == nil || b.readOnly {
		return nil
	}
	return mmap.Discard(b.bytes[off : off+n])
}

// ErrNoMemory says that a Memory has no room. Freeing buffers may make some.
var ErrNoMemory = errors.New("out of memory")

// Memory allocates buffers and counts the bytes of those that have not been released.
type Memory interface {
	// Alloc returns zeroed memory for size bytes of elements of type d. If there is not as much, the error wraps ErrNoMemory.
	Alloc(size int, d DType) (Buffer, error)
	// Used returns the bytes allocated and not yet released.
	Used() int64
}

// Galloc is the host's Memory. The zero value is ready; it may be used from any number of goroutines.
type Galloc struct {
	used    atomic.Int64
	weights mmap.Together
}

// Alloc returns a zeroed SharedBuffer of size bytes. Pages count against the process only once they are touched.
func (g *Galloc) Alloc(size int, d DType) (Buffer, error) {
	return g.alloc(size, d, alone(mmap.Alloc))
}

// AllocCache is Alloc for memory that is filled bit by bit and read often, such as keys and values: in huge pages if the system has them and
// size is at least one of them. A huge page is memory as a whole once a byte of it is written.
func (g *Galloc) AllocCache(size int, d DType) (Buffer, error) {
	return g.alloc(size, d, alone(mmap.AllocHuge))
}

// alone allocates memory that is in no block.
func alone(alloc func(size int) ([]byte, error)) func(size int) ([]byte, *mmap.Block, error) {
	return func(size int) ([]byte, *mmap.Block, error) {
		bytes, err := alloc(size)
		return bytes, nil, err
	}
}

// AllocWeights is Alloc for memory that is written once and read often. Such buffers lie together, in huge pages if the system has them. A
// huge page is memory as a whole once a byte of it is written.
func (g *Galloc) AllocWeights(size int, d DType) (Buffer, error) {
	return g.alloc(size, d, g.weights.Alloc)
}

// alloc returns a buffer of memory that a function allocates.
func (g *Galloc) alloc(size int, d DType, memory func(size int) ([]byte, *mmap.Block, error)) (Buffer, error) {
	if !d.Valid() {
		return nil, fmt.Errorf("tensor: allocate %d bytes of an unknown element type %d", size, uint8(d))
	}
	bytes, block, err := memory(size)
	if err != nil {
		if size > 0 {
			err = fmt.Errorf("%w: %w", ErrNoMemory, err)
		}
		return nil, fmt.Errorf("tensor: allocate %d bytes of %v: %w", size, d, err)
	}
	g.used.Add(int64(len(bytes)))
	a := &allocation{bytes: bytes, block: block, used: &g.used}
	buffer := &SharedBuffer{dtype: d, bytes: bytes, release: a}
	runtime.AddCleanup(buffer, func(a *allocation) { a.free() }, a)
	return buffer, nil
}

// Used returns the bytes of the buffers that have not been freed.
func (g *Galloc) Used() int64 { return g.used.Load() }
