package llama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/internal/admits"
	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/chat"
)

// TemplateOptions say how a conversation is rendered. The zero value ends it with the opening of the assistant's turn.
type TemplateOptions struct {
	// Continue ends the conversation within its last message, which must be the assistant's, so that an answer goes on with it: with its
	// Content or, if that is empty, with its Thinking. It comes after the opening of the assistant's turn as if the model had just written it,
	// and the turn stays open. Pieces have only the new part, but Piece.Message is the whole message, to replace the last one of the history. A
	// Params.Constraint holds for the new part.
	Continue bool
	// NoOpening ends the conversation with its last message, and opens no turn. It is for programs that render a conversation and do not want an answer
	// to it: Chat refuses it.
	NoOpening bool
	Tools     []json.RawMessage // functions on offer, as OpenAI's interfaces, MCP's servers, Anthropic or Google describe them: see Template
	Date      time.Time         // today, for templates that mention it; zero: the template's own fixed date
	Vars      map[string]any    // more variables of the template; they win over what the other fields set
	Named     string            // which of the model's chat templates, by its name (see ChatTemplates); "": tool_use if there are Tools and such a template, else the default
	Thinking  Thinking          // whether the model thinks before it answers, and for how long
	// ImageTokens bounds the soft tokens of each image, for models that see: more are slower and show more. 0: as SessionOptions.ImageTokens says in
	// Chat, and else the model's default.
	ImageTokens int
}

// Template renders a conversation to tokens, with the model's own chat template, or with Llama 3's format if the model has no template but
// a Llama 3 vocabulary (see ChatTemplates). The tokens are those that EncodeSpecial makes of the rendered text, except that added tokens, such as "<|eot_id|>"
// and "<think>", are recognised only in the template's own text. In messages, names and tools they are inert, in an assistant's messages
// too.
//
// Images need a tokenizer of a model that sees; see Model.Inputs. Each is encoded unless the model has done that before, and its tokens, which are
// above the vocabulary, stand in the template's place for it. An image for another model, or in a message for which the template has no
// place for images, is a *ParamError; so is one that cannot be decoded.
//
// A begin-of-text token comes if the template writes it, and then once: the one that the tokenizer puts before other texts (see
// EncodeSpecial) is not added. So the tokens are those of apply_chat_template in Hugging Face's transformers. Some templates do not write
// it though their model was trained with it; llama.cpp adds it there.
//
// Thoughts of the history are given to the template, which renders or drops them as its authors want it.
//
// A tool is {"type":"function","function":{"name":…,"description":…,"parameters":{a JSON schema}}}, and is shown to the model as it stands.
// The inner object alone is read too, and so are its schema as "inputSchema" (MCP) or "input_schema" (Anthropic): templates get these in the
// form above. A schema under another key is a *ParamError.
//
// Nothing is left out silently. If the template has no place for tools, for calls or for their results, these are written as content: tools
// at the beginning of the user's first message, calls as the model's family writes them (see CallFormat), or else as HermesCalls, and
// results, unless the template prints them, within <tool_response> in messages of the user's. An empty history and a role that the template
// does not know are *ParamErrors. A model without a template is an error that wraps ErrUnsupported. Other errors are the template's own. A
// template is a program from a stranger: it is stopped with an error when it takes more than some 200 ms or 64 MB.
func (t *Tokenizer) Template(history []Message, o TemplateOptions) ([]Token, error) {
	return t.render(context.Background(), history, o, t.eyes.see)
}

