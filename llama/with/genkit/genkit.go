// Package genkit lets Firebase's Genkit ask models of package llama, in the same process: its flows, prompts and developer tools.
//
//	m, err := with.New(model, &with.Options{Name: "flint"})
//	…
//	g := genkit.Init(ctx, genkit.WithPlugins(&withgenkit.Plugin{Models: []*with.Model{m}}), genkit.WithDefaultModel("antigravity/flint"))
//	person, _, err := genkit.GenerateData[Person](ctx, g, ai.WithPrompt("…"))
//
// Output that has a schema keeps to it while it is generated, with functions on offer, too. Config has parameters that ai.GenerationCommonConfig
// lacks. Parts that a model here cannot read, such as sound or resources, are a *with.UnsupportedError.
package genkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core"
	"github.com/firebase/genkit/go/core/api"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/with"
)

// Name is the plugin's name, and begins the names of its models and embedders: "antigravity/flint".
const Name = "antigravity"

// Plugin brings models into Genkit. The caller closes them.
type Plugin struct {
	Models    []*with.Model
	Embedders map[string]*llama.Model // by name
}

var _ api.Plugin = (*Plugin)(nil)

// Name is api.Plugin's.
func (p *Plugin) Name() string { return Name }

// Init is api.Plugin's.
func (p *Plugin) Init(context.Context) (actions []api.Action) {
	for _, m := range p.Models {
		actions = append(actions, NewModel(m).(api.Action))
	}
	for name, m := range p.Embedders {
		actions = append(actions, NewEmbedder(name, m).(api.Action))
	}
	return actions
}

// Config are the parameters of a model, for ai.WithConfig. ai.GenerationCommonConfig alone does as well. A 0 is not said.
type Config struct {
	ai.GenerationCommonConfig
	Seed             uint64  `json:"seed,omitempty"`
	MinP             float64 `json:"minP,omitempty"`
	RepeatPenalty    float64 `json:"repeatPenalty,omitempty"`
	FrequencyPenalty float64 `json:"frequencyPenalty,omitempty"`
	PresencePenalty  float64 `json:"presencePenalty,omitempty"`
	Thinking         *bool   `json:"thinking,omitempty"` // whether the model thinks before it answers
}

// NewModel makes a model of Genkit's that is not registered yet.
func NewModel(m *with.Model) ai.Model {
	return ai.NewModel(api.NewName(Name, m.Name()), &ai.ModelOptions{
		Label:        "Antigravity - " + m.Name(),
		ConfigSchema: core.InferSchemaMap(Config{}),
		Supports: &ai.ModelSupports{
			Multiturn: true, SystemRole: true, Media: m.Sees(), Tools: true, ToolChoice: true,
			Constrained: ai.ConstrainedSupportAll, Output: []string{"text", "json"},
		},
	}, func(ctx context.Context, input *ai.ModelRequest, stream ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		return generate(ctx, m, input, stream)
	})
}

