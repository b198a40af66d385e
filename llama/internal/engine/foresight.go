package engine

import (
	"errors"
	"math"

	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// A model may have a head that predicts further tokens: see model.Config.Ahead. It has Weights and a Batch of its own, so that its passes compute
// rows of all conversations that ask at the same time, and each conversation has a Foresight. The head lags by one: of the state that the model left
// after token i, and of token i+1, it computes what may be token i+2.
//
// For example, a conversation has tokens a b c d, the model has computed a b c, and d was chosen next:
//
//	states of the model     A B C
//	rows of the head        (A b) (B c) (C d)     the first two were computed before; the last one gives e
//	its own state E         (E e)                 gives f, and so on
//	proposal                e f
//
// Then the model computes d e f, and leaves states D E F of its own if e and f were right. The rows that the head computed of its own states are forgotten.

// Ahead returns the weights of the model's head that predicts further tokens; nil if it has no such head.
func (b *beyondLayers) Ahead() *Weights { return b.ahead }

// lend gives the head that predicts further tokens a tensor that it shares with the model. tied says that the output head is the table of embeddings.
func (b *beyondLayers) lend(p model.Part, t *tensor.Tensor, tied bool) {
	switch h := b.ahead; {
	case h == nil:
	case p == model.Embedding:
		if h.embeddings.tokens = t; tied {
			h.head = t
		}
	case p == model.OutputHead:
		h.head = t
	}
}

// keptStates is how many of the latest tokens the head sees at least when it begins in the middle of a conversation, or if those are fewer, all: enough
// to be about as good as with all of them, few enough that computing them takes no longer than some steps.
const keptStates = 256

// Foresight is what a conversation has of its model's head that predicts further tokens. Nothing that it proposes changes an answer, so it may begin anew
// at any token: after a gap in the states that it is given, after images, and when its memory is full. It belongs to one goroutine at a time.
//
// Invariants: the head's row i is of token base+i; the first valid of the rows in memory were computed of the conversation's own tokens and states.
type Foresight struct {
	batch    *Batch
	capacity int
	memory   *Memory
	kept     Kept // of the model
	own      Kept // of the head: the state of its last row
	logits   Logits
	job      Job

	base, valid int
	final       tensor.Tensor // states of one job
	token       [1]int32
}

// NewForesight makes an empty one for a conversation with memory of such options, on the device of the head's batch. Free it before the head's weights.
func NewForesight(head *Batch, o *MemoryOptions) (f *Foresight, err error) {
	w := head.weights
	of := *o
	of.Track, of.sample, of.Long = nil, nil, w.Long(of.Capacity)
	f = &Foresight{batch: head, capacity: o.Capacity}
	f.job.Long = of.Long
	if f.memory, err = w.NewMemory(&of); err == nil {
		err = f.kept.reserve(w.device, keptStates, w.Config.HiddenSize)
	}
	if err == nil {
		err = f.own.reserve(w.device, 1, w.Config.HiddenSize)
	}
	if err != nil {
		return nil, errors.Join(err, f.Free())
	}
	return f, nil
}

// Keep returns the place for the states of the model's passes: see Output.Keep.
func (f *Foresight) Keep() *Kept { return &f.kept }

// Forget begins anew with the next tokens: the states of some tokens were not kept.
func (f *Foresight) Forget() {
	f.kept.forget()
	f.valid = 0
}

// Draft appends to dst, as far as that has room, the tokens that the head expects after context. The model has computed all of context but the last token.
// Draft appends nothing if the states are not there, or if the device fails.
func (f *Foresight) Draft(dst, context []int32) []int32 {
	computed := len(context) - 1
	if !f.begin(context, cap(dst)-len(dst)) {
		return dst
	}
	had := len(dst)
	for err := f.catchUp(context); len(dst) < cap(dst); err = f.goOn(dst[len(dst)-1]) {
		if err != nil {
			f.Forget()
			return dst[:had]
		}
		dst = append(dst, f.job.Output.Best.Tokens[0])
	}
	f.valid = computed - f.base
	return dst
}

// begin makes the rows in memory those that are valid for a conversation, and reports whether the states for the others are there, and memory for a
// proposal of room tokens.
func (f *Foresight) begin(context []int32, room int) bool {
	k, computed := &f.kept, len(context)-1
	if last := f.base + f.valid; k.from < last || k.from == last && k.id != f.token[0] {
		f.valid = k.from - f.base - 1 // the row before was computed with a token that has gone
	}
	k.from = math.MaxInt
	f.valid = max(min(f.valid, computed-1-f.base), 0) // the last row is always computed: nobody has its logits
	if computed < 1 || k.n == 0 || k.end() < computed || k.first >= computed {
		return false
	}
	from := f.base + f.valid
	if from < k.first || f.valid == 0 || f.valid+computed-from+room > f.capacity {
		from = max(k.first, computed-keptStates)
		f.base, f.valid = from, 0
	}
	for i := computed; i > from; i-- {
		if int(context[i]) >= f.batch.weights.Config.VocabSize { // an image's
			f.base, f.valid = i, 0
			break
		}
	}
	if computed-f.base+room > f.capacity || f.base >= computed {
		return false
	}
	if f.memory.Seen() != f.valid && f.memory.Cut(f.valid) != nil {
		f.valid = 0 // the states stay: the next proposal begins with them
		return false
	}
	return true
}

// catchUp computes the rows of the conversation that are not valid yet.
func (f *Foresight) catchUp(context []int32) error {
	for computed := len(context) - 1; f.base+f.valid < computed; f.valid += f.job.Rows {
		from := f.base + f.valid
		if err := f.kept.of(&f.final, from, computed); err != nil {
			return err
		}
		if err := f.run(context[from+1:], computed-from <= f.batch.most); err != nil {
			return err
		}
	}
	f.token[0] = context[len(context)-1]
	return nil
}

// goOn computes a row of a token that the head has proposed, of its own last state.
func (f *Foresight) goOn(proposed int32) error {
	if err := f.own.of(&f.final, f.own.end()-1, f.own.end()); err != nil {
		return err
	}
	last := f.token
	f.token[0] = proposed
	err := f.run(f.token[:], true)
	f.token = last
	return err
}

// run computes rows of the head of final, which has one for each token.
func (f *Foresight) run(tokens []int32, answer bool) (err error) {
	j := &f.job
	if j.Output, err = f.logits.Output(f.batch.weights, 1, 1, 0); err != nil {
		return err
	}
	j.Output.Keep = &f.own
	j.Memory, j.Tokens, j.Start, j.Answer, j.Final = f.memory, tokens, f.memory.Seen(), answer, &f.final
	return f.batch.Run(j)
}

// Usage counts the keys and values of the head's rows.
func (f *Foresight) Usage() MemoryUsage { return f.memory.Usage() }

// Bytes returns the memory of states and logits.
func (f *Foresight) Bytes() int64 { return f.kept.bytes() + f.own.bytes() + f.logits.Bytes() }

// Free gives the memory back.
func (f *Foresight) Free() error {
	var err error
	if f.memory != nil {
		err = f.memory.Free()
	}
	return errors.Join(err, f.kept.free(), f.own.free(), f.logits.Free())
}
