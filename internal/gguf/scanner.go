package gguf

import (
	"encoding/binary"

	"github.com/antigravity-go/antigravity/internal/format"
)

// scanner reads a header piece by piece. After the first error it reads only zeros, and does not move.
//
// Invariant: 0 ≤ off ≤ len(b).
type scanner struct {
	b   []byte
	off int   // of the next byte to read
	err error // the first one
}

// span is the bytes [off, end) of the file.
type span struct{ off, end int }

func (s *scanner) fail(off int, message string, args ...any) {
	if s.err == nil {
		s.err = format.Errorf(int64(off), message, args...)
	}
}

// left returns how many bytes have not been read. No count in the file can be larger.
func (s *scanner) left() uint64 { return uint64(len(s.b) - s.off) }

// skip passes over n bytes and returns their span. what names them in errors.
func (s *scanner) skip(n uint64, what string) span {
	if s.err == nil && n > s.left() {
		s.fail(s.off, "%s of %d bytes passes the end of the file, which has %d more", what, n, s.left())
	}
	if s.err != nil {
		return span{s.off, s.off}
	}
	start := s.off
	s.off += int(n)
	return span{start, s.off}
}

func (s *scanner) u32(what string) uint32 {
	if at := s.skip(4, what); s.err == nil {
		return binary.LittleEndian.Uint32(s.b[at.off:])
	}
	return 0
}

func (s *scanner) u64(what string) uint64 {
	if at := s.skip(8, what); s.err == nil {
		return binary.LittleEndian.Uint64(s.b[at.off:])
	}
	return 0
}

// str passes over a string and returns the span of its bytes.
func (s *scanner) str(what string) span { return s.skip(s.u64(what), what) }

// count reads a number of things that take minSize bytes or more each, and refuses more of them than the rest of the file
// can hold.
func (s *scanner) count(minSize int, what string) uint64 {
	at := s.off
	n := s.u64(what)
	if n > s.left()/uint64(minSize) {
		s.fail(at, "%s is %d, more than the %d bytes that follow can hold", what, n, s.left())
		return 0
	}
	return n
}

// maxDepth bounds how deep arrays may nest; no known file nests them at all.
const maxDepth = 4

// value passes over a metadata value of type t, checking it.
func (s *scanner) value(t ValueType, depth int) {
	switch {
	case !t.known():
		s.fail(s.off, "unknown %v", t)
	case t == StringType:
		s.str("string")
	case t == ArrayType:
		s.array(depth)
	default:
		at := s.skip(uint64(valueTypes[t].minSize), t.String())
		s.checkBools(t, at)
	}
}

func (s *scanner) array(depth int) {
	if depth == maxDepth {
		s.fail(s.off, "arrays nest deeper than %d", maxDepth)
		return
	}
	at := s.off
	elem := ValueType(s.u32("element type"))
	if !elem.known() {
		s.fail(at, "unknown %v of array elements", elem)
		return
	}
	n := s.count(valueTypes[elem].minSize, "length of an array of "+elem.String())
	if elem != StringType && elem != ArrayType {
		s.checkBools(elem, s.skip(n*uint64(valueTypes[elem].minSize), "array of "+elem.String()))
		return
	}
	for i := uint64(0); i < n && s.err == nil; i++ {
		s.value(elem, depth+1)
	}
}

// checkBools refuses truth values other than 0 and 1, as the format's specification demands.
func (s *scanner) checkBools(t ValueType, at span) {
	if t != BoolType {
		return
	}
	for i, v := range s.b[at.off:at.end] {
		if v > 1 {
			s.fail(at.off+i, "bool is %d, neither 0 nor 1", v)
			return
		}
	}
}
