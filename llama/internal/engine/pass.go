package engine

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// A pass computes the rows of several jobs, one row for each token, through all layers. The rows of all jobs lie one after the other, so
// that each matrix is multiplied once. Only attention and recurrent layers treat the rows of different jobs apart. For example, job A has
// one token of an answer, and B has four of a prompt that ends here:
//
//	lookUp     A.first = 0, B.first = 1; x [5, hidden] has the embeddings, angles has those of the 5 positions
//	layers     each adds its results to x
//	leaveOut   before the first of the layers at the end that remember nothing: rows 0 and 4 are left, and x is [2, hidden]
//	layers     the others, with two rows
//
// Then the Batch's outputs computes the logits of x's rows.

// pass is a pass through the layers of a stage, and its memory: the activations between the operations of a layer, which every layer of every pass
// uses again. The last pass has no next one.
type pass struct {
	boundary
	jobs   []*Job // of the present pass
	sample []bool // which layers are computed; nil: all
	arena
	pace pace

	x, normed, product tensor.Tensor // [rows, hidden]: the residual stream, its norm, and the product that is added to it
	angles             []angles      // for each of the model's rotaries
	attending
	recurrent recurrentRows
	experts   expertRows
	dense     []denseRows // for each of the model's widths
	inputs    inputRows
	streams   streamRows
	scales    []float32 // what each layer's result is multiplied by
	adapted   adapted

	// Lists, kept so that a pass does not allocate them.
	tokens   []int32
	programs programs
	calls
}

// attending is the memory of attention that appends to caches.
type attending struct {
	caches    *kvcache.Batch  // of the layer under way
	attention []attentionRows // for each of the model's shapes of heads
	latent    latentRows
}

// calls are the operations of a pass between programs, which allocate nothing.
type calls struct {
	texts    []int            // their rows
	seen     []int            // how many of these are seen
	some     [2]tensor.Tensor // rows of x, and of product
	copied   copying
	gathered backend.Call[backend.Gather, *backend.Gather]
	scaled   backend.Call[backend.Scale, *backend.Scale]
	summed   backend.Call[backend.AddAssign, *backend.AddAssign]
}

// copying is a copy of elements that allocates nothing.
type copying = backend.Call[backend.CopySlice, *backend.CopySlice]

// newPass allocates memory for passes of up to most rows through all stages, and returns the pass of the first; total counts the bytes.
func newPass(w *Weights, most int, total *atomic.Int64) (first *pass, err error) {
	for _, s := range slices.Backward(w.list) {
		p := &pass{
			boundary: boundary{stage: s, next: first}, arena: arena{device: s.device, most: most, total: total},
			recurrent: recurrentRows{states: kvcache.NewStates(s.device)}, angles: make([]angles, len(w.rotaries)), tokens: make([]int32, 0, most),
		}
		first = p
		if err := p.reserveAll(w); err != nil {
			p.freeAll()
			return nil, fmt.Errorf("workspace for %d rows: %w", most, err)
		}
	}
	return first, nil
}

// reserveAll allocates the memory, that of each kind of sublayer too.
func (p *pass) reserveAll(w *Weights) error {
	c := w.Config
	for _, t := range []*tensor.Tensor{&p.x, &p.normed, &p.product} {
		if err := p.reserve(t, c.HiddenSize); err != nil {
			return err
		}
	}
	if err := p.reserveAttention(w); err != nil {
		return err
	}
	if err := p.reserveLatent(w); err != nil {
		return err
	}
	if err := p.recurrent.reserve(&p.arena, c); err != nil {
		return err
	}
	if err := p.reserveDense(w); err != nil {
		return err
	}
	if err := p.inputs.reserve(&p.arena, c); err != nil {
		return err
	}
	if err := p.streams.reserve(&p.arena, c); err != nil {
		return err
	}
	if err := p.reserveBoundary(w); err != nil {
		return err
	}
	if err := p.readScales(w); err != nil {
		return err
	}
	if err := p.experts.reserve(&p.arena, c); err != nil {
		return err
	}
	for i := range p.angles {
		if err := p.angles[i].reserve(&p.arena, 2*w.rotaries[i].half); err != nil {
			return err
		}
	}
	return p.resize(1)
}

// run computes the jobs' tokens, p.rows in all, through all layers, and returns the pass in which they end: its x has the residual stream of the rows
// with wanted outputs, and the tokens' keys and values are in the jobs' memories. When all jobs have contexts that have ended, it gives up before
// the next layer.
func (p *pass) run(w *Weights, jobs []*Job) (end *pass, err error) {
	p.jobs = jobs
	if err := p.lookUp(w); err != nil {
		return p, err
	}
	for {
		if err := p.through(w); err != nil || p.rows == 0 || p.next == nil {
			return p, err
		}
		if err := p.next.receive(w, p); err != nil {
			return p, err
		}
		p = p.next
	}
}

