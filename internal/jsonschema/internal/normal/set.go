package normal

import (
	"slices"
)

// set is a set that remembers in which order its elements came. A copy goes on alone after clip. Few elements are looked through, many have
// an index of the first of them, which does not change: copies share it.
type set[T comparable] struct {
	list  []T
	index map[T]struct{} // of list[:first]; nil: first is 0
	first int
}

// fewElements is how many elements are looked at one by one.
const fewElements = 32

// has reports whether x is an element.
func (s *set[T]) has(x T) bool {
	if len(s.list)-s.first > fewElements+s.first/2 {
		s.index, s.first = make(map[T]struct{}, len(s.list)), len(s.list)
		for _, y := range s.list {
			s.index[y] = struct{}{}
		}
	}
	if s.index != nil {
		if _, ok := s.index[x]; ok {
			return true
		}
	}
	return slices.Contains(s.list[s.first:], x)
}

// add adds x, and returns false if it was there before.
func (s *set[T]) add(x T) bool {
	if s.has(x) {
		return false
	}
	s.list = append(s.list, x)
	return true
}

// clip makes sure that later additions do not change copies of the set.
func (s *set[T]) clip() { s.list = slices.Clip(s.list) }
