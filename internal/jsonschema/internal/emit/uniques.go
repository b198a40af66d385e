package emit

import (
	"math/bits"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/normal"
)

// uniqueStates are the states of a normal.Unique: a bit for each value that was written.
type uniqueStates struct {
	values      []grammar.Symbol
	least, most int
}

func (c *emitter) unique(u *normal.Unique) grammar.Symbol {
	s := &uniqueStates{least: u.Least, most: u.Most}
	for _, v := range u.Values {
		s.values = append(s.values, grammar.Text(v))
	}
	return c.list().with(s)
}

func (s *uniqueStates) more(written int64) bool { return bits.OnesCount64(uint64(written)) < s.most }
func (s *uniqueStates) ends(written int64) bool { return bits.OnesCount64(uint64(written)) >= s.least }

func (s *uniqueStates) next(written int64, yield func(grammar.Symbol, int64)) {
	if s.more(written) {
		for i, v := range s.values {
			if written>>i&1 == 0 {
				yield(v, written|1<<i)
			}
		}
	}
}
