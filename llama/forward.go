package llama

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/tensor"
)

// forward computes the jobs' tokens, rows in all, in one pass: it appends their keys and values to their caches, and gives each job
// the output that it wants. When all jobs have contexts that have ended, it gives up before the next layer. After an error the
// caches and their records are as they were; what one job's own output fails at is that job's error alone.
func (b *batch) forward(jobs []*job, rows int) (err error) {
	m := b.model
	defer runtime.KeepAlive(m)
	defer func() {
		for _, j := range jobs {
			if err != nil || j.err != nil {
				j.takeBack()
			}
		}
		if err != nil && len(jobs) == 1 {
			err = fmt.Errorf("%d tokens at position %d: %w", rows, jobs[0].start, err)
		}
	}()
	defer parallel.Catch(&err)() // weights may be a mapped file; the clean-up above then sees the error
	ws, err := b.workspace(rows)
	if err != nil {
		return err
	}
	if err := m.embed(ws, jobs); err != nil {
		return err
	}
	if err := b.findAdapted(ws, jobs); err != nil {
		return err
	}
	interruptible := slices.ContainsFunc(jobs, func(j *job) bool { return !j.answer })
	for i := range m.layers {
		if interruptible {
			if err := ws.pace.wait(m.device, rows); err != nil {
				return layerError(i, err)
			}
			if err := ended(jobs); err != nil {
				return err
			}
		}
		ws.adapting.layer = i
		ws.caches.Reset()
		for _, j := range jobs {
			ws.caches.Add(j.caches[i], j.rows)
		}
		if err := m.layers[i].forward(m.device, ws); err != nil {
			return layerError(i, err)
		}
	}
	return b.outputs(ws, jobs)
}

// takeBack undoes the job in its caches.
func (j *job) takeBack() {
	for _, c := range j.caches {
		c.TakeBack(j.start) // an error of a cache that was not reached is none
	}
}

// layerError says in which layer something failed.
func layerError(layer int, err error) error { return fmt.Errorf("layer %d: %w", layer, err) }

// ended returns the error of the jobs' contexts once all of them have ended.
func ended(jobs []*job) error {
	for _, j := range jobs {
		if j.ctx == nil || j.ctx.Err() == nil {
			return nil
		}
	}
	return jobs[0].ctx.Err()
}

// workspace returns the workspace cut to a number of rows. It makes one, or a larger one, where that is needed.
func (b *batch) workspace(rows int) (*workspace, error) {
	if b.ws != nil && rows <= b.ws.most {
		return b.ws, b.ws.resize(rows)
	}
	b.mu.Lock()
	most := max(b.chunk+b.most, rows)
	b.mu.Unlock()
	ws, err := newWorkspace(b.model.device, &b.model.config, len(b.model.rotaries), most)
	if err != nil {
		return nil, err
	}
	if b.ws != nil {
		b.memory.Add(-b.ws.bytes)
		if err := b.ws.free(); err != nil {
			return nil, err
		}
	}
	b.ws = ws
	b.memory.Add(ws.bytes)
	return ws, ws.resize(rows)
}

// embed looks the tokens' embeddings up into ws.x, and computes RoPE's cosines and sines for their positions into ws.ropes.
func (m *Model) embed(ws *workspace, jobs []*job) error {
	ws.indices = ws.indices[:0]
	for _, j := range jobs {
		j.first = len(ws.indices)
		for _, t := range j.tokens[:j.rows] {
			ws.indices = append(ws.indices, int32(t))
		}
	}
	for i := range m.rotaries {
		if err := m.rotate(ws, jobs, i); err != nil {
			return err
		}
	}
	if err := m.device.Gather(m.embedding, ws.indices, &ws.x); err != nil || m.config.EmbeddingScale == 0 {
		return err
	}
	return m.device.Scale(&ws.x, float32(m.config.EmbeddingScale))
}

