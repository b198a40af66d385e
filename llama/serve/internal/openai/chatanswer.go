package openai

import (
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/receipt"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
)

// chatEncoder turns the events of a chat's answers into what a client is sent. A stream and a whole answer have the same parts: a whole
// answer is its parts put together.
type chatEncoder struct {
	logprobs *ask.Logprobs // nil: not asked for
	calls    []ask.Calls   // by choice
	begun    []bool        // by choice: its role was sent
	silent   bool          // thoughts are left out
}

func newChatEncoder(t *llama.Tokenizer, choices []ask.Choice, logprobs bool, top *int) *chatEncoder {
	c := &chatEncoder{calls: make([]ask.Calls, len(choices)), begun: make([]bool, len(choices))}
	if logprobs {
		c.logprobs = &ask.Logprobs{Tokenizer: t}
		if top != nil {
			c.logprobs.Top = *top
		}
	}
	for i := range choices {
		c.calls[i].Sure = choices[i].Params.Constraint != nil
	}
	return c
}

// chatLogprobs are the log-probabilities of the tokens that the model chose for an answer, in their order: of its text, of its calls, and
// of a stop string that ended it. In a stream they come with the token, even if its text is held back because it may become a call or a
// stop string.
type chatLogprobs struct {
	Content []ask.TokenLogprob `json:"content"`
	Refusal *string            `json:"refusal"`
}

// chatDelta is a part of a choice, in a stream.
type chatDelta struct {
	Index    int           `json:"index"`
	Delta    delta         `json:"delta"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`

	Receipt *receipt.Receipt `json:"receipt,omitempty"` // with Finish
}

type delta struct {
	Role      string      `json:"role,omitempty"`
	Content   *string     `json:"content,omitempty"`
	Thought   string      `json:"reasoning_content,omitempty"`
	ToolCalls []callDelta `json:"tool_calls,omitempty"`
}

// callDelta is a part of a call; the first one has the id, the type and the name.
type callDelta struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// delta returns the part of a choice that an event brings.
func (t *chatEncoder) delta(e ask.Event) chatDelta {
	d := chatDelta{Index: e.Choice}
	text, calls := t.calls[e.Choice].Take(e.Piece)
	if !t.begun[e.Choice] {
		t.begun[e.Choice] = true
		d.Delta.Role = llama.RoleAssistant
	}
	if !t.silent {
		d.Delta.Thought = e.Piece.Thought
	}
	if text != "" || d.Delta.Role != "" && len(calls) == 0 && d.Delta.Thought == "" {
		d.Delta.Content = &text
	}
	for _, c := range calls {
		part := callDelta{Index: c.Index}
		if part.Function.Arguments = c.Arguments; c.Name != "" {
			part.ID, part.Type, part.Function.Name = c.ID, "function", c.Name
		}
		d.Delta.ToolCalls = append(d.Delta.ToolCalls, part)
	}
	if t.logprobs != nil {
		if list := t.logprobs.Of(e.Piece); list != nil {
			d.Logprobs = &chatLogprobs{Content: list}
		}
	}
	if e.Piece.Stop != 0 {
		reason := e.Piece.Stop.FinishReason()
		d.Finish, d.Receipt = &reason, e.Receipt
	}
	return d
}

// first is encoder's: the role comes before anything else.
func (t *chatEncoder) first(choice int) any {
	if t.begun[choice] {
		return nil
	}
	t.begun[choice] = true
	return chatDelta{Index: choice, Delta: delta{Role: llama.RoleAssistant, Content: new("")}}
}

// empty is encoder's.
func (t *chatEncoder) empty(choice int) any { return chatDelta{Index: choice} }

// countsPrompt is encoder's: all choices share one prompt.
func (t *chatEncoder) countsPrompt(choice int) bool { return choice == 0 }

// chunk is encoder's.
func (t *chatEncoder) chunk(e ask.Event) (part, end any) {
	d := t.delta(e)
	if d.Finish != nil {
		end = chatDelta{Index: d.Index, Finish: d.Finish, Receipt: d.Receipt}
		d.Finish, d.Receipt = nil, nil
	}
	if d.Delta.Role != "" || d.Delta.Content != nil || d.Delta.Thought != "" || len(d.Delta.ToolCalls) > 0 || d.Logprobs != nil {
		part = d
	}
	return part, end
}

// chatAnswer is what a request that is not streamed is answered with.
type chatAnswer struct {
	envelope
	Choices []chatChoice `json:"choices"`
	Usage   usage        `json:"usage"`
	Timings *ask.Timings `json:"timings,omitempty"`
}

type chatChoice struct {
	Index    int           `json:"index"`
	Message  chatMessage   `json:"message"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   string        `json:"finish_reason"`

	Receipt *receipt.Receipt `json:"receipt,omitempty"`

	text    strings.Builder // of Message
	thought strings.Builder // of Message
	calls   [][]byte        // the arguments of Message.ToolCalls
}

// chatMessage is a whole answer. Its content is null if it only calls functions.
type chatMessage struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	Thought   string     `json:"reasoning_content,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON; broken off if the answer's finish_reason is "length"
	} `json:"function"`
}

// add appends the part that an event brings.
func (a *chatAnswer) add(t *chatEncoder, e ask.Event) {
	d, c := t.delta(e), &a.Choices[e.Choice]
	if d.Delta.Content != nil {
		c.text.WriteString(*d.Delta.Content)
	}
	c.thought.WriteString(d.Delta.Thought)
	for _, part := range d.Delta.ToolCalls {
		if part.Type != "" {
			call := chatCall{ID: part.ID, Type: part.Type}
			call.Function.Name = part.Function.Name
			c.Message.ToolCalls, c.calls = append(c.Message.ToolCalls, call), append(c.calls, nil)
		}
		c.calls[part.Index] = append(c.calls[part.Index], part.Function.Arguments...)
	}
	if c.Logprobs == nil {
		c.Logprobs = d.Logprobs
	} else if d.Logprobs != nil {
		c.Logprobs.Content = append(c.Logprobs.Content, d.Logprobs.Content...)
	}
	if d.Finish == nil {
		return
	}
	c.Index, c.Message.Role, c.Finish = e.Choice, llama.RoleAssistant, *d.Finish
	c.Message.Thought, c.Receipt = c.thought.String(), d.Receipt
	if text := c.text.String(); text != "" || len(c.calls) == 0 {
		c.Message.Content = &text
	}
	for i := range c.calls {
		c.Message.ToolCalls[i].Function.Arguments = string(c.calls[i])
	}
	a.Usage.add(e.Piece.Stats, e.Choice == 0)
	a.Timings.Add(e.Piece.Stats)
}
