package llama

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// An answer that is begun comes after the opening of a turn of its own, and not as the chat template would write its message: templates trim
// contents, drop thoughts, and write what closes a turn after both. For example, of a model that thinks, with the history
//
//	user "Capital of Japan?", assistant "The capital"
//
// the user's message is rendered with the opening of a turn, and with a thought that is closed: "… <|im_start|>assistant\n<think>\n\n</think>\n\n".
// The answer's beginning follows, "The capital", and the model goes on with " of Japan is Tokyo."

// opening says what an answer begins with.
type opening struct {
	fresh bool    // the answer is a text of its own, as a message is, and not the continuation of a text
	begun Message // what Piece.Message begins with; its Role is "" if the answer is not begun
}

// chatPrompt renders the conversation that Chat answers.
// imageTokens is SessionOptions.ImageTokens.
func chatPrompt(ctx context.Context, t *Tokenizer, history []Message, o TemplateOptions, imageTokens int) ([]Token, opening, error) {
	if o.NoOpening {
		return nil, opening{}, &ParamError{"Params.Template.NoOpening", true, "false, since Chat opens the answer's turn; Continue goes on with a message that is begun"}
	}
	o.ImageTokens = cmp.Or(o.ImageTokens, imageTokens)
	prompt, err := t.render(ctx, history, o, t.eyes.see)
	how := opening{fresh: true}
	if err == nil && o.Continue {
		how.begun = history[len(history)-1]
		how.begun.Content, how.begun.Parts = how.begun.text(), nil
		how.fresh = how.begun.Content == ""
	}
	return prompt, how, err
}

// renderBegun is render for TemplateOptions.Continue.
func renderBegun(ctx context.Context, t *Tokenizer, history []Message, o TemplateOptions, see seeing) ([]Token, error) {
	last := len(history) - 1
	if o.NoOpening {
		return nil, &ParamError{"TemplateOptions.NoOpening", true, "false if Continue is true"}
	}
	if last < 0 {
		return nil, &ParamError{"history", "empty", "at least one message, which TemplateOptions.Continue goes on with"}
	}
	begun := history[last]
	text, _, images, err := t.eyes.contentOf(last, &begun)
	if err != nil {
		return nil, err
	}
	if len(images) > 0 {
		return nil, &ParamError{fmt.Sprintf("history[%d].Parts", last), fmt.Sprintf("a content with %d images", len(images)), "text, since TemplateOptions.Continue goes on with it"}
	}
	begun.Content = text
	if begun.Role != RoleAssistant || len(begun.ToolCalls) > 0 || begun.Content == "" && begun.Thinking == "" {
		given := fmt.Sprintf("of the role %q, with %d bytes and %d calls", begun.Role, len(begun.Content), len(begun.ToolCalls))
		return nil, &ParamError{fmt.Sprintf("history[%d]", last), given, "a text or a thought of the assistant's, without calls: TemplateOptions.Continue goes on with it"}
	}
	if o.Continue = false; begun.Content != "" && begun.Thinking == "" && o.Thinking.Enabled == nil {
		o.Thinking.Enabled = new(false) // the answer has begun, and it comes after the thought
	}
	prompt, err := t.render(ctx, history[:last], o, see)
	if err != nil {
		return nil, err
	}
	prompt = t.thinker.goOn(t, prompt, begun.Thinking, begun.Content != "")
	return append(slices.Clip(prompt), t.Encode(begun.Content)...), nil
}