// through computes the layers of the pass's stage.
func (p *pass) through(w *Weights) error {
	defer p.recurrent.states.Reset()
	jobs := p.jobs
	interruptible := slices.ContainsFunc(jobs, func(j *Job) bool { return !j.Answer })
	for i := p.stage.first; i < p.stage.end; i++ {
		if i == w.remembering && i > 0 {
			if err := p.leaveOut(w); err != nil || p.rows == 0 {
				return err
			}
		}
		if p.sample != nil && !p.sample[i] {
			continue
		}
		if interruptible {
			if err := p.pace.wait(p.device, p.rows); err != nil {
				return layerError(i, err)
			}
			if err := ended(jobs); err != nil {
				return err
			}
		}
		if err := w.layers[i].forward(p); err != nil {
			return layerError(i, err)
		}
		if err := p.addDeep(i); err != nil {
			return layerError(i, err)
		}
	}
	if len(p.streams.others) == 0 || p.next != nil {
		return nil
	}
	return p.program(len(w.layers)+2, programsOf(len(w.layers)), w.streams.end).run()
}

// programsOf returns how many programs a pass has: of the layers, of the inputs or what a head joins, and of the beginning and the end of streams.
func programsOf(layers int) int { return layers + 3 }

// leaveOut goes on with only the rows with wanted outputs. It is called before the first of the layers that end a model and remember
// nothing: there the rows of a conversation no longer need each other. Of a prompt, that leaves one row or no row.
//
// Example: a pass has 3 rows of a prompt that goes on in another pass, 4 rows of one that ends here, and 1 row of an answer. The 2 rows that are left are the
// pass's rows 6 and 7.
func (p *pass) leaveOut(w *Weights) error {
	left := 0
	for _, j := range p.jobs {
		left += j.wanted()
	}
	if left == p.rows {
		return nil
	}
	width, at := w.Config.HiddenSize, 0
	for _, j := range p.jobs {
		n := j.wanted()
		from := j.first + j.rows - n
		if from != at && n > 0 {
			for _, h := range p.streams.all(p) {
				if err := p.copied.Run(p.device, backend.CopySlice{Src: h, Dst: h, From: from * width, To: at * width, N: n * width}); err != nil {
					return err
				}
			}
		}
		if w.inputs.width > 0 {
			copy(p.inputs.rows[at:], p.inputs.rows[from:from+n])
		}
		j.first, j.rows = at, n
		at += n
	}
	if w.inputs.width > 0 {
		p.inputs.rows = p.inputs.rows[:left]
	}
	if left == 0 {
		p.rows = 0
		return nil
	}
	if err := p.resize(left); err != nil {
		return err
	}
	for i := range w.rotaries {
		if err := p.rotate(w, i); err != nil {
			return err
		}
	}
	return p.adapted.find(&p.arena, p.jobs)
}

// readScales reads what the results of the stage's layers are multiplied by.
func (p *pass) readScales(w *Weights) error {
	p.scales = make([]float32, len(w.layers))
	for i := range p.scales {
		p.scales[i] = 1
		if t := w.layers[i].scale; t != nil && w.of[i] == p.stage {
			var bytes [4]byte
			if err := p.device.ReadBuffer(t, bytes[:]); err != nil {
				return err
			}
			p.scales[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[:]))
		}
	}
	return nil
}

// ended returns the error of the jobs' contexts once all of them have ended.
func ended(jobs []*Job) error {
	for _, j := range jobs {
		if j.Context == nil || j.Context.Err() == nil {
			return nil
		}
	}
	return jobs[0].Context.Err()
}

// lookUp finds the rows with adapters, gathers the tokens' embeddings into p.x, and computes RoPE's cosines and sines for their positions into p.angles.
func (p *pass) lookUp(w *Weights) error {
	p.tokens = p.tokens[:0]
	for _, j := range p.jobs {
		j.first, j.rows = len(p.tokens), j.Rows
		p.tokens = append(p.tokens, j.Tokens[:j.Rows]...)
	}
	if err := p.eachSpan(func(_ *Span, _, to, n int) error {
		for i := range n {
			p.tokens[to+i] = w.Config.Padding // ids beyond the vocabulary; inputs of layers are looked up by that of padding
		}
		return nil
	}); err != nil {
		return err
	}
	if err := p.adapted.find(&p.arena, p.jobs); err != nil { // before the first projection, that of inputs
		return err
	}
	for i := range w.rotaries {
		if err := p.rotate(w, i); err != nil {
			return err
		}
	}
	scale := float32(1)
	if s := w.Config.EmbeddingScale; s != 0 {
		scale = float32(s)
	}
	if err := w.embeddings.lookUp(p, scale, &p.x, &p.product); err != nil {
		return err
	}
	if err := p.placeImages(); err != nil {
		return err
	}
	if w.inputs.width > 0 {
		if err := p.program(len(w.layers), programsOf(len(w.layers)), w.inputs.write).run(); err != nil {
			return err
		}
	}
	if w.Config.After > 0 { // such a head has no inputs of layers
		if err := p.program(len(w.layers), programsOf(len(w.layers)), w.join.write).run(); err != nil {
			return err
		}
	}
	if len(p.streams.others) == 0 {
		return nil
	}
	return p.program(len(w.layers)+1, programsOf(len(w.layers)), w.streams.begin).run()
}