// rotate computes the cosines and sines of one of the model's rotaries.
func (m *Model) rotate(ws *workspace, jobs []*job, number int) error {
	angles, err := tensor.Mut[float32](ws.ropeHosts[number])
	if err != nil {
		return err
	}
	width := m.config.HeadDim
	for _, j := range jobs {
		m.rotaries[number].table(angles[j.first*width:][:j.rows*width], j.start, j.long)
	}
	return m.device.CopySlice(ws.ropeHosts[number], &ws.ropes[number], 0, 0, ws.rows*width)
}

// outputs gives the jobs what they want of their rows, and waits until the device has computed it, so that whoever asked learns of
// an error now and not at his next step.
func (b *batch) outputs(ws *workspace, jobs []*job) error {
	for _, j := range jobs {
		if j.out.each != nil {
			if err := b.visit(ws, j); err != nil {
				return err
			}
		}
	}
	shared, waited, err := b.lastLogits(ws, jobs)
	if err == nil && !waited {
		err = b.model.device.Synchronize()
	}
	if err != nil || shared == nil {
		return err
	}
	for _, j := range jobs {
		if j.wantsLast() {
			j.block = shared
			shared.taken.Add(1)
		}
	}
	return nil
}

// headRows is the most rows whose logits are computed at once where all of a job's rows are wanted: enough rows to read the output
// head's weights seldom, few enough that their logits, [headRows, vocab], stay small.
const headRows = 8

// visit calls the job's each for all of its rows. An error of each is the job's.
func (b *batch) visit(ws *workspace, j *job) error {
	m, width := b.model, b.model.config.HiddenSize
	for lo := 0; lo < j.rows; lo += headRows {
		if j.ctx != nil && j.ctx.Err() != nil {
			j.err = j.ctx.Err()
			return nil
		}
		n := min(headRows, j.rows-lo)
		if err := ws.lastRows(n); err != nil {
			return err
		}
		if err := m.device.CopySlice(&ws.x, &ws.last, (j.first+lo)*width, 0, n*width); err != nil {
			return err
		}
		if err := m.device.RMSNorm(&ws.last, m.norm, m.config.RMSNormEps); err != nil {
			return fmt.Errorf("final norm: %w", err)
		}
		seen := &ws.last
		if !j.out.hide {
			if err := b.groupLogits(ws, n); err != nil {
				return err
			}
			seen = &ws.logits
		}
		if j.err = j.out.each(seen); j.err != nil {
			return nil
		}
	}
	return nil
}

// groupLogits computes the logits of ws.last [n, hidden] into ws.logits [n, vocab], n ≤ headRows.
func (b *batch) groupLogits(ws *workspace, n int) (err error) {
	m := b.model
	if ws.groups == nil {
		if ws.groups, err = tensor.New(m.device.Backend, tensor.F32, tensor.ShapeOf(headRows, m.config.VocabSize)); err != nil {
			return err
		}
		ws.bytes += int64(ws.groups.Size())
		b.memory.Add(int64(ws.groups.Size()))
	}
	if err := ws.groups.SliceInto(&ws.logits, 0, n); err != nil {
		return err
	}
	if err := m.device.MatMulTransposed(&ws.last, m.head, &ws.logits); err != nil {
		return fmt.Errorf("output head: %w", err)
	}
	return nil
}

