package emit

import (
	"math/bits"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/normal"
)

// uniqueRule is the rule of a normal.Unique. Its argument has a bit for each value that was written, and the place between the signs.
type uniqueRule struct {
	values      []grammar.Symbol
	least, most int
	id          grammar.RuleID
	signs
}

func (c *emitter) unique(u *normal.Unique) grammar.Symbol {
	r := &uniqueRule{least: u.Least, most: u.Most, id: c.g.Add(nil)}
	c.g.Define(r.id, r)
	for _, v := range u.Values {
		r.values = append(r.values, grammar.Text(v))
	}
	r.signs = c.signs(c.arrays)
	return grammar.Call(r.id, atBegin)
}

// Expand gives what may follow.
func (r *uniqueRule) Expand(arg int64, yield func(...grammar.Symbol)) {
	written, place := arg/places, int(arg)%places
	count := bits.OnesCount64(uint64(written))
	switch place {
	case atBegin:
		yield(r.open, grammar.Call(r.id, atFirst))
		return
	case atEnd:
		if count < r.most {
			yield(r.comma, grammar.Call(r.id, written*places+atMember))
		}
	default:
		if count < r.most {
			for i, v := range r.values {
				if written>>i&1 == 0 {
					yield(v, grammar.Call(r.id, (written|1<<i)*places+atEnd))
				}
			}
		}
	}
	if count >= r.least {
		r.close(place, yield)
	}
}
