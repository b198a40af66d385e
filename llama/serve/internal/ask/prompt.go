package ask

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Tokens returns the tokens of a text.
func (m *Model) Tokens(ctx context.Context, text string) ([]llama.Token, error) {
	return m.service.Encode(ctx, func() ([]llama.Token, error) { return m.Model.Tokenizer().Encode(text), nil })
}

// Prompt renders a conversation with the model's chat template.
func (m *Model) Prompt(ctx context.Context, history []llama.Message, o llama.TemplateOptions, names FieldNames) ([]llama.Token, error) {
	if err := m.attach(ctx, history, o.ImageTokens); err != nil {
		return nil, Explain(ctx, err, names)
	}
	return m.prompt(ctx, names, func() ([]llama.Token, error) {
		_, tokens, err := m.render(ctx, history, o)
		return tokens, err
	})
}

// render renders a conversation, and returns the messages that it rendered. Some chat templates refuse a conversation in which user and
// assistant do not take turns, which no interface demands, and which becomes of a history that parts are left out of. For them, neighbours of one
// role are one message.
func (m *Model) render(ctx context.Context, history []llama.Message, o llama.TemplateOptions) (rendered []llama.Message, tokens []llama.Token, err error) {
	t := m.Model.Tokenizer()
	tokens, err = t.Template(history, o)
	if err == nil || Explain(ctx, err, nil).Status != http.StatusInternalServerError {
		return history, tokens, err
	}
	joined := joinTurns(history)
	if len(joined) == len(history) {
		return history, nil, err
	}
	again, still := t.Template(joined, o)
	if still != nil {
		return history, nil, err
	}
	m.request.Log.Debug("the chat template refuses the conversation, and takes it with neighbours of one role as one message", slog.Any("error", err))
	return joined, again, nil
}

// joinTurns returns a conversation in which neighbours of one role are one message, but for results of calls and what comes after calls.
func joinTurns(history []llama.Message) (joined []llama.Message) {
	for _, m := range history {
		if n := len(joined) - 1; n >= 0 && joined[n].Role == m.Role && m.Role != llama.RoleTool && len(joined[n].ToolCalls) == 0 {
			last := &joined[n]
			last.Thinking = paragraphs(last.Thinking, m.Thinking)
			if last.Parts == nil && m.Parts == nil {
				last.Content = paragraphs(last.Content, m.Content)
			} else {
				last.Content, last.Parts = "", slices.Concat(partsOf(last), []llama.Part{{Text: "\n\n"}}, partsOf(&m))
			}
			last.ToolCalls = m.ToolCalls
			continue
		}
		joined = append(joined, m)
	}
	return joined
}

// partsOf returns a message's content as parts.
func partsOf(m *llama.Message) []llama.Part {
	if m.Parts == nil {
		return []llama.Part{{Text: m.Content}}
	}
	return m.Parts
}

// paragraphs returns two texts with an empty line between them.
func paragraphs(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// prompt returns the tokens that render makes of a conversation.
func (m *Model) prompt(ctx context.Context, names FieldNames, render func() ([]llama.Token, error)) ([]llama.Token, error) {
	tokens, err := m.service.Encode(ctx, render)
	if err == nil {
		return tokens, nil
	}
	e := Explain(ctx, err, names)
	if e.Status == http.StatusInternalServerError { // the template refuses the conversation, in its own words
		e = wire.Invalid(names["history"], "the model's chat template: %s", trim(err))
	}
	return nil, e
}