// generate answers a request. It is an ai.ModelFunc.
func generate(ctx context.Context, m *with.Model, input *ai.ModelRequest, stream ai.ModelStreamCallback) (*ai.ModelResponse, error) {
	r, err := request(m, input)
	if err != nil {
		return nil, err
	}
	answer, err := llama.Collect(func(yield func(llama.Piece, error) bool) {
		for p, err := range m.Chat(ctx, r) {
			if parts := partsOf(p.Thought, p.Text); err == nil && stream != nil && len(parts) > 0 {
				if err = stream(ctx, &ai.ModelResponseChunk{Role: ai.RoleModel, Content: parts}); err != nil {
					err = fmt.Errorf("with: the stream's callback: %w", err)
				}
			}
			if !yield(p, err) {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	parts := partsOf(answer.Thought, answer.Text)
	for _, call := range answer.Message.ToolCalls {
		arguments, err := with.Arguments(&call)
		if err != nil {
			return nil, err
		}
		parts = append(parts, ai.NewToolRequestPart(&ai.ToolRequest{Ref: call.ID, Name: call.Name, Input: arguments}))
	}
	s := &answer.Stats
	return &ai.ModelResponse{
		Request: input, Message: ai.NewModelMessage(parts...), FinishReason: reason(answer.Stop), FinishMessage: answer.Stop.String(),
		Usage: &ai.GenerationUsage{
			InputTokens: s.PromptTokens, CachedContentTokens: s.ReusedTokens, OutputTokens: s.GeneratedTokens, ThoughtsTokens: s.ThoughtTokens,
			TotalTokens: s.PromptTokens + s.GeneratedTokens,
		},
	}, nil
}

// partsOf returns a thought and a text as parts.
func partsOf(thought, text string) (parts []*ai.Part) {
	if thought != "" {
		parts = append(parts, ai.NewReasoningPart(thought, nil))
	}
	if text != "" {
		parts = append(parts, ai.NewTextPart(text))
	}
	return parts
}

// reason returns Genkit's word for a reason to stop. Calls have no word of their own.
func reason(stop llama.StopReason) ai.FinishReason {
	switch stop {
	case llama.EndOfTurn, llama.StopString, llama.ToolCalled:
		return ai.FinishReasonStop
	case llama.MaxTokens, llama.ContextFull:
		return ai.FinishReasonLength
	}
	return ai.FinishReasonUnknown
}

// request returns a request as the model is asked. Genkit itself puts documents into the conversation.
func request(m *with.Model, input *ai.ModelRequest) (*with.Request, error) {
	r := m.Request()
	err := errors.Join(
		with.Rest("ai.ModelRequest", input, "Config", "Docs", "Messages", "Output", "ToolChoice", "Tools"),
		setConfig(&r.Params, input.Config), setForm(r, input.Output), setTools(r, input),
	)
	if err != nil {
		return nil, err
	}
	var c with.Conversation
	for i, message := range input.Messages {
		role, ok := roles[message.Role]
		if !ok {
			return nil, &with.UnsupportedError{What: fmt.Sprintf("the role %.40q of message %d", message.Role, i), Want: `"system", "user", "model" or "tool"`}
		}
		c.Turn(role)
		for _, part := range message.Content {
			if err := add(&c, role, part); err != nil {
				return nil, fmt.Errorf("message %d, of the role %q: %w", i, message.Role, err)
			}
		}
	}
	r.Messages = c.Messages()
	return r, nil
}

// roles are package llama's names of roles.
var roles = map[ai.Role]string{
	ai.RoleSystem: llama.RoleSystem, ai.RoleUser: llama.RoleUser, ai.RoleModel: llama.RoleAssistant, ai.RoleTool: llama.RoleTool,
}

// setConfig sets the parameters.
func setConfig(p *llama.Params, config any) error {
	var c Config
	switch given := config.(type) {
	case nil:
		return nil
	case Config:
		c = given
	case *Config:
		c = *given
	case ai.GenerationCommonConfig:
		c.GenerationCommonConfig = given
	case *ai.GenerationCommonConfig:
		c.GenerationCommonConfig = *given
	default: // a map of the developer tools', say
		text, err := json.Marshal(config)
		if err != nil {
			return fmt.Errorf("the configuration: %w", err)
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return &with.UnsupportedError{What: fmt.Sprintf("the configuration of the type %T (%v)", config, err), Want: "a Config"}
		}
	}
	if len(c.StopSequences) > 0 {
		p.Stop = c.StopSequences
	}
	if c.Thinking != nil {
		p.Template.Thinking.Enabled = c.Thinking
	}
	return errors.Join(
		with.Rest("ai.GenerationCommonConfig", c.GenerationCommonConfig, "MaxOutputTokens", "StopSequences", "Temperature", "TopK", "TopP"),
		with.Positive("MaxOutputTokens", &p.MaxTokens, with.Said(c.MaxOutputTokens)),
		with.Set("Temperature", &p.Temperature, with.Said(c.Temperature)),
		with.Set("TopK", &p.TopK, with.Said(c.TopK)),
		with.Set("TopP", &p.TopP, with.Said(c.TopP)),
		with.Set("Seed", &p.Seed, with.Said(c.Seed)),
		with.Set("MinP", &p.MinP, with.Said(c.MinP)),
		with.Set("RepeatPenalty", &p.RepeatPenalty, with.Said(c.RepeatPenalty)),
		with.Set("FrequencyPenalty", &p.FrequencyPenalty, with.Said(c.FrequencyPenalty)),
		with.Set("PresencePenalty", &p.PresencePenalty, with.Said(c.PresencePenalty)),
	)
}

// setForm sets the form of the answer. If it is not to be constrained, Genkit has put instructions into the conversation.
func setForm(r *with.Request, o *ai.ModelOutputConfig) (err error) {
	switch {
	case o == nil:
		return nil
	case o.Constrained && len(o.Schema) > 0:
		r.Schema, err = with.JSON(o.Schema)
	case o.Constrained:
		r.Schema = with.AnyObject
	}
	return errors.Join(err, with.Rest("ai.ModelOutputConfig", o, "Constrained", "ContentType", "Format", "Schema"))
}

// setTools sets the functions on offer, and whether they are called.
func setTools(r *with.Request, input *ai.ModelRequest) error {
	for _, t := range input.Tools {
		parameters, err := with.JSON(t.InputSchema)
		if err == nil {
			err = with.Rest("ai.ToolDefinition", t, "Name", "Description", "InputSchema", "OutputSchema", "Metadata")
		}
		if err != nil {
			return fmt.Errorf("the function %.80q: %w", t.Name, err)
		}
		r.Tools = append(r.Tools, with.Tool{Name: t.Name, Description: t.Description, Parameters: parameters})
	}
	switch input.ToolChoice {
	case "", ai.ToolChoiceAuto:
	case ai.ToolChoiceRequired:
		r.Choice = constrain.ToolRequired
	case ai.ToolChoiceNone:
		r.Choice = constrain.ToolNone
	default:
		return &with.UnsupportedError{What: fmt.Sprintf("the tool choice %.40q", input.ToolChoice), Want: `"auto", "required" or "none"`}
	}
	return nil
}

// add adds a part of a message to a conversation.
func add(c *with.Conversation, role string, p *ai.Part) error {
	switch {
	case p.IsToolResponse():
		return addResult(c, p.ToolResponse)
	case role == llama.RoleTool:
		return &with.UnsupportedError{What: "a part of a tool's message that is no result", Want: "a result"}
	case p.IsText():
		c.Text(p.Text)
		return nil
	case p.IsReasoning():
		return c.Thought(p.Text)
	case p.IsMedia() && (strings.HasPrefix(p.ContentType, "image/") || strings.HasPrefix(p.Text, "data:image/")):
		return c.ImageURL(p.Text)
	case p.IsToolRequest():
		return c.Call(p.ToolRequest.Ref, p.ToolRequest.Name, p.ToolRequest.Input)
	}
	return &with.UnsupportedError{What: fmt.Sprintf("a part of the kind %d, %.80s", p.Kind, p.ContentType), Want: "a text, an image, a thought, a call or a result"}
}

// addResult adds the result of a call: its output, and texts that follow it.
func addResult(c *with.Conversation, t *ai.ToolResponse) error {
	output, err := with.JSON(t.Output)
	if err != nil {
		return fmt.Errorf("the result of %.80q: %w", t.Name, err)
	}
	text := string(output)
	for _, p := range t.Content {
		if !p.IsText() {
			return &with.UnsupportedError{What: fmt.Sprintf("a part of the kind %d in the result of %.80q", p.Kind, t.Name), Want: "a text"}
		}
		text += p.Text
	}
	return c.Result(t.Ref, t.Name, text)
}
