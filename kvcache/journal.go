package kvcache

import (
	"errors"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// journal is what the operations of a step were given that computed guesses, so that the rows that turn out right can be passed through the
// state: the same operations in the same order, which give the same bits.
type journal struct {
	rows    int // of the step
	entries []*entry
	bytes   int64
}

// entry is the inputs of one operation. Of Convolve it is x; of Recur it is k, v, g and beta.
type entry struct {
	part   int
	delta  bool
	room   int // rows
	inputs []*tensor.Tensor
	views  [4]tensor.Tensor // the first rows

	// The operations, which allocate nothing.
	of       [1]backend.Stretch
	copied   copying
	recurred backend.Call[backend.Recur, *backend.Recur]
}

// journalRows is the granule in which journals grow.
const journalRows = 8

// record copies rows rows of inputs, from row on, as those of the operation of a part.
func (j *journal) record(p *statePool, part int, delta bool, row, rows int, inputs []*tensor.Tensor) error {
	e := j.of(part)
	if e.room < rows {
		if err := j.grow(p, e, rows, inputs); err != nil {
			return err
		}
	}
	e.delta = delta
	for i, x := range inputs {
		width := x.Shape().NumElements() / x.Shape().Dim(0)
		if err := e.copied.Run(p.device, backend.CopySlice{Src: x, Dst: e.inputs[i], From: row * width, N: rows * width}); err != nil {
			return err
		}
	}
	return nil
}

// of returns the entry of a part.
func (j *journal) of(part int) *entry {
	for _, e := range j.entries {
		if e.part == part {
			return e
		}
	}
	e := &entry{part: part}
	j.entries = append(j.entries, e)
	return e
}

// grow makes room for rows rows of an entry.
func (j *journal) grow(p *statePool, e *entry, rows int, inputs []*tensor.Tensor) error {
	if err := j.drop(p, e); err != nil {
		return err
	}
	rows = (rows + journalRows - 1) / journalRows * journalRows
	for _, x := range inputs {
		dims := x.Shape().Dims()
		dims[0] = rows
		t, err := tensor.New(p.device, tensor.F32, tensor.ShapeOf(dims...))
		if err != nil {
			return errors.Join(err, j.drop(p, e))
		}
		e.inputs = append(e.inputs, t)
		j.bytes += int64(t.Size())
		p.count(int64(t.Size()))
	}
	e.room = rows
	return nil
}

// drop gives an entry's memory back.
func (j *journal) drop(p *statePool, e *entry) error {
	var errs []error
	for _, t := range e.inputs {
		j.bytes -= int64(t.Size())
		p.count(-int64(t.Size()))
		errs = append(errs, t.Free())
	}
	e.inputs, e.room = e.inputs[:0], 0
	return errors.Join(errs...)
}

// free gives all memory back.
func (j *journal) free(p *statePool) error {
	var errs []error
	for _, e := range j.entries {
		errs = append(errs, j.drop(p, e))
	}
	*j = journal{}
	return errors.Join(errs...)
}

// replay passes the first n rows through a value. They are overwritten.
func (j *journal) replay(b backend.Backend, v *value, n int) error {
	for _, e := range j.entries {
		for i, t := range e.inputs {
			if err := t.SliceInto(&e.views[i], 0, n); err != nil {
				return err
			}
		}
		state := v.parts[e.part]
		if len(e.inputs) == 1 {
			if err := e.shift(b, state, n); err != nil {
				return err
			}
			continue
		}
		k, values, g, beta := &e.views[0], &e.views[1], &e.views[2], &e.views[3]
		e.of[0] = backend.Stretch{State: state, Rows: n}
		// Nobody reads what it computes of the rows.
		err := e.recurred.Run(b, backend.Recur{Q: k, K: k, V: values, G: g, Beta: beta, Out: values, Delta: e.delta, Of: e.of[:]})
		if err != nil {
			return err
		}
	}
	return nil
}

// shift makes state [width−1, channels] what Convolve leaves after the first n rows of x, its inputs: the latest ones.
func (e *entry) shift(b backend.Backend, state *tensor.Tensor, n int) error {
	x := e.inputs[0]
	size := state.Shape().NumElements()
	fresh := min(n*state.Shape().Dim(-1), size)
	if err := e.copied.Run(b, backend.CopySlice{Src: state, Dst: state, From: fresh, N: size - fresh}); err != nil {
		return err
	}
	return e.copied.Run(b, backend.CopySlice{Src: x, Dst: state, From: n*state.Shape().Dim(-1) - fresh, To: size - fresh, N: fresh})
}
