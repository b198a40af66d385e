package attention

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// shape is the size of an attention.
type shape struct {
	heads   int // query heads
	kvHeads int // key and value heads; heads is a multiple of it
	dim     int // elements of a head
	slots   int // of the longest cache
	queries int // tokens of a prompt's chunk, at most slots
}

// conversation is one run of an attention: its latest tokens, with keys and values that go into the last slots, and the earlier contents of
// its cache. Heads may have different numbers of slots, as they have after an eviction that judges each head by itself.
//
// Invariants: used[h] ≥ tokens for each KV head h; keys[h] and values[h] are used[h]-tokens rows of a head, in the cache's type.
type conversation struct {
	tokens       int
	used         []int
	keys, values [][]byte
}

// longest returns the number of slots of the head that has most.
func (c *conversation) longest() int { return slices.Max(c.used) }

// problem is an attention with all its operands, on the host.
type problem struct {
	name    string
	heads   int
	kvHeads int
	dim     int
	dtype   tensor.DType // of the cache
	gap     int          // slots behind the first few that are given up, by Compact, before the tokens come
	runs    []conversation
	q       []float32 // [rows, heads, dim], not yet rotated
	k, v    []float32 // [rows, kvHeads, dim], k not yet rotated
	table   []float32 // [rows, dim]: the cosines and the sines of each row's position
}

// rows returns the number of tokens of all conversations.
func (p *problem) rows() (n int) {
	for i := range p.runs {
		n += p.runs[i].tokens
	}
	return n
}

// group returns how many query heads share a KV head.
func (p *problem) group() int { return p.heads / p.kvHeads }

// each calls f for every token with its row, its conversation and the number of slots behind the last one that it sees: 0 for the
// latest token of a conversation.
func (p *problem) each(f func(row, run, hidden int) error) error {
	row := 0
	for i := range p.runs {
		for t := range p.runs[i].tokens {
			if err := f(row, i, p.runs[i].tokens-1-t); err != nil {
				return err
			}
			row++
		}
	}
	return nil
}

// A situation is a kind of attention that comes up in a model. Its name is what -case selects.
type situation struct {
	name, what string
	build      func(s shape) (runs []conversation, gap int) // without the cache's content
}

// situations lists the kinds in the order in which they are looked at.
var situations = []situation{
	{"prompt", "many tokens of one conversation, each of which sees one slot more than the one before", func(s shape) ([]conversation, int) {
		return []conversation{s.even(s.queries, s.slots)}, 0
	}},
	{"token", "one token of one conversation, as when an answer is generated", func(s shape) ([]conversation, int) {
		return []conversation{s.even(1, s.slots)}, 0
	}},
	{"several", "tokens of three conversations of different lengths in one step", func(s shape) ([]conversation, int) {
		half := s.slots/2 + 1
		return []conversation{s.even(1, s.slots), s.even(s.queries, s.queries), s.even(min(3, half), half)}, 0
	}},
	{"uneven", "one token whose heads have different numbers of slots, as after an eviction that judges each head by itself", func(s shape) ([]conversation, int) {
		c := s.even(1, s.slots)
		for h := range c.used {
			c.used[h] = max(1, s.slots*(h+1)/s.kvHeads)
		}
		return []conversation{c}, 0
	}},
	{"window", "one token after an eviction that kept the first slots and the latest, as a sliding window does", func(s shape) ([]conversation, int) {
		return []conversation{s.even(1, s.slots)}, 70
	}},
}

// even returns a conversation with the same number of slots in each head.
func (s shape) even(tokens, used int) conversation {
	return conversation{tokens: tokens, used: slices.Repeat([]int{used}, s.kvHeads)}
}

// ropeBase is the base of the angles of rotary positions in Llama 3.
const ropeBase = 500000

// problem makes the operands of a situation: normally distributed random numbers that depend on the seed and on nothing else.
func (s shape) problem(kind situation, dtype tensor.DType, seed uint64) (*problem, error) {
	runs, gap := kind.build(s)
	p := &problem{name: kind.name, heads: s.heads, kvHeads: s.kvHeads, dim: s.dim, dtype: dtype, gap: gap, runs: runs}
	random := rand.New(rand.NewPCG(seed, 0))
	floats := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(random.NormFloat64())
		}
		return x
	}
	p.q, p.k, p.v = floats(p.rows()*s.heads*s.dim), floats(p.rows()*s.kvHeads*s.dim), floats(p.rows()*s.kvHeads*s.dim)
	for i := range p.runs {
		c := &p.runs[i]
		for _, used := range c.used {
			for _, side := range []*[][]byte{&c.keys, &c.values} {
				rows, err := encode(dtype, floats((used-c.tokens)*s.dim))
				if err != nil {
					return nil, err
				}
				*side = append(*side, rows)
			}
		}
	}
	p.table = make([]float32, 0, p.rows()*s.dim)
	return p, p.each(func(_, run, hidden int) error {
		c := &p.runs[run]
		p.table = appendAngles(p.table, c.longest()-1-hidden, s.dim)
		return nil
	})
}

// appendAngles appends the cosines and then the sines of a position's angles.
func appendAngles(table []float32, position, dim int) []float32 {
	for _, f := range []func(float64) float64{math.Cos, math.Sin} {
		for i := range dim / 2 {
			table = append(table, float32(f(float64(position)*math.Pow(ropeBase, -2*float64(i)/float64(dim)))))
		}
	}
	return table
}

// encode stores whole blocks of values in a type.
func encode(d tensor.DType, x []float32) ([]byte, error) {
	size, err := d.Bytes(len(x))
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	return data, d.Format().Quantize(data, x)
}

// decode reads whole blocks of a type.
func decode(d tensor.DType, data []byte) ([]float32, error) {
	x := make([]float32, len(data)/d.BlockBytes()*d.BlockLen())
	return x, d.Format().Dequantize(x, data)
}

// check returns an error unless an attention can have the shape, with every type of cache that is given.
func (s shape) check(types []tensor.DType) error {
	const most = 1 << 16 // of each: what a look at every element can take
	switch {
	case s.heads < 1 || s.kvHeads < 1 || s.heads%s.kvHeads != 0 || s.heads > most:
		return fmt.Errorf("-heads %d -kv-heads %d: both are at least 1, and -heads a multiple of -kv-heads", s.heads, s.kvHeads)
	case s.dim < 2 || s.dim%2 != 0 || s.dim > 1024:
		return fmt.Errorf("-head-dim %d: it must be even, since a rotation turns pairs, and at most 1024", s.dim)
	case s.slots < 1 || s.slots > most:
		return fmt.Errorf("-slots %d: there must be between 1 and %d", s.slots, most)
	case s.queries < 1 || s.queries > s.slots:
		return fmt.Errorf("-queries %d: there must be at least 1, and as many slots, -slots %d, or more: each comes into one", s.queries, s.slots)
	}
	for _, d := range types {
		if s.dim%d.BlockLen() != 0 {
			return fmt.Errorf("-head-dim %d: a cache of type %v needs a multiple of %d; -kv-type chooses the types", s.dim, d, d.BlockLen())
		}
	}
	return nil
}

// pagesFor returns how many pages a number of slots takes.
func pagesFor(slots int) int { return (slots + backend.PageSlots - 1) / backend.PageSlots }
