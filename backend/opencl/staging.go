//go:build opencl && (amd64 || arm64)

package opencl

import (
	"unsafe"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/internal/mmap"
)

// maxStaged is the largest write that is copied aside so that nobody waits for it, in bytes.
const maxStaged = 1 << 20

// staging holds copies of what is on its way to the device, in memory that Go does not move, so that the caller may go on
// at once. The places are used in turn; one whose write is not over yet is waited for, which also keeps the host from
// running far ahead of the device.
type staging struct {
	places [8]struct {
		bytes []byte
		done  cl.Event
	}
	next int
}

// write copies bytes to the device, in the order of the queue.
func (s *staging) write(c *cl.Context, m *cl.Mem, off int, src []byte) error {
	if len(src) > maxStaged {
		return c.Write(m, off, src)
	}
	place := &s.places[s.next]
	s.next = (s.next + 1) % len(s.places)
	if err := place.done.Wait(); err != nil {
		return err
	}
	if len(place.bytes) < len(src) {
		bytes, err := mmap.Alloc(max(2*len(src), 1<<12))
		if err != nil {
			return err
		}
		mmap.Free(place.bytes)
		place.bytes = bytes
	}
	copy(place.bytes, src)
	var err error
	place.done, err = c.WriteLater(m, off, place.bytes[:len(src)])
	return err
}

// release gives the memory back; the device must be done.
func (s *staging) release() {
	for i := range s.places {
		s.places[i].done.Release()
		mmap.Free(s.places[i].bytes)
		s.places[i].bytes = nil
	}
}

// intBytes views numbers as bytes.
func intBytes(x []int32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}
