package mmap

import (
	"errors"
	"os"
	"sync"
	"unsafe"
)

// The system takes microseconds to map a piece of memory, to provide each page of it and to take it all back. Pages of caches, states and
// operands are small and come and go with conversations, so some of those that were freed are kept.
const (
	maxSmall  = 1 << 20  // bytes of a piece that is kept: clearing a large one may take longer than mapping the part of it that is used
	maxSpares = 16 << 20 // bytes of all that are kept
)

// smallPieces has the small pieces of all that this process allocates.
var smallPieces = small{lent: map[uintptr]int{}, spares: map[int][][]byte{}}

// small allocates pieces of whole pages and keeps those that were freed, at most maxSpares bytes of them.
type small struct {
	mu     sync.Mutex
	lent   map[uintptr]int  // bytes that were asked for, by address, of the pieces in use: freeing another is an error
	spares map[int][][]byte // pieces that were freed, by size
	kept   int              // bytes of spares
}

// alloc returns n bytes of zeroed memory.
func (s *small) alloc(n int) ([]byte, error) {
	whole := roundUp(n, os.Getpagesize())
	b := s.take(whole)
	if b != nil {
		clear(b)
	} else {
		var err error
		if b, err = allocPages(whole); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	s.lent[addressOf(b)] = n
	s.mu.Unlock()
	return b[:n:n], nil
}

// take returns a spare of a size, or nil.
func (s *small) take(size int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.spares[size]
	if len(list) == 0 {
		return nil
	}
	last := len(list) - 1
	b := list[last]
	list[last] = nil
	s.spares[size] = list[:last]
	s.kept -= size
	return b
}

var errNotLent = errors.New("it is not in use")

// free keeps a piece. Once more is kept than may be, everything goes back to the system: sizes that nobody asks for any more must not take
// the place of those that come now.
func (s *small) free(b []byte) (err error) {
	s.mu.Lock()
	if n, ok := s.lent[addressOf(b)]; !ok || n != len(b) {
		s.mu.Unlock()
		return errNotLent
	}
	delete(s.lent, addressOf(b))
	whole := roundUp(len(b), os.Getpagesize())
	s.spares[whole] = append(s.spares[whole], unsafe.Slice(unsafe.SliceData(b), whole))
	s.kept += whole
	var old map[int][][]byte
	if s.kept > maxSpares {
		old, s.spares, s.kept = s.spares, map[int][][]byte{}, 0
	}
	s.mu.Unlock()
	for _, list := range old {
		for _, piece := range list {
			err = errors.Join(err, freePages(piece))
		}
	}
	return err
}
