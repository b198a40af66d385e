package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Truncation says what happens to a conversation that does not fit the model's context, as OpenAI's Responses call it: "auto" leaves its
// oldest turns out, "disabled" is an error. The zero value is what the server does.
type Truncation string

// ReadJSON reads one of the words.
func (t *Truncation) ReadJSON(at string, value json.RawMessage) error {
	word, err := wire.String(at, value)
	if err == nil && word != "auto" && word != "disabled" {
		err = wire.Invalid(at, `%s is %.40q; it must be "auto" or "disabled"`, at, word)
	}
	*t = Truncation(word)
	return err
}

// OrDefault returns t or, if t is "", what the service does by default.
func (t Truncation) OrDefault(s *Service) Truncation {
	switch {
	case t != "":
		return t
	case s.DropTurns:
		return "auto"
	}
	return "disabled"
}

// DroppedMessages is the header of an answer to a conversation that was too long: it has the number of messages that were left out.
const DroppedMessages = "X-Dropped-Messages"

// answerShare says that truncation leaves the context's answerShare-th part free for an answer that may be longer.
const answerShare = 4

// FitPrompt is Prompt for a conversation that is to be answered: if it leaves no room in the context and t is "auto", its oldest turns are
// left out. The room is p.MaxTokens, and at most a part of the context. The answer's header and the request's Dropped say how many messages
// were left out.
//
// If begun has a Role, the answer goes on with that message; see llama.TemplateOptions.Continue.
func (m *Model) FitPrompt(ctx context.Context, history []llama.Message, begun llama.Message, p *llama.Params, t Truncation, names FieldNames) ([]llama.Token, error) {
	if begun.Role != "" {
		history, p.Template.Continue = append(slices.Clip(history), begun), true
	}
	return m.fitHistory(ctx, history, p, t, names)
}

// Begun returns the beginning of an answer that is a text; without a Role if the text is empty.
func Begun(text string) llama.Message {
	if text == "" {
		return llama.Message{}
	}
	return llama.Message{Role: llama.RoleAssistant, Content: text}
}

// fitHistory returns the tokens of a conversation; see FitPrompt.
func (m *Model) fitHistory(ctx context.Context, history []llama.Message, p *llama.Params, t Truncation, names FieldNames) ([]llama.Token, error) {
	if t.OrDefault(m.service) != "auto" || m.Context == 0 {
		return m.Prompt(ctx, history, p.Template, names)
	}
	room := m.Context / answerShare
	if p.MaxTokens > 0 {
		room = min(room, p.MaxTokens)
	}
	if hasImages(history) {
		return m.fitImages(ctx, history, p, room, names)
	}
	return m.prompt(ctx, names, func() ([]llama.Token, error) {
		history, tokens, err := m.render(ctx, history, p.Template)
		if err == nil && len(tokens) <= m.Context-room {
			return tokens, nil
		}
		rest, err := m.dropTurns(history, p, room, names)
		if err != nil {
			return nil, err
		}
		return m.Model.Tokenizer().Template(rest, p.Template)
	})
}

// fitImages is fitHistory for a conversation with images: turns are dropped before the images of the others are seen.
func (m *Model) fitImages(ctx context.Context, history []llama.Message, p *llama.Params, room int, names FieldNames) ([]llama.Token, error) {
	var rest []llama.Message
	_, err := m.prompt(ctx, names, func() (_ []llama.Token, err error) {
		return nil, m.inOtherForms(ctx, history, func(form []llama.Message) (err error) {
			rest, err = m.dropTurns(form, p, room, names)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return m.Prompt(ctx, rest, p.Template, names)
}

// dropTurns returns the latest turns of a conversation that leave room for an answer or, if even the last turn leaves less, for a token.
func (m *Model) dropTurns(history []llama.Message, p *llama.Params, room int, names FieldNames) ([]llama.Message, error) {
	tokenizer := m.Model.Tokenizer()
	rest, err := tokenizer.DropTurns(history, p.Template, m.Context-room)
	if errors.Is(err, llama.ErrContextFull) {
		rest, err = tokenizer.DropTurns(history, p.Template, m.Context-1) // a short answer is better than no answer
	}
	if err != nil {
		return nil, m.tooLong(err, names)
	}
	m.request.noteDropped(len(history) - len(rest))
	return rest, nil
}

// tooLong returns the error for a conversation that is too long although no more turns can be left out.
func (m *Model) tooLong(err error, names FieldNames) error {
	full, ok := errors.AsType[*llama.ContextFullError](err)
	if !ok {
		return err
	}
	return &wire.Error{Status: http.StatusBadRequest, Code: "context_length_exceeded", Param: names["prompt"], Err: err,
		Counts: &wire.Counts{Prompt: full.Want, Context: m.Context - 1},
		Message: fmt.Sprintf("the instructions and the last turn have %d tokens, and %d fit this model's context: nothing else can be left out",
			full.Want, m.Context-1)}
}

// noteDropped notes that messages of the conversation were left out.
func (r *Request) noteDropped(messages int) {
	if messages == 0 {
		return
	}
	r.Dropped = messages
	r.Log.Info("the conversation is too long, and its oldest turns are left out", slog.Int("messages", messages))
	if r.Header != nil {
		r.Header.Set(DroppedMessages, strconv.Itoa(messages))
	}
}
