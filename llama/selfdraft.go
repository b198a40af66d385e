package llama

import (
	"context"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// SelfDraft returns the Drafter of models that were trained with a head of their own, which predicts tokens beyond the next one: Qwen 3.5,
// GLM 4.5, DeepSeek V3 and their like. Each session asks its own model's head. The Drafter may serve any number of sessions, also at once.
// Model.DraftsItself reports whether a model has such a head; for a model without one, an answer's error is a ParamError. So is that of a model on several devices.
//
// The head remembers up to the whole conversation besides what the model does, as much as one layer, and the states of the latest tokens:
// Model.MemoryUsage counts both. It begins with the latest 256 tokens at most when it is first asked, after Fork, Truncate and Move, in a
// session that a Pool copies, and after an answer without it. An adapter does not change the head, which gets the states of the adapted model.
func SelfDraft() Drafter { return selfDraft{} }

// selfDraft stands for the head of a session's model.
type selfDraft struct{}

// Draft proposes nothing: outside a session there is no model.
func (selfDraft) Draft(dst, _ []Token) []Token { return dst }

// mostOwn is how many tokens a head proposes at most. Each is computed of the head's own state for the one before, and is right less often.
const mostOwn = 8

// draftInside lets the head of c's model go on from context.
func (selfDraft) draftInside(c *sequence, dst, context []Token) []Token {
	if c.following.foresight == nil || len(context) != len(c.tokens)+1 {
		return dst // moved, or tokens are forced after the next one: their states are not there
	}
	dst = dst[:len(dst):min(cap(dst), len(dst)+mostOwn)]
	return dst[:len(c.following.foresight.Draft(toInt32(dst[:cap(dst)])[:len(dst)], toInt32(context)))]
}

// foresight is a model's head that predicts tokens beyond the next one, on the model's device.
type foresight struct {
	head *engine.Batch // nil: the model has no head
}

// DraftsItself reports whether the model has a head that predicts tokens beyond the next one: see SelfDraft.
func (f *foresight) DraftsItself() bool { return f.head != nil }

// loadHead loads the head's tensors, if the files have them. viewed reports whether some of them are views of the files.
func (f *foresight) loadHead(ctx context.Context, m *Model, o *LoadOptions, loaded func(bytes int)) (viewed bool, err error) {
	w, from := m.weights.Ahead(), &m.files.Ahead
	if w == nil {
		return false, nil
	}
	d := engine.Deliveries(w, true)[0]
	d.Tensors = from.Tensors
	viewed, err = o.load(ctx, &d, nil, from.Stored, loaded, func() error { return nil })
	if err != nil {
		return viewed, fmt.Errorf("the head that predicts further tokens: %w", err)
	}
	f.head = engine.NewBatch(w, o.MaxBatch, nil)
	return viewed, nil
}

// checkDraft refuses a Drafter that the model cannot serve.
func checkDraft(d Drafter, m *Model) error {
	if _, own := d.(selfDraft); own && !m.DraftsItself() {
		return &ParamError{"Params.Draft", "SelfDraft()", "another Drafter, or nil: the model has no head that predicts further tokens"}
	}
	return nil
}

// following is how the head of a sequence's model follows the conversation. The zero value has no memory: no answer has asked for the head.
//
// Invariant: foresight is nil, or on the device of the sequence's model.
type following struct {
	foresight *engine.Foresight
	wanted    bool // by the answer under way
}

// wants reports whether a Drafter asks the head.
func wants(d Drafter) bool {
	return slices.ContainsFunc(draftersOf(d), func(d Drafter) bool { _, own := d.(insider); return own })
}

// want lets the head of c's model follow it from now on, or not.
func (h *following) want(c *sequence, wanted bool) error {
	h.wanted = wanted
	if !wanted || h.foresight != nil || c.model.head == nil {
		return nil
	}
	f, err := engine.NewForesight(c.model.head, &engine.MemoryOptions{KV: c.options.KV, Capacity: c.options.Capacity})
	if err == nil {
		h.foresight = f
	}
	return err
}

// keep returns what gets the states of the next step, or nil.
func (h *following) keep() *engine.Kept {
	switch {
	case h.foresight == nil:
	case h.wanted:
		return h.foresight.Keep()
	default:
		h.foresight.Forget()
	}
	return nil
}

// drop gives the memory back.
func (h *following) drop() error {
	f := h.foresight
	if h.foresight = nil; f == nil {
		return nil
	}
	return f.Free()
}

// bytes returns the memory of states and logits.
func (h *following) bytes() int64 {
	if h.foresight == nil {
		return 0
	}
	return h.foresight.Bytes()
}
