package tokens

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// props are what programs ask llama-server about itself, of one model.
type props struct {
	Defaults struct {
		Context int            `json:"n_ctx"` // tokens that a conversation may have; 0: no bound
		Params  map[string]any `json:"params"`
	} `json:"default_generation_settings"`
	Slots      int             `json:"total_slots"` // answers that are computed at once
	Alias      string          `json:"model_alias"`
	Path       string          `json:"model_path"` // the name: the path of a model's file is nobody's business
	Modalities map[string]bool `json:"modalities"`
	BOS        string          `json:"bos_token"`
	EOS        string          `json:"eos_token"`
	Build      string          `json:"build_info"`

	// The templates are those of the model's files, "" if they have no template. Tools is there if the model has a template of its own for functions.
	Template string       `json:"chat_template"`
	Tools    string       `json:"chat_template_tool_use,omitempty"`
	Caps     templateCaps `json:"chat_template_caps"`
}

// templateCaps say what a model's chat template, and so the model, has a place for. Programs turn functions off that are not among them. The
// names are llama-server's.
type templateCaps struct {
	Tools     bool `json:"supports_tools"` // functions on offer
	Calls     bool `json:"supports_tool_calls"`
	Parallel  bool `json:"supports_parallel_tool_calls"` // several calls in one answer
	System    bool `json:"supports_system_role"`
	Thoughts  bool `json:"supports_preserve_reasoning"` // thoughts of earlier turns
	Strings   bool `json:"supports_string_content"`
	Parts     bool `json:"supports_typed_content"`    // contents that are lists of texts and images
	Arguments bool `json:"supports_object_arguments"` // of calls, as objects
}

// capsOf finds out what a tokenizer's chat template has a place for, from what it makes of conversations.
func capsOf(t *llama.Tokenizer) (c templateCaps) {
	if !t.HasTemplate() {
		return c
	}
	user := func(text string) llama.Message { return llama.Message{Role: llama.RoleUser, Content: text} }
	call := func(id string) llama.ToolCall {
		return llama.ToolCall{ID: id, Name: "f", Arguments: json.RawMessage(`{"city":"Rome"}`)}
	}
	result := func(id string) llama.Message {
		return llama.Message{Role: llama.RoleTool, Content: "17", Name: "f", ToolCallID: id}
	}
	rendered := func(history ...llama.Message) []llama.Token {
		tokens, err := t.Template(history, llama.TemplateOptions{})
		if err != nil {
			return nil
		}
		return tokens
	}
	answer := llama.Message{Role: llama.RoleAssistant, Content: "b"}
	thought := answer
	thought.Thinking = "Hm."
	c.Strings, c.Parts = true, true
	c.System = rendered(llama.Message{Role: llama.RoleSystem, Content: "a"}, user("b")) != nil
	c.Tools = t.CallFormat() != llama.NoCalls
	c.Calls, c.Arguments = c.Tools, c.Tools
	c.Parallel = c.Tools && rendered(user("a"), llama.Message{Role: llama.RoleAssistant, ToolCalls: []llama.ToolCall{call("000000001"), call("000000002")}},
		result("000000001"), result("000000002")) != nil
	c.Thoughts = t.Thinks() && !slices.Equal(rendered(user("a"), thought, user("c")), rendered(user("a"), answer, user("c")))
	return c
}

// settings returns the parameters of an answer in llama-server's words: n_predict -1 is no bound.
func settings(p llama.Params) map[string]any {
	most := -1
	if p.MaxTokens > 0 {
		most = p.MaxTokens
	}
	return map[string]any{
		"temperature": p.Temperature, "top_k": p.TopK, "top_p": orOne(p.TopP), "min_p": p.MinP, "repeat_penalty": orOne(p.RepeatPenalty), "repeat_last_n": 64,
		"presence_penalty": p.PresencePenalty, "frequency_penalty": p.FrequencyPenalty, "seed": p.Seed, "max_tokens": most, "n_predict": most,
		"stop": append([]string{}, p.Stop...),
	}
}

// orOne returns a parameter of llama.Params for which 0 means the same as 1.
func orOne(v float32) float32 {
	if v == 0 {
		return 1
	}
	return v
}

// defaults returns the settings of an answer for which the request says nothing: seed -1 is a random one.
func defaults(d ask.Defaults) map[string]any {
	p := llama.Params{
		Temperature: d.Temperature, TopK: d.TopK, TopP: d.TopP, MinP: d.MinP, RepeatPenalty: d.RepeatPenalty, FrequencyPenalty: d.FrequencyPenalty,
		PresencePenalty: d.PresencePenalty,
	}
	if d.MaxTokens != nil {
		p.MaxTokens = *d.MaxTokens
	}
	all := settings(p)
	all["seed"], all["stream"] = -1, false
	return all
}

// Props serves GET /props, of the first model or of the one that the query's model names.
func (a *API) Props(w http.ResponseWriter, r *http.Request) error {
	m, err := a.open(r, r.URL.Query().Get("model"))
	if err != nil {
		return err
	}
	defer m.Close()
	t, config := m.Model.Tokenizer(), m.Model.Config()
	p := props{Slots: m.Queue.Places(), Alias: m.Name, Path: m.Name, Modalities: map[string]bool{"vision": m.Model.Inputs().Image, "audio": false}, Build: "antigravity"}
	p.Defaults.Context, p.Defaults.Params = m.Context, defaults(a.Service.Defaults(a.Service.Models.Describe(m.Name)))
	p.BOS = name(t, config.BOS)
	if len(config.EOS) > 0 {
		p.EOS = name(t, config.EOS[0])
	}
	for i, all := 0, t.ChatTemplates(); i < len(all.Names); i++ {
		switch all.Names[i] {
		case "default":
			p.Template = all.Sources[i]
		case "tool_use":
			p.Tools = all.Sources[i]
		}
	}
	p.Caps = capsOf(t)
	m.Close() // a client that reads slowly must not keep the model from being given back
	return wire.Write(w, http.StatusOK, p)
}

// name returns a token as the vocabulary writes it, or "".
func name(t *llama.Tokenizer, token llama.Token) string {
	if token < 0 {
		return ""
	}
	return t.Text(token)
}
