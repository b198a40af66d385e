package openai

import (
	"net/http"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// streaming are the parameters that say how answers are told.
type streaming struct {
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options"`

	dropped int // messages of the conversation that were left out
}

// streamOptions say what a stream tells beside the answers.
type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
	IncludeStats bool `json:"include_stats"` // ours: how the answers were computed; see stats
}

// Rules are those of the options that have no field.
func (streamOptions) Rules() wire.Rules {
	return wire.Rules{"include_obfuscation": wire.Refused("events are not padded", "false")}
}

// check refuses options of a stream where there is none.
func (s *streaming) check() error {
	if s.StreamOptions != nil && !s.Stream {
		return wire.Invalid("stream_options", "stream_options stands without stream")
	}
	return nil
}

// options returns the options, given or not.
func (s *streaming) options() streamOptions {
	if s.StreamOptions == nil {
		return streamOptions{}
	}
	return *s.StreamOptions
}

// chunk is an event of a stream, but for the choices.
type chunk struct {
	envelope
	Choices any    `json:"choices"`
	Usage   any    `json:"usage,omitempty"` // nil: not there; a *usage that is nil: null
	Stats   *stats `json:"stats,omitempty"`
}

// send answers with a stream. tell returns the choice that an event is told as, nil where it tells nothing yet; prompt tells of an answer
// whether its prompt is to be counted, which several may share.
//
// The status is decided by the first event: an error that comes before any piece of an answer is no stream. A later one is an event of its
// own, and the last.
func (s *streaming) send(w http.ResponseWriter, head envelope, answers *ask.Answers, tell func(ask.Event) any, prompt func(choice int) bool) error {
	e, err := answers.First()
	if err != nil {
		return err
	}
	o := s.options()
	out := chunk{envelope: head}
	if o.IncludeUsage {
		out.Usage = (*usage)(nil)
	}
	var used usage
	how := stats{DroppedMessages: s.dropped}
	events := wire.NewEvents(w)
	for ok := true; ok && err == nil; e, ok, err = answers.Next(events.Flush) {
		if e.Err != nil {
			_ = events.Send("", Shape(e.Err)) // a client that is gone reads no error either
			_ = events.Flush()
			return e.Err
		}
		if e.Piece.Stop != 0 {
			used.add(e.Piece.Stats, prompt(e.Choice))
			how.add(e.Piece.Stats)
		}
		choice := tell(e)
		if choice == nil {
			continue
		}
		out.Choices = []any{choice}
		if err := events.Send("", out); err != nil {
			return err
		}
	}
	if err == nil && (o.IncludeUsage || o.IncludeStats) {
		out.Choices, out.Usage = []any{}, &used
		if o.IncludeStats {
			out.Stats = &how
		}
		err = events.Send("", out)
	}
	if err == nil {
		err = events.SendText("[DONE]")
	}
	if err == nil {
		err = events.Flush()
	}
	return err
}
