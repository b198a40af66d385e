package openai

import (
	"net/http"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// streaming are the parameters that say how answers are sent.
type streaming struct {
	Stream         bool           `json:"stream"`
	ReturnProgress bool           `json:"return_progress"` // llama-server's: how much of the prompt is computed; see promptProgress
	StreamOptions  *streamOptions `json:"stream_options"`
	Timings        bool           `json:"timings_per_token"` // llama-server's: how long the answers took, at their end

	dropped int // messages of the conversation that were left out
}

// timingsName is the parameter Timings, for which ask.SamplingRules has a rule.
const timingsName = "timings_per_token"

// timings returns what answers' times are added up in, nil if they are not asked for.
func (s *streaming) timings() *ask.Timings {
	if !s.Timings {
		return nil
	}
	return &ask.Timings{}
}

// streamOptions say what a stream has besides the answers.
type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
	IncludeStats bool `json:"include_stats"` // ours: how the answers were computed; see stats
}

// Rules are those of the options that have no field.
func (streamOptions) Rules() wire.Rules {
	return wire.Rules{"include_obfuscation": wire.Refused("events are not padded", "false"),
		"continuous_usage_stats": wire.Refused("the usage comes once, at the end: ask with include_usage", "false")}
}

// check refuses options of a stream if the answer is not streamed.
func (s *streaming) check() error {
	if s.options() != (streamOptions{}) && !s.Stream {
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

	Timings  *ask.Timings    `json:"timings,omitempty"`
	Progress *promptProgress `json:"prompt_progress,omitempty"`
}

// promptProgress says how much of a prompt is computed, in llama-server's words.
type promptProgress struct {
	Total     int   `json:"total"`     // tokens of the prompt
	Cache     int   `json:"cache"`     // those of them that were in the cache
	Processed int   `json:"processed"` // those of them that are in the cache now
	TimeMS    int64 `json:"time_ms"`   // since the computing of the prompt began
}

// progress says which events of prompts a stream needs.
func (s *streaming) progress() ask.Progress {
	if s.Stream && s.ReturnProgress {
		return ask.EachStep
	}
	return ask.NoProgress
}

// encoder makes the events of a stream's choices.
type encoder interface {
	// first returns what a choice begins with before anything of it has come; nil: nothing.
	first(choice int) any
	// empty returns a choice without content.
	empty(choice int) any
	// chunk returns the choice for an event, or nil if there is nothing to send yet. end is the choice with the reason why the answer is
	// over, or nil if it goes on. end has nothing else, because programs stop reading there.
	chunk(e ask.Event) (part, end any)
	// countsPrompt reports whether a choice's prompt is to be counted: several may share it.
	countsPrompt(choice int) bool
}

// send answers with a stream of n choices. It begins at once, since a prompt may take longer than a client waits for the header. Mistakes
// of the request were found before; an error while the answer is computed is an event of its own, the last.
func (s *streaming) send(w http.ResponseWriter, head envelope, answers *ask.Answers, n int, t encoder) error {
	o := s.options()
	out := chunk{envelope: head}
	if o.IncludeUsage {
		out.Usage = (*usage)(nil)
	}
	var used usage
	how, took := stats{DroppedMessages: s.dropped}, s.timings()
	events := wire.NewEvents(w)
	send := func(choice any) error {
		if choice == nil {
			return nil
		}
		out.Choices = []any{choice}
		return events.Send("", out)
	}
	for i := range n {
		if err := send(t.first(i)); err != nil {
			return err
		}
	}
	if out.Choices == nil { // something comes at once in any case
		if err := events.Comment(); err != nil {
			return err
		}
	}
	more, open := o.IncludeUsage || o.IncludeStats, n // whether an event without choices follows, and how many answers are not over
	began := make([]time.Time, n)
	err := answers.Stream(events, events.Comment, func(e ask.Event) error {
		switch p := e.Progress; {
		case e.Err != nil:
			_ = events.Send("", Shape(e.Err)) // a client that is gone reads no error either
			_ = events.Flush()
			return e.Err
		case p != nil:
			if began[e.Choice].IsZero() {
				began[e.Choice] = time.Now()
			}
			told := out
			told.Choices = []any{t.empty(e.Choice)}
			told.Progress = &promptProgress{p.Total, p.Reused, p.Done, time.Since(began[e.Choice]).Milliseconds()}
			return events.Send("", told)
		case e.Piece.Stop != 0:
			used.add(e.Piece.Stats, t.countsPrompt(e.Choice))
			how.add(e.Piece.Stats)
			took.Add(e.Piece.Stats)
		}
		part, end := t.chunk(e)
		if err := send(part); err != nil {
			return err
		}
		if end == nil {
			return nil
		}
		if open--; open == 0 && !more {
			out.Timings = took
		}
		return send(end)
	})
	if err == nil && more {
		out.Choices, out.Usage, out.Timings = []any{}, &used, took
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
