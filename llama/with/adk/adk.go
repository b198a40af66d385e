// Package adk lets agents of Google's Agent Development Kit ask a model of package llama, in the same process.
//
//	m, err := with.New(model, nil)
//	…
//	a, err := llmagent.New(llmagent.Config{Name: "helper", Model: withadk.Model(m), Tools: tools, OutputSchema: form})
//
// Calls of functions and answers with an OutputSchema keep to their schemas while they are generated. Options of genai.GenerateContentConfig that
// no model here has, such as SafetySettings or CachedContent, tools that Google runs, and parts other than texts, images, thoughts, calls and
// results are a *with.UnsupportedError.
package adk

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"google.golang.org/adk/v2/model"
	"google.golang.org/genai"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/with"
)

// llm is a model.LLM. It is safe for concurrent use.
type llm struct{ model *with.Model }

// Model makes a model.LLM.
func Model(m *with.Model) model.LLM { return llm{m} }

// Name is model.LLM's.
func (l llm) Name() string { return l.model.Name() }

// GenerateContent is model.LLM's. If stream is set, thoughts and texts come as they are computed, in partial responses. The last response is the
// whole answer in any case, with its calls.
func (l llm) GenerateContent(ctx context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		r, err := l.request(req)
		if err != nil {
			yield(nil, err)
			return
		}
		left := false
		answer, err := llama.Collect(func(more func(llama.Piece, error) bool) {
			for p, err := range l.model.Chat(ctx, r) {
				if parts := partsOf(p.Thought, p.Text); stream && err == nil && len(parts) > 0 {
					if left = !yield(&model.LLMResponse{Content: genai.NewContentFromParts(parts, genai.RoleModel), Partial: true}, nil); left {
						return
					}
				}
				if !more(p, err) {
					return
				}
			}
		})
		if left {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		yield(l.response(&answer))
	}
}

// partsOf returns a thought and a text as parts.
func partsOf(thought, text string) (parts []*genai.Part) {
	if thought != "" {
		parts = append(parts, &genai.Part{Text: thought, Thought: true})
	}
	if text != "" {
		parts = append(parts, &genai.Part{Text: text})
	}
	return parts
}

// response returns an answer as ADK has it.
func (l llm) response(answer *llama.Piece) (*model.LLMResponse, error) {
	parts := partsOf(answer.Thought, answer.Text)
	for _, call := range answer.Message.ToolCalls {
		arguments, err := with.Arguments(&call)
		if err != nil {
			return nil, err
		}
		parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: call.ID, Name: call.Name, Args: arguments}})
	}
	s := &answer.Stats
	return &model.LLMResponse{
		Content: genai.NewContentFromParts(parts, genai.RoleModel), FinishReason: reason(answer.Stop), TurnComplete: true, ModelVersion: l.Name(),
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{
			PromptTokenCount: int32(s.PromptTokens), CachedContentTokenCount: int32(s.ReusedTokens), ThoughtsTokenCount: int32(s.ThoughtTokens),
			CandidatesTokenCount: int32(s.GeneratedTokens - s.ThoughtTokens), TotalTokenCount: int32(s.PromptTokens + s.GeneratedTokens),
		},
	}, nil
}

// reason returns Google's word for a reason to stop. Calls have no word of their own.
func reason(stop llama.StopReason) genai.FinishReason {
	switch stop {
	case llama.EndOfTurn, llama.StopString, llama.ToolCalled:
		return genai.FinishReasonStop
	case llama.MaxTokens, llama.ContextFull:
		return genai.FinishReasonMaxTokens
	}
	return genai.FinishReasonUnspecified
}

