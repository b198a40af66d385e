package llama

import "slices"

// IsEnd tells whether a token ends a turn: whether it is one of Config.EOS.
func (m *Model) IsEnd(t Token) bool {
	_, is := slices.BinarySearch(m.ends, t)
	return is
}
