package ask

import (
	"context"
	"errors"
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

// render renders a conversation, and returns the messages that it rendered.
func (m *Model) render(ctx context.Context, history []llama.Message, o llama.TemplateOptions) (rendered []llama.Message, tokens []llama.Token, err error) {
	rendered = history
	err = m.inOtherForms(ctx, history, func(form []llama.Message) (err error) {
		tokens, err = m.Model.Tokenizer().Template(form, o)
		if err == nil {
			rendered = form
		}
		return err
	})
	return rendered, tokens, err
}

// inOtherForms calls render with a conversation and, if the chat template refuses that, in other forms. Some templates refuse a conversation in
// which user and assistant do not take turns, which no interface demands, and which becomes of a history that parts are left out of. For them,
// neighbours of one role are one message. Some have no place for images in results of calls: these follow in a message of the user's.
func (m *Model) inOtherForms(ctx context.Context, history []llama.Message, render func([]llama.Message) error) error {
	err := render(history)
	if err == nil || errors.Is(err, llama.ErrContextFull) {
		return err
	}
	var forms [][]llama.Message
	if shown := showResults(history); shown != nil {
		forms = append(forms, shown, joinTurns(shown))
	}
	if joined := joinTurns(history); len(joined) < len(history) && Explain(ctx, err, nil).Status == http.StatusInternalServerError {
		forms = append(forms, joined)
	}
	for _, form := range forms {
		if again := render(form); again == nil || errors.Is(again, llama.ErrContextFull) {
			m.request.Log.Debug("the chat template refuses the conversation, and takes it in another form", slog.Any("error", err))
			return again
		}
	}
	return err
}

// showResults returns a conversation with the images of results in messages of the user's after the results; nil if there are no such images.
func showResults(history []llama.Message) (shown []llama.Message) {
	var images []llama.Part // of the results before
	moved := false
	for i, m := range history {
		if m.Role == llama.RoleTool && m.Parts != nil {
			var texts []llama.Part
			for _, part := range m.Parts {
				if part.Image != nil {
					images = append(images, part)
				} else {
					texts = append(texts, part)
				}
			}
			m.Parts = append([]llama.Part{}, texts...)
		}
		shown = append(shown, m)
		if last := i == len(history)-1 || history[i+1].Role != llama.RoleTool; last && images != nil {
			shown = append(shown, llama.Message{Role: llama.RoleUser, Parts: images})
			images, moved = nil, true
		}
	}
	if !moved {
		return nil
	}
	return shown
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