// request returns a request as the model is asked.
func (l llm) request(req *model.LLMRequest) (*with.Request, error) {
	r, config := l.model.Request(), req.Config
	if config == nil {
		config = &genai.GenerateContentConfig{}
	}
	err := errors.Join(with.Rest("model.LLMRequest", req, "Model", "Contents", "Config", "Tools"), l.model.Is(req.Model), setConfig(r, config), setTools(r, config))
	if err != nil {
		return nil, err
	}
	var c with.Conversation
	if s := config.SystemInstruction; s != nil {
		c.Turn(llama.RoleSystem)
		for _, p := range s.Parts {
			if err := add(&c, p); err != nil {
				return nil, fmt.Errorf("the system instruction: %w", err)
			}
		}
	}
	for i, content := range req.Contents {
		if content == nil {
			return nil, fmt.Errorf("content %d is nil: it must be a content", i)
		}
		role, ok := roles[content.Role]
		if !ok {
			return nil, &with.UnsupportedError{What: fmt.Sprintf("the role %.40q of content %d", content.Role, i), Want: `"user" or "model"`}
		}
		c.Turn(role)
		for _, p := range content.Parts {
			if err := add(&c, p); err != nil {
				return nil, fmt.Errorf("content %d, of the role %q: %w", i, content.Role, err)
			}
		}
	}
	r.Messages = c.Messages()
	return r, nil
}

// roles are package llama's names of roles. Results of functions come in contents of the user's, or of older programs' own.
var roles = map[string]string{
	"": llama.RoleUser, genai.RoleUser: llama.RoleUser, genai.RoleModel: llama.RoleAssistant, "system": llama.RoleSystem, "function": llama.RoleUser,
}

// setConfig sets the parameters and the form of the answer.
func setConfig(r *with.Request, config *genai.GenerateContentConfig) error {
	p := &r.Params
	if config.CandidateCount > 1 {
		return &with.UnsupportedError{What: "genai.GenerateContentConfig.CandidateCount", Want: "1"}
	}
	if !slices.Contains([]string{"", "TEXT"}, strings.Join(config.ResponseModalities, ",")) {
		return &with.UnsupportedError{What: fmt.Sprintf("genai.GenerateContentConfig.ResponseModalities %q", config.ResponseModalities), Want: `"TEXT"`}
	}
	if len(config.StopSequences) > 0 {
		p.Stop = config.StopSequences
	}
	return errors.Join(
		with.Rest("genai.GenerateContentConfig", config, "SystemInstruction", "Temperature", "TopP", "TopK", "CandidateCount", "MaxOutputTokens",
			"StopSequences", "PresencePenalty", "FrequencyPenalty", "Seed", "ResponseMIMEType", "ResponseSchema", "ResponseJsonSchema", "Tools",
			"ToolConfig", "ResponseModalities", "ThinkingConfig"),
		with.Set("Temperature", &p.Temperature, config.Temperature),
		with.Set("TopK", &p.TopK, config.TopK),
		with.SetTopP("TopP", p, config.TopP),
		with.Positive("MaxOutputTokens", &p.MaxTokens, with.Said(config.MaxOutputTokens)),
		with.Set("PresencePenalty", &p.PresencePenalty, config.PresencePenalty),
		with.Set("FrequencyPenalty", &p.FrequencyPenalty, config.FrequencyPenalty),
		with.Set("Seed", &p.Seed, config.Seed),
		setThinking(p, config.ThinkingConfig), setForm(r, config),
	)
}

// setThinking sets whether the model thinks, and for how long. Thoughts are part of answers in any case.
func setThinking(p *llama.Params, t *genai.ThinkingConfig) error {
	if t == nil {
		return nil
	}
	if b := t.ThinkingBudget; b != nil {
		switch {
		case *b == 0:
			p.Template.Thinking.Enabled = new(false)
		case *b > 0:
			p.Template.Thinking.Budget = int(*b)
		case *b != -1: // which leaves it to the model
			return fmt.Errorf("with: genai.ThinkingConfig.ThinkingBudget is %d: it must be -1, 0 or positive", *b)
		}
	}
	if level := t.ThinkingLevel; level != "" && level != genai.ThinkingLevelUnspecified {
		p.Template.Thinking.Effort = strings.ToLower(string(level))
	}
	return with.Rest("genai.ThinkingConfig", t, "IncludeThoughts", "ThinkingBudget", "ThinkingLevel")
}

