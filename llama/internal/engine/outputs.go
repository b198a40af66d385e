package engine

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/tensor"
)

// A pass ends with the outputs that its jobs ask for. A job may want each of its rows (Output.Each), which come GroupRows at a time; the
// logits of its last rows; or their states. The last rows of all jobs are normed and multiplied with the head in one product.
//
// The largest logits are found for all jobs at once, and so are the likeliest tokens for those that draw by probabilities.
//
// If only one job wants logits, the product writes to that job's memory. For jobs A and B with one row each, the product is a block of two
// rows, and each job copies its row out of the block later, while the next pass writes to the other of two blocks.
//
//	rows of x     0 is A's, 1 is B's
//	lastStates    both rows, as a view of x: they lie together
//	lastLogits    [2, vocab] in a block, with A.at = 0 and B.at = 1
//	collect       A copies row 0 to its Output.Into, B copies row 1, each on its own goroutine

// outputs gives the jobs of a pass what they want of their rows, and has memory for that.
type outputs struct {
	weights *Weights
	memory  *atomic.Int64 // the batch's, to which bytes of blocks and groups are added

	last   tensor.Tensor     // [n, hidden]: the rows that logits are computed of, normed; in the memory of the pass's normed
	states tensor.Tensor     // [n, hidden]: the same rows before the final norm, of x or in the memory of the pass's product
	logits tensor.Tensor     // [n, vocab]: their logits, in the memory of groups or of a block
	groups *tensor.Tensor    // [GroupRows, vocab]; nil until all rows of a job are asked for
	blocks [2]block          // of the latest two passes, in turn
	turn   int               // which of blocks is next
	best   selection.Choices // the largest logits of a pass

	tempered      *tensor.Tensor // [rows, vocab] or more: what becomes probabilities; nil until somebody draws
	probabilities tensor.Tensor  // in its memory

	operand, out [1]*tensor.Tensor // lists of operands, kept so that a pass does not allocate them

	outputCalls
}

// outputCalls are the operations, which allocate nothing. The norm and the product are asked for as one, since the jobs decide which memory gets the product.
type outputCalls struct {
	copied    copying
	head      backend.Call[backend.NormMatMul, *backend.NormMatMul]
	centred   backend.Call[backend.LayerNorm, *backend.LayerNorm]
	product   backend.Call[backend.MatMulTransposed, *backend.MatMulTransposed]
	biased    backend.Call[backend.AddAssign, *backend.AddAssign]
	limited   backend.Call[backend.Softcap, *backend.Softcap]
	scaled    backend.Call[backend.Scale, *backend.Scale]
	softmaxed backend.Call[backend.Softmax, *backend.Softmax]
	largest   backend.Call[backend.Largest, *backend.Largest]
}

// give gives the jobs of a pass that is through the layers what they want, and waits until the device has computed it, so that an error is
// returned now and not at the next step.
func (o *outputs) give(p *pass) error {
	for _, j := range p.jobs {
		if j.Output.Each != nil {
			if err := o.visit(p, j); err != nil {
				return err
			}
		}
	}
	for _, j := range p.jobs {
		if k := j.Output.Keep; k != nil && j.err == nil {
			if err := k.take(p, j, &o.weights.norm); err != nil {
				return fmt.Errorf("final states: %w", err)
			}
		}
	}
	shared, waited, err := o.lastLogits(p)
	if err == nil && !waited {
		err = p.device.Synchronize()
	}
	if err != nil || shared == nil {
		return err
	}
	for _, j := range p.jobs {
		if j.wantsLast() {
			j.block = shared
			shared.taken.Add(1)
		}
	}
	return nil
}

// GroupRows is the most rows of logits that are computed at once if all of a job's rows are wanted: enough rows to read the output head's
// weights seldom, few enough that their logits, [GroupRows, vocab], stay small.
const GroupRows = 8

// visit calls the job's Each for all of its rows. An error of Each is the job's.
func (o *outputs) visit(p *pass, j *Job) error {
	w, width := o.weights, o.weights.Config.HiddenSize
	rows := j.Rows
	if j.Output.Rows > 0 {
		rows = min(rows, j.Output.Rows)
	}
	for lo := 0; lo < rows; lo += GroupRows {
		if j.Context != nil && j.Context.Err() != nil {
			j.err = j.Context.Err()
			return nil
		}
		n := min(GroupRows, rows-lo)
		if err := p.cut(&p.normed, &o.last, n); err != nil {
			return err
		}
		if err := o.copied.Run(p.device, backend.CopySlice{Src: &p.x, Dst: &o.last, From: (j.first + lo) * width, N: n * width}); err != nil {
			return err
		}
		if err := w.norm.apply(p.device, &o.last); err != nil {
			return fmt.Errorf("final norm: %w", err)
		}
		seen := &o.last
		if !j.Output.Hide {
			if err := o.groupLogits(n); err != nil {
				return err
			}
			seen = &o.logits
		}
		if j.err = j.Output.Each(seen); j.err != nil {
			return nil
		}
	}
	return nil
}

