package clients

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"antigravity.test/clients/server"
	eino "github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/schema"
	"github.com/ollama/ollama/api"
	goopenai "github.com/sashabaranov/go-openai"
)

// Clients that people wrote for the interfaces of OpenAI and Ollama. Each offers a tool, has it called, and sends back what the tool returned:
// an empty text, which some of them leave out of the message, or the weather.

// newGoOpenAI returns sashabaranov's client.
func newGoOpenAI() *goopenai.Client {
	config := goopenai.DefaultConfig(server.Key)
	config.BaseURL = servers.URL + "/v1"
	return goopenai.NewClientWithConfig(config)
}

// goOpenAIRequest asks about the weather. The client leaves a temperature of 0 out.
func goOpenAIRequest() goopenai.ChatCompletionRequest {
	return goopenai.ChatCompletionRequest{
		Model: "flint", Temperature: math.SmallestNonzeroFloat32, MaxCompletionTokens: 100,
		Messages: []goopenai.ChatCompletionMessage{{Role: goopenai.ChatMessageRoleUser, Content: weatherQuestion}},
		Tools: []goopenai.Tool{{Type: goopenai.ToolTypeFunction, Function: &goopenai.FunctionDefinition{
			Name: weatherTool, Description: weatherDoes, Parameters: weatherSchema}}},
	}
}

func TestGoOpenAIToolThatReturnsNothing(t *testing.T) {
	client, request := newGoOpenAI(), goOpenAIRequest()
	first, err := client.CreateChatCompletion(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	message := first.Choices[0].Message
	if len(message.ToolCalls) != 1 {
		t.Fatalf("the answer is %+v", message)
	}
	checkCity(t, message.ToolCalls[0].Function.Name, message.ToolCalls[0].Function.Arguments)
	for _, result := range []string{"", weatherResult} {
		next := request
		next.Messages = append(slices.Clone(request.Messages), message, goopenai.ChatCompletionMessage{Role: goopenai.ChatMessageRoleTool, ToolCallID: message.ToolCalls[0].ID, Content: result})
		second, err := client.CreateChatCompletion(t.Context(), next)
		if err != nil {
			t.Fatal(err)
		}
		if result != "" {
			equal(t, "answer", second.Choices[0].Message.Content, weatherAnswer)
		}
	}
}

func TestEinoToolThatReturnsNothing(t *testing.T) {
	zero, most := float32(0), 100
	base, err := eino.NewChatModel(t.Context(), &eino.ChatModelConfig{BaseURL: servers.URL + "/v1", APIKey: server.Key, Model: "flint", Temperature: &zero, MaxTokens: &most})
	if err != nil {
		t.Fatal(err)
	}
	model, err := base.WithTools([]*schema.ToolInfo{{Name: weatherTool, Desc: weatherDoes, ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"city": {Type: schema.String, Desc: "name of the city", Required: true}})}})
	if err != nil {
		t.Fatal(err)
	}
	question := schema.UserMessage(weatherQuestion)
	first, err := model.Generate(t.Context(), []*schema.Message{question})
	if err != nil {
		t.Fatal(err)
	}
	if len(first.ToolCalls) != 1 {
		t.Fatalf("the answer is %+v", first)
	}
	call := first.ToolCalls[0]
	checkCity(t, call.Function.Name, call.Function.Arguments)
	for _, result := range []string{"", weatherResult} {
		second, err := model.Generate(t.Context(), []*schema.Message{question, first, schema.ToolMessage(result, call.ID)})
		if err != nil {
			t.Fatal(err)
		}
		if result != "" {
			equal(t, "answer", second.Content, weatherAnswer)
		}
	}
}

// keyed adds the server's key to requests.
type keyed struct{}

func (keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+server.Key)
	return http.DefaultTransport.RoundTrip(r)
}

// TestOllamaToolWithoutParameters offers a tool whose parameters the client writes as "properties": null, and a tool with parameters, which is
// called.
func TestOllamaToolWithoutParameters(t *testing.T) {
	base, err := url.Parse(servers.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := api.NewClient(base, &http.Client{Transport: keyed{}})
	var tools api.Tools
	text, err := json.Marshal([]any{map[string]any{"type": "function", "function": map[string]any{"name": weatherTool, "description": weatherDoes, "parameters": weatherSchema}}})
	if err == nil {
		err = json.Unmarshal(text, &tools)
	}
	if err != nil {
		t.Fatal(err)
	}
	tools = append(tools, api.Tool{Type: "function", Function: api.ToolFunction{Name: "now", Description: "Tells the time."}})
	if text, err := json.Marshal(tools[1]); err != nil || !strings.Contains(string(text), `"properties":null`) {
		t.Errorf("the client writes %s, %v", text, err)
	}
	request := &api.ChatRequest{Model: "flint", Tools: tools, Options: map[string]any{"temperature": 0, "num_predict": 100}, Messages: []api.Message{{Role: "user", Content: weatherQuestion}}}
	ask := func() (whole api.Message) {
		err := client.Chat(t.Context(), request, func(part api.ChatResponse) error {
			whole.Role = part.Message.Role
			whole.Content += part.Message.Content
			whole.ToolCalls = append(whole.ToolCalls, part.Message.ToolCalls...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return whole
	}
	first := ask()
	if len(first.ToolCalls) != 1 {
		t.Fatalf("the answer is %+v", first)
	}
	call := first.ToolCalls[0]
	checkCity(t, call.Function.Name, call.Function.Arguments.String())
	request.Messages = append(request.Messages, first, api.Message{Role: "tool", ToolName: weatherTool, ToolCallID: call.ID, Content: weatherResult})
	equal(t, "answer", ask().Content, weatherAnswer)
}

// TestZedsProbe asks /props as Zed does of a llama-server, and then has a tool called only if the template has a place for tools.
func TestZedsProbe(t *testing.T) {
	client := &http.Client{Transport: keyed{}}
	answer, err := client.Get(servers.URL + "/props?model=flint")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var props struct {
		Defaults struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Caps struct {
			Tools bool `json:"supports_tools"`
			Calls bool `json:"supports_tool_calls"`
		} `json:"chat_template_caps"`
		Modalities struct{ Vision bool } `json:"modalities"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&props); err != nil || props.Defaults.Context < 1000 || !props.Caps.Tools || !props.Caps.Calls || props.Modalities.Vision {
		t.Fatalf("the probe finds %+v, %v", props, err)
	}
	request := goOpenAIRequest()
	request.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	stream, err := newGoOpenAI().CreateChatCompletionStream(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	name, arguments := "", ""
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range part.Choices {
			for _, call := range c.Delta.ToolCalls {
				name += call.Function.Name
				arguments += call.Function.Arguments
			}
		}
	}
	checkCity(t, name, arguments)
}
