package engine

import (
	"cmp"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// textAttention is the mixer of models that read a text as a whole (arXiv 1810.04805): softmax(q·kᵀ/√headDim)·v. A token sees all tokens of
// its text, or those that its reach allows. Each job is a whole text, so that nothing is remembered of it.
type textAttention struct {
	attention
	reach     int        // how many tokens before and after its own a token sees; 0: all
	distances *distances // nil: scores depend on no distance
}

// unrotated is the number of a rotary that does not rotate.
const unrotated = -1

// write lets the rows of each job attend to each other.
func (a *textAttention) write(p *program, around *residual) {
	s := &p.attention[a.shape]
	a.project(p, around)
	if a.rotary != unrotated {
		for _, x := range [2]*tensor.Tensor{&s.q, &s.k} {
			p.do(&backend.RoPE{X: x, Table: &p.angles[a.rotary].table})
		}
	}
	attend := []backend.Op{nil}
	op := &backend.AttendTexts{Q: &s.q, K: &s.k, V: &s.v, Out: &s.out, Reach: a.reach, Sinks: a.sinks}
	attend[0] = op
	p.call(func() error {
		p.texts, p.seen = p.texts[:0], p.seen[:0]
		some := false
		for _, j := range p.jobs {
			p.texts, p.seen = append(p.texts, j.Rows), append(p.seen, cmp.Or(j.Seen, j.Rows))
			some = some || j.Seen != 0
		}
		if op.Texts, op.Seen = p.texts, nil; some {
			op.Seen = p.seen
		}
		if a.distances != nil {
			var err error
			if op.Relative, err = a.distances.relative(p.device); err != nil {
				return err
			}
		}
		return p.device.Run(attend...)
	})
	around.add(p, &s.outFlat, &a.o)
}

// embeddings are what the first layer reads: x = token + type + position. All but the tokens' table may be nil. If the sum has a norm, the
// first layer computes it.
type embeddings struct {
	tokens, positions, types *tensor.Tensor // [vocab, hidden], [positions, hidden], [types, hidden]
	distances                distanceTable  // that layers read
}

// build makes the embeddings without their tensors.
func (e *embeddings) build(w *Weights) {
	w.place(model.Embedding, 0, &e.tokens)
	w.place(model.PositionEmbedding, 0, &e.positions)
	w.place(model.TypeEmbedding, 0, &e.types)
}

// lookUp gathers the rows of the jobs' tokens into x. The scratch has x's shape.
func (e *embeddings) lookUp(p *pass, scale float32, x, scratch *tensor.Tensor) error {
	if err := p.gathered.Run(p.device, backend.Gather{Table: e.tokens, Indices: p.tokens, Out: x}); err != nil {
		return err
	}
	if scale != 1 {
		if err := p.scaled.Run(p.device, backend.Scale{X: x, By: scale}); err != nil {
			return err
		}
	}
	if e.types != nil {
		if err := e.add(p, e.types, x, scratch, func(j *Job, row int) int32 { return j.typeOf(row) }); err != nil {
			return err
		}
	}
	if e.positions == nil {
		return nil
	}
	return e.add(p, e.positions, x, scratch, func(j *Job, row int) int32 { return int32(j.Start + row) })
}

// add adds to each row of x a row of a table: the one that which returns for a row of a job.
func (e *embeddings) add(p *pass, table, x, scratch *tensor.Tensor, which func(j *Job, row int) int32) error {
	p.tokens = p.tokens[:0] // which have been looked up
	for _, j := range p.jobs {
		for row := range j.Rows {
			p.tokens = append(p.tokens, which(j, row))
		}
	}
	if err := p.gathered.Run(p.device, backend.Gather{Table: table, Indices: p.tokens, Out: scratch}); err != nil {
		return err
	}
	return p.summed.Run(p.device, backend.AddAssign{A: x, B: scratch})
}
