package responses

import (
	"net/http"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// event is an event of a stream. number gives it its number and returns its name.
type event interface{ number(n int) (name string) }

type head struct {
	Type     string `json:"type"`
	Sequence int    `json:"sequence_number"`
}

func (h *head) number(n int) string {
	h.Sequence = n
	return h.Type
}

// responseEvent is about the whole response.
type responseEvent struct {
	head
	Response *response `json:"response"`
}

// errorEvent says why an answer breaks off.
type errorEvent struct {
	head
	Code    *string `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
}

// itemHead begins the events of an item.
type itemHead struct {
	head
	OutputIndex int `json:"output_index"`
}

// itemEvent is about a whole item.
type itemEvent struct {
	itemHead
	Item any `json:"item"`
}

// partPlace says which part of a message or a thought an event is about: there is one.
type partPlace struct {
	ItemID       string `json:"item_id"`
	ContentIndex int    `json:"content_index"`
}

type partEvent struct {
	itemHead
	partPlace
	Part part `json:"part"`
}

type thoughtPartEvent struct {
	itemHead
	partPlace
	Part thoughtPart `json:"part"`
}

type thoughtDelta struct {
	itemHead
	partPlace
	Delta string `json:"delta"`
}

type thoughtDone struct {
	itemHead
	partPlace
	Text string `json:"text"`
}

type textDelta struct {
	itemHead
	partPlace
	Delta    string             `json:"delta"`
	Logprobs []ask.TokenLogprob `json:"logprobs"`
}

type textDone struct {
	itemHead
	partPlace
	Text     string             `json:"text"`
	Logprobs []ask.TokenLogprob `json:"logprobs"`
}

type argumentsDelta struct {
	itemHead
	ItemID string `json:"item_id"`
	Delta  string `json:"delta"`
}

type argumentsDone struct {
	itemHead
	ItemID    string `json:"item_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// writeStream answers with a stream. It begins at once: mistakes of the request were found before, and an error while the answer is
// computed is an event. While nothing comes, an event repeats that the answer is in progress: some clients take only events, and no
// comments, for signs of life.
func writeStream(w http.ResponseWriter, out *response, answers *ask.Answers, logs ask.Logprobs, items *output) error {
	events := wire.NewEvents(w)
	sent := 0
	send := func(e event) error {
		name := e.number(sent)
		sent++
		return events.Send(name, e)
	}
	tell := func(name string) error { return send(&responseEvent{head{Type: name}, out}) }
	if err := tell("response.created"); err != nil {
		return err
	}
	if err := tell("response.in_progress"); err != nil {
		return err
	}
	items.send = send
	ping := func() error { return tell("response.in_progress") }
	answers.Keep() // the last event has the whole answer
	return answers.Stream(events, ping, func(e ask.Event) error {
		if e.Err == nil || items.call == nil { // the text of an error's piece may be that of a call that is cut off
			if err := items.add(e.Piece, logs.Of(e.Piece)); err != nil {
				return err
			}
		}
		if e.Err != nil {
			items.abort()
			out.fail(items.items, e.Err)
			_ = send(newErrorEvent(e.Err))
			_ = tell("response.failed")
			_ = events.Flush()
			return e.Err
		}
		if e.Piece.Stop != 0 {
			out.end(items.items, e.Piece)
			return tell("response." + out.Status)
		}
		return nil
	})
}

// newErrorEvent returns the event of an error.
func newErrorEvent(e *wire.Error) *errorEvent {
	out := &errorEvent{head: head{Type: "error"}, Message: e.Message}
	if e.Code != "" {
		out.Code = &e.Code
	}
	if e.Param != "" {
		out.Param = &e.Param
	}
	return out
}
