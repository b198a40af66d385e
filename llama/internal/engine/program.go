package engine

import (
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// A layer is a program: a list of plain operations on a pass's memory, which reads like the paper. It is written once for each pass and then run
// again and again, so that nothing is allocated for a token: the operands are views, which follow the pass's number of rows. What differs from pass
// to pass, such as the caches that are appended to, is a call in between. The backend fuses what it can: see backend.Fuse. The feed-forward network
// of a Llama, on the processor:
//
//	written                                        run
//	RMSNorm(x → normed)                            NormSwiGLU(x → gate)
//	MatMulTransposed(normed → gate), …(normed → up)
//	SiLUMul(gate, up)
//	MatMulTransposed(gate → product)               MatMulAdd(gate → x)
//	AddAssign(x, product)
//
// Rows with adapters have programs of their own, with a call after each product that an adapter of the pass changes.

// program is a program in the making, and then the steps that it has become.
type program struct {
	*pass
	ops   []backend.Op // as written; a call is one of them
	steps []step
	lost  []*tensor.Tensor // further tensors that nobody reads after the program, besides a pass's
}

// step is some operations, or a call.
type step struct {
	ops  []backend.Op
	call *call
}

// call is a part of a program that is not a list of operations.
type call struct {
	run func() error
	// Reads are the operands that it reads, of those that operations before it write.
	Reads []*tensor.Tensor
}

// Check returns nil: the call itself finds mistakes.
func (*call) Check() error { return nil }

// do adds operations.
func (p *program) do(ops ...backend.Op) { p.ops = append(p.ops, ops...) }

// call adds a call that reads some operands.
func (p *program) call(run func() error, reads ...*tensor.Tensor) { p.do(&call{run, reads}) }

// scale multiplies x by a factor, unless that is 1.
func (p *program) scale(x *tensor.Tensor, by float32) {
	if by != 1 {
		p.do(&backend.Scale{X: x, By: by})
	}
}

// addBias adds a bias [out] to each row of x [rows, out]; nil adds nothing.
func (p *program) addBias(x, bias *tensor.Tensor) {
	if bias != nil {
		p.do(&backend.AddAssign{A: x, B: bias})
	}
}

// rmsNorm normalises each row of x [rows, n], or of its last two dimensions, by a norm [n]; nil changes nothing.
func (p *program) rmsNorm(x, norm *tensor.Tensor, eps float32) {
	if norm != nil {
		p.do(&backend.RMSNorm{X: x, W: norm, Eps: eps})
	}
}

// project computes projections of x to outs, in their order.
func (p *program) project(x *tensor.Tensor, outs []*tensor.Tensor, projections ...*projection) {
	if len(projections) > 1 && projections[0].rounded {
		rounded := &backend.MatMulRounded{X: x, Outs: outs[:len(projections)]}
		for _, j := range projections {
			rounded.Ws = append(rounded.Ws, j.weight)
		}
		p.do(rounded)
	} else {
		for i, j := range projections {
			p.multiply(x, j, outs[i])
		}
	}
	for i, j := range projections {
		p.complete(j, x, outs[i])
	}
}

// multiply computes in·weightᵀ, of rows that are rounded if the projection wants it.
func (p *program) multiply(in *tensor.Tensor, j *projection, out *tensor.Tensor) {
	if j.rounded {
		p.do(&backend.MatMulRounded{X: in, Ws: []*tensor.Tensor{j.weight}, Outs: []*tensor.Tensor{out}})
		return
	}
	p.do(&backend.MatMulTransposed{X: in, W: j.weight, Out: out})
}

// complete makes of out, which has in·weightᵀ already, the projection of in.
func (p *program) complete(j *projection, in, out *tensor.Tensor) {
	p.scale(out, j.scale)
	p.addBias(out, j.bias)
	p.adapt(j, in, out)
}

// adapt adds what adapters of the pass's rows add to a projection.
func (p *program) adapt(j *projection, in, out *tensor.Tensor) {
	if p.adapted.needs(j.number) {
		p.call(func() error { return p.adapted.add(p.device, j.number, in, out) }, in, out)
	}
}

// end makes steps of what has been written.
func (p *program) end() {
	for _, op := range backend.Fuse(p.device, p.ops, append(p.scratch(), p.lost...)...) {
		if c, ok := op.(*call); ok {
			p.steps = append(p.steps, step{call: c})
			continue
		}
		if n := len(p.steps); n == 0 || p.steps[n-1].call != nil {
			p.steps = append(p.steps, step{})
		}
		last := &p.steps[len(p.steps)-1]
		last.ops = append(last.ops, op)
	}
	p.ops = nil
}

// scratch returns the tensors that nobody reads after a program.
func (p *pass) scratch() []*tensor.Tensor {
	list := []*tensor.Tensor{&p.normed, &p.product, &p.experts.gate, &p.experts.up, &p.experts.down, &p.experts.sharedUp}
	for i := range p.dense {
		list = append(list, &p.dense[i].up)
	}
	return list
}

// run runs the program.
func (p *program) run() error {
	for i := range p.steps {
		var err error
		if s := &p.steps[i]; s.call != nil {
			err = s.call.run()
		} else {
			err = p.device.Run(s.ops...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// programs are the programs of a pass, written when they are needed first: of the layers, by their numbers, and of the inputs behind them.
type programs struct {
	plain, adapted []*program
	touched        []bool // the projections that adapters change in adapted
}

// program returns a program of the pass, which write writes if it is not there.
func (p *pass) program(number, of int, write func(p *program)) *program {
	list := &p.programs.plain
	if len(p.adapted.runs) > 0 {
		list = &p.programs.adapted
		if !slices.Equal(p.programs.touched, p.adapted.touched) {
			clear(*list)
			p.programs.touched = append(p.programs.touched[:0], p.adapted.touched...)
		}
	}
	if *list == nil {
		*list = make([]*program, of)
	}
	made := (*list)[number]
	if made == nil {
		made = &program{pass: p}
		write(made)
		made.end()
		(*list)[number] = made
	}
	return made
}
