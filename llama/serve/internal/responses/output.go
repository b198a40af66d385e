package responses

import (
	"crypto/rand"
	"slices"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
)

// An answer's pieces become items, one open at a time: a piece of another kind closes the open item and begins the next. Each step is an
// event. For example, the pieces "Let me ", "see" and a call of f become
//
//	response.output_item.added, response.content_part.added    a message
//	response.output_text.delta                                 "Let me ", and again "see"
//	...done events of the message
//	response.output_item.added                                 a function_call
//	response.function_call_arguments.delta, and done
//
// Without a stream the same items are made, and events go nowhere.

// message is an item: a stretch of text.
type message struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Role    string `json:"role"`
	Content []part `json:"content"` // one part, or nil at first
}

// thought is an item: what the model thought before it answered.
type thought struct {
	ID        string        `json:"id"`
	Type      string        `json:"type"`
	Status    string        `json:"status"`
	Summary   []struct{}    `json:"summary"` // thoughts are sent as they are, in Content
	Content   []thoughtPart `json:"content"` // one part, or nil at first
	Encrypted *string       `json:"encrypted_content"`
}

// thoughtPart is the text of a thought.
type thoughtPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func newThoughtPart(text string) thoughtPart { return thoughtPart{"reasoning_text", text} }

// part is a text.
type part struct {
	Type        string             `json:"type"`
	Text        string             `json:"text"`
	Annotations []struct{}         `json:"annotations"`
	Logprobs    []ask.TokenLogprob `json:"logprobs"`
}

// newPart returns a part. The slices are not nil: in JSON they are lists, not null.
func newPart(text string, logs []ask.TokenLogprob) part {
	return part{Type: "output_text", Text: text, Annotations: []struct{}{}, Logprobs: notNil(logs)}
}

func notNil(logs []ask.TokenLogprob) []ask.TokenLogprob {
	if logs == nil {
		return []ask.TokenLogprob{}
	}
	return logs
}

// call is an item: a function that is to be called.
type call struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// output puts the items of an answer together from its pieces, and sends an event for each change of them.
//
// Within a piece, the thought comes first, then the arguments of the open call, then the text, then new calls.
//
// Invariants: at most one of thought, message and call is not nil; it is the item that is open, and the last of items. written and logs are
// its text and log-probabilities so far: they become part of the item when it is closed.
type output struct {
	send    func(event) error
	calls   ask.Calls // which calls are sent, and when
	items   []any     // *thought, *message and *call
	thought *thought
	message *message
	call    *call
	index   int // of the open call
	written []byte
	logs    []ask.TokenLogprob
	pending []ask.TokenLogprob // of tokens without their text yet
}

// add goes on with the next piece. logs are the log-probabilities of its tokens.
func (o *output) add(p llama.Piece, logs []ask.TokenLogprob) error {
	o.pending = append(o.pending, logs...)
	if p.Thought != "" {
		if err := o.writeThought(p.Thought); err != nil {
			return err
		}
	}
	text, calls := o.calls.Take(p)
	for ; len(calls) > 0 && o.call != nil && calls[0].Index == o.index; calls = calls[1:] {
		if err := o.extendCall(calls[0].Arguments); err != nil {
			return err
		}
	}
	if text != "" {
		if err := o.writeText(text); err != nil {
			return err
		}
	}
	for _, c := range calls {
		if c.Name != "" {
			if err := o.beginCall(c); err != nil {
				return err
			}
		}
		if err := o.extendCall(c.Arguments); err != nil {
			return err
		}
	}
	if p.Stop == 0 {
		return nil
	}
	if len(o.items) == 0 || o.thought != nil && !isIncomplete(p.Stop) { // an answer that says nothing is a message, too
		if err := o.beginMessage(); err != nil {
			return err
		}
	}
	return o.end(p)
}

// end closes the last item at the end of the answer, which may be in its middle.
func (o *output) end(p llama.Piece) error {
	complete := !isIncomplete(p.Stop)
	if o.call != nil { // it may be complete though the answer was cut, and cut by a stop string
		complete = slices.ContainsFunc(p.Message.ToolCalls, func(c llama.ToolCall) bool { return c.ID == o.call.CallID })
	}
	if complete {
		return o.close(completed)
	}
	return o.close(incomplete)
}

