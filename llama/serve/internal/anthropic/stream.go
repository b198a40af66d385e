package anthropic

import (
	"net/http"
	"strings"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// The events of a stream, in their order: a message begins; each of its blocks begins, goes on and ends; the message's end; nothing more comes.
type (
	messageStart struct {
		Type    string  `json:"type"`
		Message message `json:"message"`
	}
	blockStart struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Block block  `json:"content_block"`
	}
	blockDelta struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Delta delta  `json:"delta"`
	}
	blockStop struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	messageDelta struct {
		Type  string   `json:"type"`
		Delta stopInfo `json:"delta"`
		Usage usage    `json:"usage"`
	}
	// bare is an event that says nothing but its type: "ping" and "message_stop".
	bare struct {
		Type string `json:"type"`
	}
)

// delta is what a block goes on with: one of these.
type delta struct {
	Type      string  `json:"type"`
	Text      *string `json:"text,omitempty"`
	Thought   *string `json:"thinking,omitempty"`
	Signature *string `json:"signature,omitempty"`
	JSON      *string `json:"partial_json,omitempty"`
}

// messageStream is the blockWriter of a stream.
type messageStream struct {
	events *wire.Events
	index  int    // of the block that is open, or comes next
	kind   string // of the block that is open

	thought strings.Builder // what the open block has, if it is a thought
}

func (s *messageStream) begin(b block) error {
	s.kind = b.Type
	s.thought.Reset()
	return s.send("content_block_start", blockStart{"content_block_start", s.index, b})
}

func (s *messageStream) extend(part string) error {
	d := delta{Type: "text_delta", Text: &part}
	switch s.kind {
	case callType:
		d = delta{Type: "input_json_delta", JSON: &part}
	case thoughtType:
		d = delta{Type: "thinking_delta", Thought: &part}
		s.thought.WriteString(part)
	}
	return s.send("content_block_delta", blockDelta{"content_block_delta", s.index, d})
}

func (s *messageStream) end() error {
	if s.kind == thoughtType {
		d := delta{Type: "signature_delta", Signature: signature(s.thought.String())}
		if err := s.send("content_block_delta", blockDelta{"content_block_delta", s.index, d}); err != nil {
			return err
		}
	}
	s.index++
	return s.send("content_block_stop", blockStop{"content_block_stop", s.index - 1})
}

// send sends an event. Its name is its type.
func (s *messageStream) send(name string, event any) error { return s.events.Send(name, event) }

// writeStream answers with a stream. Its header is sent at once: mistakes of the request were found before, and an error while the answer
// is computed is an event, the last one. The message begins as soon as it is known how much of the prompt is in the cache. A call
// that the end of the answer breaks off stays a call, here as in a whole answer, if calls are sure.
func writeStream(w http.ResponseWriter, request string, answers *ask.Answers, out message, calls ask.Calls) error {
	s := &messageStream{events: wire.NewEvents(w)}
	ping := func() error { return s.send("ping", bare{"ping"}) }
	c := blockSplitter{to: s, calls: calls}
	return answers.Stream(s.events, ping, func(e ask.Event) error {
		switch p := e.Progress; {
		case e.Err != nil:
			told := *e.Err
			told.Request = request
			_ = s.send("error", Shape(&told))
			_ = s.events.Flush()
			return e.Err
		case p != nil:
			out.Usage = usage{Input: p.Total - p.Reused, Cached: p.Reused}
			if err := s.send("message_start", messageStart{"message_start", out}); err != nil {
				return err
			}
			return ping()
		}
		if err := c.add(e.Piece); err != nil || e.Piece.Stop == 0 {
			return err
		}
		if err := s.send("message_delta", messageDelta{"message_delta", stopInfoOf(e.Piece), usageOf(e.Piece.Stats)}); err != nil {
			return err
		}
		return s.send("message_stop", bare{"message_stop"})
	})
}
