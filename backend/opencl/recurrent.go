//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
	"github.com/antigravity-go/antigravity/tensor"
)

// recurrent computes what recurrent layers have and others have not.
//
// The rows of several conversations, their stretches, lie one after the other in the operands, and each stretch has a state of its own. A
// launch takes up to 8 stretches. Eleven stretches of 1, 2, 1, 1, 3, 1, 1, 1, 4, 1 and 1 rows are two launches:
//
//	8 stretches   row = [0 1 3 4 5 8 9 10]   rows = [1 2 1 1 3 1 1 1]
//	3 stretches   row = [11 15 16]           rows = [4 1 1]
type recurrent struct {
	*vectors
	programs map[recurrentShape]program

	// Of the operation under way; the queue's lock guards them.
	operands []operand // its tensors, and then the states of its stretches
	states   []operand // those of the launch that is being made
	list     stretchList
}

// recurrentShape says which variant of a program computes an operation.
type recurrentShape struct {
	name    string
	size    int  // taps of a convolution, or elements of a key
	several bool // stretches
}

// program returns the variant; the macro has its size.
func (r *recurrent) program(files, macro string, size int, several bool) program {
	shape := recurrentShape{files, size, several}
	p, ok := r.programs[shape]
	if !ok {
		states := 1
		if several {
			states = maxStretches
		}
		p = compiler.Of(files, fmt.Sprintf("-DGROUP=%d -D%s=%d -DSTATES=%d", groupSize, macro, size, states))
		r.programs[shape] = p
	}
	return p
}

// maxStretches is how many stretches a launch takes at most: STATES in stretches.cl is 1 or this.
const maxStretches = 8

// stretchList is the struct stretches of stretches.cl.
type stretchList struct{ row, rows, at [maxStretches]int32 }

// eachLaunch calls enqueue for each maxStretches stretches, or fewer, with their number. Their states are then those that pass passes. The
// caller holds the lock.
func (r *recurrent) eachLaunch(of []backend.Stretch, states []operand, enqueue func(n int) error) error {
	row := 0
	for first := 0; first < len(of); first += maxStretches {
		n := min(maxStretches, len(of)-first)
		r.states = states[first : first+n]
		for i, s := range of[first : first+n] {
			r.list.row[i], r.list.rows[i], r.list.at[i] = int32(row), int32(s.Rows), int32(r.states[i].elements(4))
			row += s.Rows
		}
		if err := enqueue(n); err != nil {
			return err
		}
	}
	return nil
}

// pass passes the launch's states to a kernel, as its last arguments.
func (r *recurrent) pass(k *cl.Kernel) *cl.Kernel {
	n := len(r.states)
	if n == 1 {
		return k.Mem(r.states[0].mem).Int(int(r.list.row[0])).Int(int(r.list.rows[0])).Int(int(r.list.at[0]))
	}
	for i := range maxStretches {
		k.Mem(r.states[min(i, n-1)].mem)
	}
	return k.Struct(unsafe.Pointer(&r.list), unsafe.Sizeof(r.list))
}

// onStretches calls enqueue with the operands of ts and of the states, under the lock, if kernels can use all of them now. Otherwise it
// computes the operation on the host.
func (r *recurrent) onStretches(op backend.Op, ts []*tensor.Tensor, of []backend.Stretch, enqueue func(o, states []operand) error) error {
	r.mu.Lock()
	r.operands = r.operands[:0]
	for i := range len(ts) + len(of) {
		var t *tensor.Tensor
		if i < len(ts) {
			t = ts[i]
		} else {
			t = of[i-len(ts)].State
		}
		o := r.operand(t)
		if !o.ok {
			r.mu.Unlock()
			return r.opOnHost(op)
		}
		r.operands = append(r.operands, o)
	}
	defer r.mu.Unlock()
	defer clear(r.operands)
	return enqueue(r.operands[:len(ts)], r.operands[len(ts):])
}

// mostTaps is the widest convolution with a kernel: its inputs stay in registers.
const mostTaps = 8

// convolve computes the causal convolution of each channel.
func (r *recurrent) convolve(op *backend.Convolve) error {
	rows, channels, width := op.Dims()
	if rows*channels == 0 {
		return nil
	}
	if width > mostTaps {
		return r.opOnHost(op)
	}
	of, b, bias := op.Of, op.B, op.B
	if b == nil {
		bias = op.W // some buffer, which is not used
	}
	return r.onStretches(op, []*tensor.Tensor{op.X, op.W, bias, op.Out}, of, func(o, states []operand) error {
		return r.eachLaunch(of, states, func(n int) error {
			k, err := r.kernel(r.program("common stretches filter", "TAPS", width, n > 1), "convolve")
			if err != nil {
				return err
			}
			return r.run("Convolve", r.pass(floats(k, o...).Int(channels).Int(flag(b != nil))), groupSize, groups(channels, groupSize), n, 1)
		})
	})
}

// mostKeys is the longest key with a kernel, and keyPart what its length is a multiple of: a quarter of a column stays in a work-item's registers.
const (
	mostKeys = 256
	keyPart  = 4
)

// recur passes the rows of each stretch through its state.
func (r *recurrent) recur(op *backend.Recur) error {
	d, of := op.Dims(), op.Of
	if d.Rows == 0 {
		return nil
	}
	if d.KeyDim > mostKeys || d.KeyDim%keyPart != 0 {
		return r.opOnHost(op)
	}
	return r.onStretches(op, []*tensor.Tensor{op.Q, op.K, op.V, op.G, op.Beta, op.Out}, of, func(o, states []operand) error {
		return r.eachLaunch(of, states, func(n int) error {
			kernel, err := r.kernel(r.program("common exact stretches recurrent", "KEYS", d.KeyDim, n > 1), "recur")
			if err != nil {
				return err
			}
			r.pass(floats(kernel, o...).Int(d.KeyHeads).Int(d.ValueDim).Int(flag(op.Delta)))
			return r.run("Recur", kernel, keyPart*asm.StateColumns, d.Blocks(), d.Heads, n)
		})
	})
}
