package ask

import (
	"net/http"
	"unsafe"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// What an answer takes while it waits to be sent, in bytes. Tests measure that it is not much more than this.
const (
	eventBytes    = 2 * int64(unsafe.Sizeof(Event{})) // append leaves room
	logprobBytes  = int64(unsafe.Sizeof(llama.TokenLogprob{})) + 32
	wholeLogprob  = 160 // a TokenProb with its text and numbers, in a list with room for more, and its JSON
	wholeTextByte = 6   // a byte of text that is kept, and is written as JSON
	receiptBytes  = 8 << 10
	receiptToken  = 8  // a token's number in JSON
	wholeToken    = 64 // a token's number, or its place in lists
)

// size returns about how much memory the event takes.
func (e *Event) size() int64 {
	n := eventBytes + int64(textOf(&e.Piece)) + tokenBytes*int64(len(e.Piece.Tokens)) + logprobBytes*entries(e)
	if e.Progress != nil {
		n += int64(unsafe.Sizeof(*e.Progress))
	}
	if r := e.Receipt; r != nil {
		n += receiptBytes + tokenBytes*int64(len(r.Prompt)+len(r.Answer))
	}
	return n
}

// wholeSize returns about how much memory the contents of the event take in an answer that is kept whole and written as JSON.
func (e *Event) wholeSize() int64 {
	n := int64(0)
	if r := e.Receipt; r != nil {
		n = receiptBytes + 3*receiptToken*int64(len(r.Prompt)+len(r.Answer))
	}
	return n + wholeTextByte*int64(textOf(&e.Piece)) + wholeToken*int64(len(e.Piece.Tokens)) + wholeLogprob*entries(e)
}

// textOf returns the bytes of a piece's texts.
func textOf(p *llama.Piece) int {
	n := len(p.Text) + len(p.Thought) + len(p.Message.Content) + len(p.Message.Thinking)
	for i := range p.Calls {
		n += int(unsafe.Sizeof(p.Calls[i])) + len(p.Calls[i].Arguments) + len(p.Calls[i].Name)
	}
	for i := range p.Message.ToolCalls {
		n += len(p.Message.ToolCalls[i].Arguments) + len(p.Message.ToolCalls[i].Name)
	}
	return n
}

// entries returns how many log-probabilities an event has.
func entries(e *Event) (n int64) {
	for _, list := range [][]llama.Logprobs{e.Piece.Logprobs, e.Prompt} {
		for i := range list {
			n += 1 + int64(len(list[i].Top))
		}
	}
	return n
}

// unread is the error of an answer for which there is no memory any more.
func unread(err error) *wire.Error {
	return &wire.Error{Status: http.StatusServiceUnavailable, Code: "requests_full", RetryAfter: memoryRetry, Err: err,
		Message: "the answer ended early: what waits to be sent holds as much memory as this server gives requests together; " +
			"read answers as they come, and ask for fewer of them, or fewer log-probabilities, at once"}
}