// groupLogits computes the logits of o.last [n, hidden] into o.logits [n, vocab], n ≤ GroupRows.
func (o *outputs) groupLogits(n int) error {
	w := o.weights
	if o.groups == nil {
		t, err := tensor.New(w.device, tensor.F32, tensor.ShapeOf(GroupRows, w.Config.VocabSize))
		if err != nil {
			return err
		}
		o.groups = t
		o.memory.Add(int64(t.Size()))
	}
	if err := o.groups.SliceInto(&o.logits, 0, n); err != nil {
		return err
	}
	if err := o.product.Run(w.device, backend.MatMulTransposed{X: &o.last, W: w.head, Out: &o.logits}); err != nil {
		return fmt.Errorf("output head: %w", err)
	}
	return o.limit(&o.logits)
}

// limit adds biases to logits, and limits them, if the model does.
func (o *outputs) limit(logits *tensor.Tensor) error {
	if bias := o.weights.headBias; bias != nil {
		if err := o.biased.Run(o.weights.device, backend.AddAssign{A: logits, B: bias}); err != nil {
			return fmt.Errorf("biases of logits: %w", err)
		}
	}
	limit := o.weights.Config.LogitCap
	if limit == 0 {
		return nil
	}
	if err := o.limited.Run(o.weights.device, backend.Softcap{X: logits, Limit: float32(limit)}); err != nil {
		return fmt.Errorf("limit logits: %w", err)
	}
	return nil
}

// lastLogits computes the logits of the jobs that want those of their last tokens, in one product. If there is one such job, the logits go
// to the tensor that the job gives; otherwise into a block, which lastLogits returns. waited reports that the device has computed them.
func (o *outputs) lastLogits(p *pass) (shared *block, waited bool, err error) {
	w := o.weights
	var only *Job
	rows, wanting := 0, 0
	for _, j := range p.jobs {
		if j.wantsLast() {
			j.at = rows
			only, rows, wanting = j, rows+j.Output.Last, wanting+1
		}
	}
	if wanting == 0 {
		return nil, false, nil
	}
	if err := o.lastStates(p, rows); err != nil {
		return nil, false, err
	}
	if err := p.cut(&p.normed, &o.last, rows); err != nil {
		return nil, false, err
	}
	logits := only.Output.Into
	if wanting > 1 {
		logits = &o.logits
		if shared, err = o.nextBlock(rows); err != nil {
			return nil, false, err
		}
	}
	o.operand[0], o.out[0] = w.head, logits
	product := backend.NormMatMul{X: &o.states, Norm: w.norm.weight, Eps: w.norm.eps, Normed: &o.last, Ws: o.operand[:], Outs: o.out[:]}
	if w.norm.centred {
		if err = o.centred.Run(p.device, backend.LayerNorm{X: &o.states, W: w.norm.weight, B: w.norm.bias, Eps: w.norm.eps, Out: &o.last}); err != nil {
			return nil, false, fmt.Errorf("final norm: %w", err)
		}
		product.X, product.Norm, product.Normed = &o.last, nil, nil
	}
	err = o.head.Run(p.device, product)
	if err != nil {
		return nil, false, fmt.Errorf("final norm and output head: %w", err)
	}
	if err := o.limit(logits); err != nil {
		return nil, false, err
	}
	waited, err = o.choose(p.jobs, logits)
	return shared, waited, err
}

// lastStates makes o.states [rows, hidden] the states of the tokens that need logits. If they lie one after the other, as they do if all
// jobs are of one token, these are a view; else they are copied.
func (o *outputs) lastStates(p *pass, rows int) error {
	if err := p.cut(&p.product, &o.states, rows); err != nil {
		return err
	}
	jobs, width := p.jobs, o.weights.Config.HiddenSize
	for from := 0; from < len(jobs); {
		j := jobs[from]
		from++
		if !j.wantsLast() {
			continue
		}
		n := j.Output.Last
		for from < len(jobs) && jobs[from].wantsLast() && jobs[from].Output.Last == jobs[from].rows {
			n += jobs[from].rows
			from++
		}
		first := j.first + j.rows - j.Output.Last
		if n == rows {
			return p.x.SliceInto(&o.states, first, first+n)
		}
		if err := o.copied.Run(p.device, backend.CopySlice{Src: &p.x, Dst: &o.states, From: first * width, To: j.at * width, N: n * width}); err != nil {
			return err
		}
	}
	return nil
}

// nextBlock returns the next block in turn, after all jobs have copied their logits from it, and makes o.logits [rows, vocab] of its
// memory.
func (o *outputs) nextBlock(rows int) (*block, error) {
	o.turn = 1 - o.turn
	k := &o.blocks[o.turn]
	k.taken.Wait()
	if err := o.room(&k.logits, rows); err != nil {
		return nil, err
	}
	return k, k.logits.SliceInto(&o.logits, 0, rows)
}

