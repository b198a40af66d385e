package engine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// join is the input of a head that predicts further tokens: x = projection([token(e); state(h)]), where e is a token's embedding and h the final
// state of the token before it (DeepSeek-V3, arXiv 2412.19437).
//
// The two norms are written to two halves of one memory, and gathered from there in turns: for 3 rows of 8 that there is memory for
//
//	both     e₀ e₁ e₂ . . . . .  h₀ h₁ h₂ . . . . .
//	joined   e₀ h₀  e₁ h₁  e₂ h₂                     rows 0 8 1 9 2 10 of both
type join struct {
	token, state norm
	projection   projection // [hidden, 2·hidden]
}

// build makes the input without its tensors, if the model is such a head.
func (n *join) build(w *Weights) {
	if w.Config.After == 0 {
		return
	}
	n.token.build(w, place{part: model.AheadTokenNorm})
	n.state.build(w, place{part: model.AheadStateNorm})
	w.placeProjection(model.AheadProjection, 0, &n.projection)
}

// joinRows is the memory of a pass's rows there.
type joinRows struct {
	tokens, states tensor.Tensor  // [rows, hidden]
	both           *tensor.Tensor // [2·most, hidden]: the memory of tokens, and behind it that of states
	joined, pairs  tensor.Tensor  // [rows, 2·hidden], and the same as [2·rows, hidden]
	order          []int32        // the rows of both in the pairs of the largest pass
}

// reserve allocates the memory.
func (s *joinRows) reserve(a *arena, c *model.Config) error {
	if c.After == 0 {
		return nil
	}
	var err error
	if s.both, err = a.allocate(2*a.most, c.HiddenSize); err != nil {
		return err
	}
	for i, view := range []*tensor.Tensor{&s.tokens, &s.states} {
		half, err := s.both.Slice(i*a.most, (i+1)*a.most)
		if err != nil {
			return err
		}
		a.add(half, view)
	}
	joined, err := a.allocate(a.most, 2*c.HiddenSize)
	if err != nil {
		return err
	}
	a.add(joined, &s.joined)
	pairs, err := joined.Reshape(2*a.most, c.HiddenSize)
	if err != nil {
		return err
	}
	a.addTimes(pairs, &s.pairs, 2)
	for i := range a.most {
		s.order = append(s.order, int32(i), int32(a.most+i))
	}
	return nil
}

// write computes p.x from the embeddings that are there, and from the jobs' final states.
func (n *join) write(p *program) {
	s := &p.inputs.join
	p.call(func() error {
		for _, j := range p.jobs {
			if err := p.copyRows(j.Final, &s.states, 0, j.first, j.rows); err != nil {
				return err
			}
		}
		return nil
	})
	p.do(n.token.op(&p.x, &s.tokens))
	p.do(n.state.op(&s.states, &s.states))
	p.call(func() error {
		return p.gathered.Run(p.device, backend.Gather{Table: s.both, Indices: s.order[:2*p.rows], Out: &s.pairs})
	}, &s.tokens, &s.states)
	p.do(&backend.MatMulTransposed{X: &s.joined, W: n.projection.weight, Out: &p.x})
	p.complete(&n.projection, &s.joined, &p.x)
}
