//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/internal/mmap"
)

// maxStaged is the most that a place of the staging memory holds, in bytes.
const maxStaged = 1 << 20

// staging is the memory through which everything goes between the host and the device. The driver gets to see no other memory
// of the host's: a tensor's bytes may be a mapped file, and when that is cut short, touching it ends a process, unless it is Go
// code that touches it, under mmap.Catch.
//
// The places, in memory that Go does not move, are used in turn, so that who writes may go on at once. Before a place is used again, its
// write is waited for, which also keeps the host from running far ahead of the device.
type staging struct {
	places [8]place
	next   int
}

// place is a piece of the staging memory. The device may be reading bytes until done is over.
type place struct {
	bytes []byte
	done  cl.Event
}

// take returns the next place, with room for at least n bytes and not in use.
func (s *staging) take(n int) (*place, error) {
	p := &s.places[s.next]
	s.next = (s.next + 1) % len(s.places)
	if err := p.done.Wait(); err != nil {
		return nil, err
	}
	if len(p.bytes) < n {
		bytes, err := mmap.Alloc(min(max(2*n, 1<<12), maxStaged))
		if err != nil {
			return nil, err
		}
		mmap.Free(p.bytes)
		p.bytes = bytes
	}
	return p, nil
}

// write copies bytes to the device, in the order of the queue. After an error a part may have been written.
func (s *staging) write(c *cl.Context, m *cl.Mem, off int, src []byte) error {
	for len(src) > 0 {
		n := min(len(src), maxStaged)
		p, err := s.take(n)
		if err != nil {
			return err
		}
		if err := checkedCopy(p.bytes, src[:n]); err != nil {
			return err
		}
		if p.done, err = c.Write(m, off, p.bytes[:n]); err != nil {
			return err
		}
		src, off = src[n:], off+n
	}
	return nil
}

// read waits for the device and copies its bytes to dst.
func (s *staging) read(c *cl.Context, m *cl.Mem, off int, dst []byte) error {
	for len(dst) > 0 {
		n := min(len(dst), maxStaged)
		p, err := s.take(n)
		if err != nil {
			return err
		}
		if err := c.Read(m, off, p.bytes[:n]); err != nil {
			return err
		}
		if err := checkedCopy(dst, p.bytes[:n]); err != nil {
			return err
		}
		dst, off = dst[n:], off+n
	}
	return nil
}

// checkedCopy is copy that returns an error if the memory cannot be touched.
func checkedCopy(dst, src []byte) (err error) {
	defer mmap.Catch(&err)()
	copy(dst, src)
	return nil
}

// release gives the memory back; the device must be done.
func (s *staging) release() {
	for i := range s.places {
		s.places[i].done.Release()
		mmap.Free(s.places[i].bytes)
		s.places[i].bytes = nil
	}
}