// setForm sets the form of the answer.
func setForm(r *with.Request, config *genai.GenerateContentConfig) (err error) {
	switch config.ResponseMIMEType {
	case "", "text/plain":
		if config.ResponseSchema != nil || config.ResponseJsonSchema != nil {
			return &with.UnsupportedError{What: fmt.Sprintf("a schema of answers of the type %q", config.ResponseMIMEType), Want: "of the type application/json"}
		}
		return nil
	case "application/json":
	default:
		return &with.UnsupportedError{What: fmt.Sprintf("answers of the type %.40q", config.ResponseMIMEType), Want: "of the type text/plain or application/json"}
	}
	switch {
	case config.ResponseJsonSchema != nil:
		r.Schema, err = with.JSON(config.ResponseJsonSchema)
	case config.ResponseSchema != nil:
		r.Schema, err = schemaOf(config.ResponseSchema)
	default:
		r.Schema = with.AnyObject
	}
	return err
}

// setTools sets the functions on offer, and whether they are called.
func setTools(r *with.Request, config *genai.GenerateContentConfig) error {
	for _, t := range config.Tools {
		if err := with.Rest("genai.Tool", t, "FunctionDeclarations"); err != nil {
			return err
		}
		for _, f := range t.FunctionDeclarations {
			parameters, err := with.JSON(f.ParametersJsonSchema)
			if err == nil && f.Parameters != nil {
				parameters, err = schemaOf(f.Parameters)
			}
			if err == nil { // results are not held to Response
				err = with.Rest("genai.FunctionDeclaration", f, "Name", "Description", "Parameters", "ParametersJsonSchema", "Response", "ResponseJsonSchema")
			}
			if err != nil {
				return fmt.Errorf("the function %.80q: %w", f.Name, err)
			}
			r.Tools = append(r.Tools, with.Tool{Name: f.Name, Description: f.Description, Parameters: parameters})
		}
	}
	if config.ToolConfig == nil {
		return nil
	}
	if err := with.Rest("genai.ToolConfig", config.ToolConfig, "FunctionCallingConfig"); err != nil || config.ToolConfig.FunctionCallingConfig == nil {
		return err
	}
	calling := config.ToolConfig.FunctionCallingConfig
	switch calling.Mode {
	case "", genai.FunctionCallingConfigModeUnspecified, genai.FunctionCallingConfigModeAuto, genai.FunctionCallingConfigModeValidated:
	case genai.FunctionCallingConfigModeAny:
		r.Choice = constrain.ToolRequired
	case genai.FunctionCallingConfigModeNone:
		r.Choice = constrain.ToolNone
	default:
		return &with.UnsupportedError{What: fmt.Sprintf("the function calling mode %.40q", calling.Mode), Want: "AUTO, ANY, NONE or VALIDATED"}
	}
	if len(calling.AllowedFunctionNames) > 0 {
		r.Allowed = calling.AllowedFunctionNames
	}
	return with.Rest("genai.FunctionCallingConfig", calling, "Mode", "AllowedFunctionNames")
}

// add adds a part of a content to a conversation.
func add(c *with.Conversation, p *genai.Part) error {
	if p == nil {
		return errors.New("a part is nil: it must be a part")
	}
	if err := with.Rest("genai.Part", p, "Text", "Thought", "ThoughtSignature", "InlineData", "FileData", "FunctionCall", "FunctionResponse", "PartMetadata"); err != nil {
		return err
	}
	switch {
	case p.FunctionCall != nil:
		if err := with.Rest("genai.FunctionCall", p.FunctionCall, "ID", "Name", "Args"); err != nil {
			return err
		}
		return c.Call(p.FunctionCall.ID, p.FunctionCall.Name, p.FunctionCall.Args)
	case p.FunctionResponse != nil:
		if err := with.Rest("genai.FunctionResponse", p.FunctionResponse, "ID", "Name", "Response"); err != nil {
			return err
		}
		result := any(p.FunctionResponse.Response)
		if output, ok := p.FunctionResponse.Response["output"]; ok && len(p.FunctionResponse.Response) == 1 {
			result = output
		}
		return c.Result(p.FunctionResponse.ID, p.FunctionResponse.Name, result)
	case p.InlineData != nil:
		return c.File(p.InlineData.MIMEType, p.InlineData.Data)
	case p.FileData != nil:
		return c.ImageURL(p.FileData.FileURI)
	case p.Thought:
		return c.Thought(p.Text)
	}
	c.Text(p.Text)
	return nil
}
