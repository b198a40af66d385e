package ollama

import (
	"net/http"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// chatRequest is what POST /api/chat reads.
type chatRequest struct {
	asking
	Messages   conversation   `json:"messages"`
	Tools      []tool         `json:"tools"`
	ToolChoice ask.ToolChoice `json:"tool_choice"` // which Ollama does not have, but programs send OpenAI's
}

// chatLine is a line of an answer.
type chatLine struct {
	head
	Message  chatMessage        `json:"message"`
	Logprobs []ask.TokenLogprob `json:"logprobs,omitempty"`
	*ending
}

type chatMessage struct {
	Role     string       `json:"role"`
	Content  string       `json:"content"`
	Thinking string       `json:"thinking,omitempty"`
	Calls    []calledTool `json:"tool_calls,omitempty"`
}

// Chat serves POST /api/chat.
func (a *API) Chat(w http.ResponseWriter, r *http.Request) error {
	var in chatRequest
	if err := a.Service.Read(w, r, askingRules, &in); err != nil {
		return err
	}
	if len(in.Messages.turns) == 0 {
		return a.prepare(w, r, &in.asking, func(reason string) any {
			line := chatLine{head: newHead(in.Model, true), ending: &ending{Reason: reason}}
			line.Message.Role = llama.RoleAssistant
			return line
		})
	}
	turns, begun := begun(in.Messages.turns)
	if begun != "" && in.Format.Schema != nil {
		return wire.Unsupported("format", "format asks for a form, which an answer that goes on with the last message cannot have: "+
			"leave the assistant's last message out, or format")
	}
	tools, err := readTools(in.Tools)
	if err != nil {
		return err
	}
	if err := tools.Choose(in.ToolChoice); err != nil {
		return err
	}
	if err := a.Service.LeaveOut(r.Context(), append(in.Messages.LeftOut, tools.LeftOut...)); err != nil {
		return err
	}
	q, err := a.open(r.Context(), &in.asking, "messages")
	if err != nil {
		return err
	}
	defer a.close(q)
	in.Messages.addNames(q.names)
	if turns, err = q.model.See(r.Context(), turns, &in.Messages.Past, &q.params.Template); err != nil {
		return err
	}
	choice, err := q.chat(r.Context(), turns, tools, begun)
	if err != nil {
		return err
	}
	return q.answer(w, r, choice, func(p *part) any {
		return chatLine{newHead(in.Model, p.end != nil), chatMessage{llama.RoleAssistant, p.text, p.thinking, p.calls}, p.logprobs, p.end}
	})
}