// lastLogits computes the logits of the jobs that want those of their last tokens, in one product: where they go, if there is one
// such job, and otherwise into a block, which it returns. waited tells that the device has computed them.
func (b *batch) lastLogits(ws *workspace, jobs []*job) (shared *block, waited bool, err error) {
	m := b.model
	var only *job
	rows, wanting := 0, 0
	for _, j := range jobs {
		if j.wantsLast() {
			j.at = rows
			only, rows, wanting = j, rows+j.out.last, wanting+1
		}
	}
	if wanting == 0 {
		return nil, false, nil
	}
	if err := b.lastStates(ws, jobs, rows); err != nil {
		return nil, false, err
	}
	if err := ws.lastRows(rows); err != nil {
		return nil, false, err
	}
	logits := only.out.into
	if wanting > 1 {
		logits = &ws.logits
		if shared, err = b.nextBlock(ws, rows); err != nil {
			return nil, false, err
		}
	}
	ws.weights, ws.outs = append(ws.weights[:0], m.head), append(ws.outs[:0], logits)
	if err := m.device.fused.NormMatMul(&ws.states, m.norm, m.config.RMSNormEps, &ws.last, ws.weights, ws.outs); err != nil {
		return nil, false, fmt.Errorf("final norm and output head: %w", err)
	}
	waited, err = b.choose(jobs, logits)
	return shared, waited, err
}

// lastStates makes ws.states [rows, hidden] the states of the tokens whose logits are wanted. Where they lie one after the other, as
// they do where all jobs are of one token, these are a view; else they are copied.
func (b *batch) lastStates(ws *workspace, jobs []*job, rows int) error {
	if err := ws.cut(&ws.product, &ws.states, rows); err != nil {
		return err
	}
	width := b.model.config.HiddenSize
	for from := 0; from < len(jobs); {
		j := jobs[from]
		from++
		if !j.wantsLast() {
			continue
		}
		n := j.out.last
		for from < len(jobs) && jobs[from].wantsLast() && jobs[from].out.last == jobs[from].rows {
			n += jobs[from].rows
			from++
		}
		first := j.first + j.rows - j.out.last
		if n == rows {
			return ws.x.SliceInto(&ws.states, first, first+n)
		}
		if err := b.model.device.CopySlice(&ws.x, &ws.states, first*width, j.at*width, n*width); err != nil {
			return err
		}
	}
	return nil
}

// wantsLast tells whether the job wants logits of its last tokens, and these are in the pass.
func (j *job) wantsLast() bool { return j.err == nil && j.out.last > 0 && j.rows == len(j.tokens) }

// nextBlock returns the block whose turn it is, when all have copied what it held, and makes ws.logits [rows, vocab] of its memory.
func (b *batch) nextBlock(ws *workspace, rows int) (*block, error) {
	b.turn = 1 - b.turn
	k := &b.blocks[b.turn]
	k.taken.Wait()
	if k.logits == nil || k.logits.Shape().Dim(0) < rows {
		t, err := tensor.New(b.model.device.Backend, tensor.F32, tensor.ShapeOf(rows, b.model.config.VocabSize))
		if err != nil {
			return nil, err
		}
		if k.logits != nil {
			b.memory.Add(-int64(k.logits.Size()))
			if err := k.logits.Free(); err != nil {
				return nil, err
			}
		}
		k.logits = t
		b.memory.Add(int64(t.Size()))
	}
	return k, k.logits.SliceInto(&ws.logits, 0, rows)
}

// choose finds the largest logits for the jobs that want some; their rows are those of logits [rows, vocab], in the jobs' order. It
// finds as many for all rows as one of them wants: searching many rows at once takes little longer than searching one. It tells whether
// there were any to find: then the device has computed the logits.
func (b *batch) choose(jobs []*job, logits *tensor.Tensor) (found bool, err error) {
	top := 0
	for _, j := range jobs {
		if j.wantsLast() {
			top = max(top, j.out.top)
		}
	}
	if top == 0 {
		return false, nil
	}
	best := b.best.reserve(logits.Shape().Dim(0) * top)
	if err := b.model.device.choose.Largest(logits, best.tokens, best.values); err != nil {
		return false, fmt.Errorf("the %d largest logits: %w", top, err)
	}
	for _, j := range jobs {
		if !j.wantsLast() {
			continue
		}
		for row := range j.out.last {
			at, k := (j.at+row)*top, j.out.top
			copy(j.out.best.tokens[row*k:][:k], best.tokens[at:])
			copy(j.out.best.values[row*k:][:k], best.values[at:])
		}
	}
	return true, nil
}