// room makes memory for rows of logits, [rows, vocab], if it is not as large already.
func (o *outputs) room(memory **tensor.Tensor, rows int) error {
	if *memory != nil && (*memory).Shape().Dim(0) >= rows {
		return nil
	}
	t, err := tensor.New(o.weights.device, tensor.F32, tensor.ShapeOf(rows, o.weights.Config.VocabSize))
	if err != nil {
		return err
	}
	if old := *memory; old != nil {
		o.memory.Add(-int64(old.Size()))
		if err := old.Free(); err != nil {
			return errors.Join(err, t.Free())
		}
	}
	*memory = t
	o.memory.Add(int64(t.Size()))
	return nil
}

// choose finds the largest logits for the jobs that want some, and the likeliest tokens for those that draw; their rows are those of logits
// [rows, vocab], in the jobs' order. It reports whether there were any to find: then the device has computed the logits.
func (o *outputs) choose(jobs []*Job, logits *tensor.Tensor) (found bool, err error) {
	largest, likeliest, rows := 0, 0, 0
	for _, j := range jobs {
		switch {
		case j.draws():
			likeliest, rows = max(likeliest, j.Output.Top), rows+j.Output.Last
		case j.wantsLast():
			largest = max(largest, j.Output.Top)
		}
	}
	if largest > 0 {
		if err := o.chooseLargest(jobs, logits, largest); err != nil {
			return false, err
		}
	}
	if likeliest > 0 {
		if err := o.chooseLikeliest(jobs, logits, rows, likeliest); err != nil {
			return false, err
		}
	}
	return largest+likeliest > 0, nil
}

// chooseLargest finds as many for all rows as one of the jobs wants: searching many rows at once takes little longer than searching one.
func (o *outputs) chooseLargest(jobs []*Job, logits *tensor.Tensor, top int) error {
	best := o.best.Reserve(logits.Shape().Dim(0) * top)
	if err := o.largest.Run(o.weights.device, backend.Largest{X: logits, Indices: best.Tokens, Values: best.Values}); err != nil {
		return fmt.Errorf("the %d largest logits: %w", top, err)
	}
	for _, j := range jobs {
		if j.wantsLast() && !j.draws() {
			j.choose(best, j.at, top)
		}
	}
	return nil
}

// chooseLikeliest makes probabilities of copies of the rows that are drawn from, and finds the largest of these. Conversations with one
// temperature, as most have, need few operations.
func (o *outputs) chooseLikeliest(jobs []*Job, logits *tensor.Tensor, rows, top int) error {
	d, vocab := o.weights.device, o.weights.Config.VocabSize
	if err := o.room(&o.tempered, rows); err != nil {
		return err
	}
	at := 0
	for from := 0; from < len(jobs); {
		j := jobs[from]
		from++
		if !j.draws() {
			continue
		}
		n := j.Output.Last
		for from < len(jobs) && jobs[from].draws() && jobs[from].Output.Temperature == j.Output.Temperature {
			n += jobs[from].Output.Last
			from++
		}
		err := o.copied.Run(d, backend.CopySlice{Src: logits, Dst: o.tempered, From: j.at * vocab, To: at * vocab, N: n * vocab})
		if err == nil {
			err = o.tempered.SliceInto(&o.probabilities, at, at+n)
		}
		if err == nil {
			err = o.scaled.Run(d, backend.Scale{X: &o.probabilities, By: 1 / j.Output.Temperature})
		}
		if err != nil {
			return err
		}
		at += n
	}
	if err := o.tempered.SliceInto(&o.probabilities, 0, rows); err != nil {
		return err
	}
	if err := o.softmaxed.Run(d, backend.Softmax{X: &o.probabilities}); err != nil {
		return err
	}
	best := o.best.Reserve(rows * top)
	if err := o.largest.Run(d, backend.Largest{X: &o.probabilities, Indices: best.Tokens, Values: best.Values}); err != nil {
		return fmt.Errorf("the %d likeliest tokens: %w", top, err)
	}
	at = 0
	for _, j := range jobs {
		if j.draws() {
			j.choose(best, at, top)
			at += j.Output.Last
		}
	}
	return nil
}

// choose copies the job's choices from those of all rows, top for each row; the job's begin with row at.
func (j *Job) choose(best *selection.Choices, at, top int) {
	for row := range j.Output.Last {
		from, k := (at+row)*top, j.Output.Top
		copy(j.Output.Best.Tokens[row*k:][:k], best.Tokens[from:])
		copy(j.Output.Best.Values[row*k:][:k], best.Values[from:])
	}
}

// collect copies the job's logits from the pass's block, on the goroutine of the conversation, so that conversations do it side by
// side while the next pass may begin.
func (o *outputs) collect(j *Job) error {
	if j.block == nil {
		return nil
	}
	defer j.block.taken.Done()
	n := j.Output.Into.Shape().NumElements()
	return j.copied.Run(o.weights.device, backend.CopySlice{Src: j.block.logits, Dst: j.Output.Into, From: j.at * (n / j.Output.Last), N: n})
}

// free gives the memory back.
func (o *outputs) free() error {
	var errs []error
	for _, t := range []**tensor.Tensor{&o.groups, &o.blocks[0].logits, &o.blocks[1].logits, &o.tempered} {
		if *t != nil {
			o.memory.Add(-int64((*t).Size()))
			errs = append(errs, (*t).Free())
			*t = nil
		}
	}
	return errors.Join(errs...)
}
