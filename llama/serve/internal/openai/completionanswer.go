package openai

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
)

// completionEncoder turns the events of completions into what a client is sent. A stream and a whole answer have the same parts.
type completionEncoder struct {
	tokenizer *llama.Tokenizer
	n         int      // answers to a prompt
	echo      []string // by choice: what its text begins with; nil: nothing
	begins    []int    // by choice: tokens that stand before the text of its prompt
	logprobs  bool
	top       int   // alternatives of a token
	offsets   []int // by choice: characters of the tokens so far
}

func (in *completionRequest) encoder(t *llama.Tokenizer, choices []ask.Choice, n int) *completionEncoder {
	c := &completionEncoder{tokenizer: t, n: n, logprobs: in.Logprobs != nil, offsets: make([]int, len(choices))}
	if c.logprobs {
		c.top = *in.Logprobs
	}
	if in.Echo {
		c.echo, c.begins = make([]string, len(choices)), make([]int, len(choices))
		for i := range choices {
			p := &in.Prompt[i/n]
			if p.tokens != nil {
				c.echo[i] = t.Decode(choices[i].Prompt...)
			} else {
				c.echo[i], c.begins[i] = p.text, len(t.EncodeSpecial("", true))
			}
		}
	}
	return c
}

// completionDelta is a part of a choice, in a stream.
type completionDelta struct {
	Index    int                 `json:"index"`
	Text     string              `json:"text"`
	Logprobs *completionLogprobs `json:"logprobs"`
	Finish   *string             `json:"finish_reason"`
}

// delta returns the part of a choice that an event brings.
func (t *completionEncoder) delta(e ask.Event) completionDelta {
	d := completionDelta{Index: e.Choice, Text: e.Piece.Text}
	if t.echo != nil {
		d.Text = t.echo[e.Choice] + d.Text
		t.echo[e.Choice] = "" // once
	}
	switch {
	case e.Prompt != nil:
		d.Logprobs = t.logprobsOf(e.Choice, e.Prompt[t.begins[e.Choice]:])
	case t.logprobs:
		d.Logprobs = t.logprobsOf(e.Choice, e.Piece.Logprobs)
	}
	if e.Piece.Stop != 0 {
		reason := e.Piece.Stop.FinishReason()
		d.Finish = &reason
	}
	return d
}

// first is encoder's: a text that is echoed comes before anything else.
func (t *completionEncoder) first(choice int) any {
	if t.echo == nil || t.logprobs {
		return nil
	}
	text := t.echo[choice]
	t.echo[choice] = ""
	return completionDelta{Index: choice, Text: text}
}

// empty is encoder's.
func (t *completionEncoder) empty(choice int) any { return completionDelta{Index: choice} }

// chunk is encoder's.
func (t *completionEncoder) chunk(e ask.Event) (part, end any) {
	d := t.delta(e)
	if d.Finish != nil {
		end, d.Finish = completionDelta{Index: d.Index, Finish: d.Finish}, nil
	}
	if d.Text != "" || d.Logprobs != nil {
		part = d
	}
	return part, end
}

// countsPrompt reports whether a choice's prompt is to be counted: those of one prompt share it.
func (t *completionEncoder) countsPrompt(choice int) bool { return choice%t.n == 0 }

// completionAnswer is what a request that is not streamed is answered with.
type completionAnswer struct {
	envelope
	Choices []completionChoice `json:"choices"`
	Usage   usage              `json:"usage"`
	Timings *ask.Timings       `json:"timings,omitempty"`
}

type completionChoice struct {
	completionDelta
	text strings.Builder
}

// add appends the part that an event brings.
func (a *completionAnswer) add(t *completionEncoder, e ask.Event) {
	d, c := t.delta(e), &a.Choices[e.Choice]
	c.text.WriteString(d.Text)
	if c.Logprobs == nil {
		c.Logprobs = d.Logprobs
	} else {
		c.Logprobs.add(d.Logprobs)
	}
	if d.Finish != nil {
		c.Index, c.Text, c.Finish = e.Choice, c.text.String(), d.Finish
		a.Usage.add(e.Piece.Stats, t.countsPrompt(e.Choice))
		a.Timings.Add(e.Piece.Stats)
	}
}

// completionLogprobs are the log-probabilities of tokens in the form of completions: lists with an element for each token.
type completionLogprobs struct {
	Tokens   []string             `json:"tokens"`
	Logprobs []*float32           `json:"token_logprobs"` // nil for a prompt's first token, before which there is nothing
	Top      []map[string]float32 `json:"top_logprobs"`   // the likeliest and, if it is not among them, the chosen one; nil likewise
	Offsets  []int                `json:"text_offset"`    // the token's beginning in the text, in characters
}

// logprobsOf returns the log-probabilities of tokens of a choice, or nil.
func (t *completionEncoder) logprobsOf(choice int, all []llama.Logprobs) *completionLogprobs {
	if len(all) == 0 {
		return nil
	}
	out := &completionLogprobs{}
	for _, l := range all {
		name := t.name(l.Chosen.Token)
		var logprob *float32
		var top map[string]float32
		if l.Top != nil {
			logprob = new(ask.FiniteLogprob(l.Chosen.Logprob))
			top = map[string]float32{name: *logprob}
			for _, other := range l.Top[:min(len(l.Top), t.top)] {
				top[t.name(other.Token)] = ask.FiniteLogprob(other.Logprob)
			}
		}
		out.Tokens, out.Logprobs = append(out.Tokens, name), append(out.Logprobs, logprob)
		out.Top, out.Offsets = append(out.Top, top), append(out.Offsets, t.offsets[choice])
		for _, b := range t.tokenizer.AppendBytes(nil, l.Chosen.Token) {
			if utf8.RuneStart(b) {
				t.offsets[choice]++
			}
		}
	}
	return out
}

// name returns the text of a token or, if its bytes are no text by themselves, "bytes:\xe2\x82", so that different tokens have different
// names.
func (t *completionEncoder) name(token llama.Token) string {
	if t.tokenizer.Special(token) {
		return t.tokenizer.Text(token)
	}
	b := t.tokenizer.AppendBytes(nil, token)
	if utf8.Valid(b) {
		return string(b)
	}
	name := "bytes:"
	for _, c := range b {
		name += fmt.Sprintf(`\x%02x`, c)
	}
	return name
}

func (l *completionLogprobs) add(more *completionLogprobs) {
	if more == nil {
		return
	}
	l.Tokens, l.Logprobs = append(l.Tokens, more.Tokens...), append(l.Logprobs, more.Logprobs...)
	l.Top, l.Offsets = append(l.Top, more.Top...), append(l.Offsets, more.Offsets...)
}