// writeThought adds text to the open thought, or begins one.
func (o *output) writeThought(text string) error {
	o.pending = nil // thoughts have no log-probabilities
	if o.thought == nil {
		if err := o.close(completed); err != nil {
			return err
		}
		o.thought = &thought{ID: "rs_" + rand.Text(), Type: "reasoning", Status: inProgress, Summary: []struct{}{}, Content: []thoughtPart{}}
		o.items = append(o.items, o.thought)
		if err := o.send(&itemEvent{o.head("response.output_item.added"), o.thought}); err != nil {
			return err
		}
		if err := o.send(&thoughtPartEvent{o.head("response.content_part.added"), o.place(), newThoughtPart("")}); err != nil {
			return err
		}
	}
	o.written = append(o.written, text...)
	return o.send(&thoughtDelta{o.head("response.reasoning_text.delta"), o.place(), text})
}

// beginMessage begins a message.
func (o *output) beginMessage() error {
	if err := o.close(completed); err != nil {
		return err
	}
	o.message = &message{ID: "msg_" + rand.Text(), Type: "message", Status: inProgress, Role: llama.RoleAssistant, Content: []part{}}
	o.items = append(o.items, o.message)
	if err := o.send(&itemEvent{o.head("response.output_item.added"), o.message}); err != nil {
		return err
	}
	return o.send(&partEvent{o.head("response.content_part.added"), o.place(), newPart("", nil)})
}

// writeText adds text to the open message, or begins one.
func (o *output) writeText(text string) error {
	if o.message == nil {
		if err := o.beginMessage(); err != nil {
			return err
		}
	}
	logs := o.pending
	o.pending = nil
	o.written, o.logs = append(o.written, text...), append(o.logs, logs...)
	return o.send(&textDelta{o.head("response.output_text.delta"), o.place(), text, notNil(logs)})
}

// beginCall begins a call.
func (o *output) beginCall(c llama.CallPiece) error {
	if err := o.close(completed); err != nil {
		return err
	}
	o.call = &call{ID: "fc_" + rand.Text(), Type: "function_call", Status: inProgress, CallID: c.ID, Name: c.Name}
	o.index = c.Index
	o.items = append(o.items, o.call)
	return o.send(&itemEvent{o.head("response.output_item.added"), o.call})
}

// extendCall adds arguments to the open call.
func (o *output) extendCall(arguments string) error {
	o.pending = nil // calls have no log-probabilities
	if arguments == "" || o.call == nil {
		return nil
	}
	o.written = append(o.written, arguments...)
	return o.send(&argumentsDelta{o.head("response.function_call_arguments.delta"), o.call.ID, arguments})
}

// close ends the item that is open, if any.
func (o *output) close(status string) error {
	var events []event
	switch {
	case o.thought != nil:
		o.completeItem(status)
		p := o.thought.Content[0]
		events = []event{
			&thoughtDone{o.head("response.reasoning_text.done"), o.place(), p.Text},
			&thoughtPartEvent{o.head("response.content_part.done"), o.place(), p},
			&itemEvent{o.head("response.output_item.done"), o.thought},
		}
	case o.message != nil:
		o.completeItem(status)
		p := o.message.Content[0]
		events = []event{
			&textDone{o.head("response.output_text.done"), o.place(), p.Text, p.Logprobs},
			&partEvent{o.head("response.content_part.done"), o.place(), p},
			&itemEvent{o.head("response.output_item.done"), o.message},
		}
	case o.call != nil:
		o.completeItem(status)
		events = []event{
			&argumentsDone{o.head("response.function_call_arguments.done"), o.call.ID, o.call.Name, o.call.Arguments},
			&itemEvent{o.head("response.output_item.done"), o.call},
		}
	}
	o.thought, o.message, o.call, o.written, o.logs = nil, nil, nil, o.written[:0], nil
	for _, e := range events {
		if err := o.send(e); err != nil {
			return err
		}
	}
	return nil
}

// completeItem makes the text so far part of the open item.
func (o *output) completeItem(status string) {
	if o.thought != nil {
		o.thought.Status, o.thought.Content = status, []thoughtPart{newThoughtPart(string(o.written))}
	}
	if o.message != nil {
		o.message.Status, o.message.Content = status, []part{newPart(string(o.written), o.logs)}
	}
	if o.call != nil {
		o.call.Status, o.call.Arguments = status, string(o.written)
	}
}

// abort ends the answer without an event: an open item is not complete, and no client is to act on it.
func (o *output) abort() {
	o.completeItem(incomplete)
	o.thought, o.message, o.call = nil, nil, nil
}

// head and place begin the events of the last item.
func (o *output) head(name string) itemHead { return itemHead{head{Type: name}, len(o.items) - 1} }

func (o *output) place() partPlace {
	if o.thought != nil {
		return partPlace{ItemID: o.thought.ID}
	}
	return partPlace{ItemID: o.message.ID}
}
