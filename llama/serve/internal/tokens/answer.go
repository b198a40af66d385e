package tokens

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openai"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// /completion answers in llama-server's form: a part for each event, and in the last one the settings and figures of the whole. For
// example, of a stream of two tokens
//
//	{"content": "Yes", "stop": false, "tokens_predicted": 1, …}
//	{"content": ".", "stop": false, "tokens_predicted": 2, …}
//	{"content": "", "stop": true, "stop_type": "eos", "timings": {…}, …}

// part is a part of an answer, or all of it, as llama-server has it.
type part struct {
	Index     int           `json:"index"` // of the prompt
	Content   string        `json:"content"`
	Tokens    []llama.Token `json:"tokens"` // never nil
	Slot      int           `json:"id_slot"`
	Stop      bool          `json:"stop"`
	Predicted int           `json:"tokens_predicted"` // until now
	Evaluated int           `json:"tokens_evaluated"` // of the prompt
	Probs     []tokenLogs   `json:"completion_probabilities,omitempty"`
	*end
}

// noSlot is every answer's id_slot: llama-server's number for no slot in particular. Here are no slots.
const noSlot = -1

// end is what the last part says beyond the others.
type end struct {
	Model        string         `json:"model"`
	Settings     map[string]any `json:"generation_settings"`
	Prompt       string         `json:"prompt"`
	NewLine      bool           `json:"has_new_line"` // the answer has a line feed
	Truncated    bool           `json:"truncated"`    // the context was full
	StopType     string         `json:"stop_type"`    // "eos", "word" or "limit"
	StoppingWord string         `json:"stopping_word"`
	Cached       int            `json:"tokens_cached"` // of the prompt
	Timings      ask.Timings    `json:"timings"`
}

// tokenLogs is a token that the model chose, with the likeliest ones in its place.
type tokenLogs struct {
	tokenLog
	Top []tokenLog `json:"top_logprobs"` // never nil
}

// tokenLog is a token with the logarithm of its probability.
type tokenLog struct {
	ID llama.Token `json:"id"`
	ask.TokenProb
}

// encoder turns the events of answers into what a client is sent. A stream and a whole answer have the same parts.
type encoder struct {
	in        *answering
	model     string
	tokenizer *llama.Tokenizer
	choices   []ask.Choice
	wholes    []whole // by choice
}

// whole is an answer in the making.
type whole struct {
	part
	text    strings.Builder
	newLine bool
}

func (in *answering) encoder(m *ask.Model, choices []ask.Choice) *encoder {
	return &encoder{in, m.Name, m.Model.Tokenizer(), choices, make([]whole, len(choices))}
}

// part returns the part of an answer that an event brings.
func (o *encoder) part(e ask.Event) part {
	c, all, piece := &o.choices[e.Choice], &o.wholes[e.Choice], e.Piece
	all.Predicted += len(piece.Tokens)
	all.newLine = all.newLine || strings.Contains(piece.Text, "\n")
	p := part{Index: e.Choice, Content: piece.Text, Tokens: append([]llama.Token{}, piece.Tokens...), Slot: noSlot, Predicted: all.Predicted, Evaluated: len(c.Prompt)}
	if o.in.Probs > 0 {
		p.Probs = o.logs(piece)
	}
	if piece.Stop == 0 {
		return p
	}
	p.Stop, p.Predicted, p.Evaluated = true, piece.Stats.GeneratedTokens, piece.Stats.PromptTokens
	p.end = &end{Model: o.model, Settings: settings(c.Params), Prompt: promptText(o.tokenizer, c.Prompt), NewLine: all.newLine,
		Truncated: piece.Stop == llama.ContextFull, StopType: "eos", StoppingWord: piece.StopString, Cached: piece.Stats.ReusedTokens}
	switch piece.Stop {
	case llama.MaxTokens, llama.ContextFull:
		p.StopType = "limit"
	case llama.StopString:
		p.StopType = "word"
	}
	p.Timings.Add(piece.Stats)
	return p
}

// logs returns the log-probabilities of a piece's tokens.
func (o *encoder) logs(piece llama.Piece) (list []tokenLogs) {
	told := ask.Logprobs{Tokenizer: o.tokenizer, Top: o.in.Probs}
	for i, each := range told.Of(piece) {
		of := piece.Logprobs[i]
		one := tokenLogs{tokenLog{of.Chosen.Token, each.TokenProb}, []tokenLog{}}
		for j, other := range each.Top {
			one.Top = append(one.Top, tokenLog{of.Top[j].Token, other})
		}
		list = append(list, one)
	}
	return list
}

// add appends the part that an event brings to its answer.
func (o *encoder) add(e ask.Event) {
	p, all := o.part(e), &o.wholes[e.Choice]
	all.text.WriteString(p.Content)
	tokens, logs := all.Tokens, append(all.Probs, p.Probs...)
	if o.in.Tokens {
		tokens = append(tokens, p.Tokens...)
	}
	if all.part = p; p.Stop {
		all.Content = all.text.String()
	}
	all.Tokens, all.Probs = append([]llama.Token{}, tokens...), logs
}

// size returns about how many bytes the answers take as JSON.
func (o *encoder) size() (bytes int64) {
	for i := range o.wholes {
		bytes += 2 * int64(o.wholes[i].text.Len()+len(o.wholes[i].Prompt))
	}
	return bytes
}

// write writes the answers: a list if many, otherwise the one that there is.
func (o *encoder) write(w http.ResponseWriter, many bool) error {
	list := make([]any, len(o.wholes))
	for i := range o.wholes {
		var err error
		if list[i], err = picked(o.wholes[i].part, o.in.Fields); err != nil {
			return err
		}
	}
	if many {
		return wire.Write(w, http.StatusOK, list)
	}
	return wire.Write(w, http.StatusOK, list[0])
}

// stream answers with a stream.
func (o *encoder) stream(w http.ResponseWriter, answers *ask.Answers) error {
	events := wire.NewEvents(w)
	if err := events.Comment(); err != nil { // something comes at once, since a prompt may take longer than a client waits for the header
		return err
	}
	return answers.Stream(events, events.Comment, func(e ask.Event) error {
		if e.Err != nil {
			_ = events.Send("", openai.Shape(e.Err)) // a client that is gone reads no error either
			_ = events.Flush()
			return e.Err
		}
		p := o.part(e)
		if p.Content != "" || len(p.Tokens) > 0 {
			more := p
			more.Stop, more.end = false, nil
			if err := events.Send("", more); err != nil {
				return err
			}
		}
		if !p.Stop {
			return nil
		}
		p.Content, p.Tokens, p.Probs = "", []llama.Token{}, nil // the last part has nothing of the text, for programs stop reading there
		last, err := picked(p, o.in.Fields)
		if err != nil {
			return err
		}
		return events.Send("", last)
	})
}

// picked returns the members of an answer that fields name, "a/b" being the member b of a, each by that name; all of it if fields is
// empty. What an answer does not have is left out.
func picked(answer part, fields []string) (any, error) {
	if len(fields) == 0 {
		return answer, nil
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	for _, field := range fields {
		value := json.RawMessage(text)
		for name := range strings.SplitSeq(field, "/") {
			var members map[string]json.RawMessage
			if json.Unmarshal(value, &members) != nil {
				members = nil
			}
			value = members[name]
		}
		if value != nil {
			out[field] = value
		}
	}
	return out, nil
}