// render is Template, but it looks at ctx while the template runs, and see makes the tokens of images.
func (t *Tokenizer) render(ctx context.Context, history []Message, o TemplateOptions, see seeing) ([]Token, error) {
	if err := t.hasTexts(); err != nil {
		return nil, err
	}
	if !t.HasTemplate() {
		return nil, fmt.Errorf("%w: the model has no chat template", ErrUnsupported)
	}
	if o.Continue {
		return renderBegun(ctx, t, history, o, see)
	}
	template, err := t.templates.choose(&o)
	if err != nil {
		return nil, err
	}
	messages := make([]chat.Message, len(history))
	var images []*Image
	for i, m := range history {
		if !slices.Contains(roles, m.Role) && !template.Names(m.Role) {
			return nil, roleError(i, m.Role)
		}
		content, parts, shown, err := t.eyes.contentOf(i, &m)
		if err != nil {
			return nil, err
		}
		images = append(images, shown...)
		messages[i] = chat.Message{Role: m.Role, Content: content, Parts: parts, Name: m.Name, ToolCallID: m.ToolCallID, Thinking: m.Thinking}
		for _, call := range m.ToolCalls {
			messages[i].ToolCalls = append(messages[i].ToolCalls, chat.ToolCall(call))
		}
	}
	offers, err := o.offers()
	if err != nil {
		return nil, err
	}
	var tools []json.RawMessage
	for i := range offers {
		tools = append(tools, offers[i].Wrapped)
	}
	segments, err := template.Render(ctx, messages, chat.Options{
		AddGenerationPrompt: !o.NoOpening, Tools: tools, Date: o.Date, Vars: o.Vars,
		Thinking: o.Thinking.Enabled, Effort: o.Thinking.Effort,
	})
	if err != nil {
		return nil, templateError(err)
	}
	if len(images) > 0 {
		return placeImages(ctx, t, segments, images, o.ImageTokens, see)
	}
	return encodeSegments(t.vocabulary, segments), nil
}

// encodeSegments returns the tokens of segments.
func encodeSegments(v Vocabulary, segments []chat.Segment) []Token {
	return fromInt32(v.EncodeSegments(nil, func(yield func(string, bool) bool) {
		for _, s := range segments {
			if !yield(s.Text, s.Special) {
				return
			}
		}
	}))
}

// templateError turns an error of package chat into one of this package: a *ParamError for a caller's mistake, ErrUnsupported for
// what the template leaves out.
func templateError(err error) error {
	var ignored *chat.IgnoredError
	switch {
	case errors.Is(err, chat.ErrEmpty):
		return &ParamError{"history", "empty", "at least one message"}
	case errors.As(err, &ignored):
		return roleError(ignored.Index, ignored.Role)
	case errors.Is(err, chat.ErrUnsupported):
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

// roles are those that a template need not name: many print whatever role a message has.
var roles = []string{RoleSystem, RoleUser, RoleAssistant, RoleTool}

// roleError says that the template has no place for a message, or that nobody knows what its role is.
func roleError(i int, role string) error {
	return &ParamError{fmt.Sprintf("history[%d].Role", i), fmt.Sprintf("%q", role), "a role that the model's chat template has a place for"}
}

// offers reads the functions on offer.
func (o *TemplateOptions) offers() ([]calls.Offer, error) {
	list := make([]calls.Offer, len(o.Tools))
	for i, tool := range o.Tools {
		var err error
		if list[i], err = calls.ReadOffer(tool); err != nil {
			return nil, &ParamError{fmt.Sprintf("Params.Template.Tools[%d]", i), fmt.Sprintf("%.200q (%v)", tool, err), `{"type":"function","function":{…}} with a name`}
		}
	}
	return list, nil
}

// toolNames returns the names of the functions on offer.
func (o *TemplateOptions) toolNames() ([]string, error) {
	offers, err := o.offers()
	names := make([]string, len(offers))
	for i := range offers {
		names[i] = offers[i].Name
	}
	return names, err
}

// schemas returns the schemas of the functions on offer.
func (o *TemplateOptions) schemas() admits.Functions {
	all := admits.Functions{}
	for _, tool := range o.Tools {
		if offer, err := calls.ReadOffer(tool); err == nil {
			all.Add(offer.Name, offer.Parameters)
		}
	}
	return all
}
