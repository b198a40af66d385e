package adk_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/antigravity-go/antigravity/llama"
	withadk "github.com/antigravity-go/antigravity/llama/with/adk"
	"github.com/antigravity-go/antigravity/llama/with/internal/withtest"
)

// say has an agent answer a text, and returns what it says, also piece by piece.
func say(t *testing.T, config llmagent.Config, text string, mode agent.StreamingMode) (whole, streamed string) {
	t.Helper()
	a, err := llmagent.New(config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{AppName: "test", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true})
	if err != nil {
		t.Fatal(err)
	}
	for event, err := range r.Run(t.Context(), "user", "session", genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{StreamingMode: mode}) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Content == nil {
			continue
		}
		for _, p := range event.Content.Parts {
			if event.Partial {
				streamed += p.Text
			} else if event.IsFinalResponse() {
				whole += p.Text
			}
		}
	}
	return whole, streamed
}

// TestAgent has ADK's agent answer a question with a function, whole and streamed.
func TestAgent(t *testing.T) {
	asked := ""
	weather, err := functiontool.New(functiontool.Config{Name: withtest.Function, Description: withtest.Does},
		func(_ agent.Context, p withtest.Place) (withtest.Weather, error) {
			asked += p.City
			return withtest.Sunny, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	config := llmagent.Config{Name: "helper", Model: withadk.Model(withtest.Model(t, nil)), Tools: []tool.Tool{weather}}
	for _, mode := range []agent.StreamingMode{agent.StreamingModeNone, agent.StreamingModeSSE} {
		asked = ""
		whole, streamed := say(t, config, withtest.Question, mode)
		if whole != withtest.Answer || asked != withtest.City || mode == agent.StreamingModeSSE && streamed != withtest.Answer {
			t.Errorf("%s: %q, streamed %q, asked for %q", mode, whole, streamed, asked)
		}
	}
}

// person is withtest.Person as Google describes types.
var person = &genai.Schema{
	Type: genai.TypeObject, PropertyOrdering: []string{"name", "age", "city", "likes", "happy"}, Required: []string{"name", "age", "city", "likes", "happy"},
	Properties: map[string]*genai.Schema{
		"name": {Type: genai.TypeString, Description: "name of the person"}, "age": {Type: genai.TypeInteger, Format: "int32", Description: "age in years"},
		"city":  {Type: genai.TypeString, Description: "where the person lives"},
		"likes": {Type: genai.TypeArray, Items: &genai.Schema{Type: genai.TypeString}, Description: "food the person likes"},
		"happy": {Type: genai.TypeBoolean, Description: "whether the person is happy"},
	},
}

// TestStruct fills a struct by a request, and by an agent, which has words of its own for the model.
func TestStruct(t *testing.T) {
	llm := withadk.Model(withtest.Model(t, nil))
	config := &genai.GenerateContentConfig{ResponseMIMEType: "application/json", ResponseSchema: person}
	for response, err := range llm.GenerateContent(t.Context(), &model.LLMRequest{Contents: genai.Text(withtest.About), Config: config}, false) {
		if err != nil {
			t.Fatal(err)
		}
		var got withtest.Person
		text := response.Content.Parts[0].Text
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, withtest.Sam()) {
			t.Errorf("%q, %v", text, err)
		}
		if u := response.UsageMetadata; response.FinishReason != genai.FinishReasonStop || !response.TurnComplete || u.PromptTokenCount == 0 || u.TotalTokenCount != u.PromptTokenCount+u.CandidatesTokenCount {
			t.Errorf("%+v, %+v", response, u)
		}
	}
	whole, _ := say(t, llmagent.Config{Name: "helper", Model: llm, OutputSchema: person}, withtest.About, agent.StreamingModeNone)
	if err := json.Unmarshal([]byte(whole), new(withtest.Person)); err != nil {
		t.Errorf("%q, %v", whole, err)
	}
}

func TestThoughts(t *testing.T) {
	llm := withadk.Model(withtest.Thinker(t))
	thought, text := "", ""
	var whole *model.LLMResponse
	for response, err := range llm.GenerateContent(t.Context(), &model.LLMRequest{Contents: genai.Text("?")}, true) {
		if err != nil {
			t.Fatal(err)
		}
		whole = response
		for _, p := range response.Content.Parts {
			if response.Partial && p.Thought {
				thought += p.Text
			} else if response.Partial {
				text += p.Text
			}
		}
	}
	if thought != withtest.Thought || text != withtest.Greeting || whole.Partial || whole.Content.Parts[0].Text != thought || whole.Content.Parts[1].Text != text {
		t.Errorf("%q, %q, %+v", thought, text, whole.Content)
	}
	again := []*genai.Content{genai.NewContentFromText("?", genai.RoleUser), whole.Content, genai.NewContentFromText("?", genai.RoleUser)}
	for response, err := range llm.GenerateContent(t.Context(), &model.LLMRequest{Contents: again}, false) {
		if err != nil || response.Content.Parts[1].Text != withtest.Greeting {
			t.Errorf("%+v, %v", response, err)
		}
	}
	for range llm.GenerateContent(t.Context(), &model.LLMRequest{Contents: genai.Text("?")}, true) {
		break // an answer that nobody wants any more
	}
}

// TestRequests has parameters, and what no model here can do.
func TestRequests(t *testing.T) {
	llm := withadk.Model(withtest.Model(t, nil))
	functions := []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
		{Name: "f", Parameters: &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"n": {Type: genai.TypeInteger, Format: "enum", Enum: []string{"7"}}}, Required: []string{"n"}}}, {Name: "g"}}}}
	only := &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeAny, AllowedFunctionNames: []string{"f"}}}
	for _, c := range []struct {
		want   string // of an error; "": an answer
		config genai.GenerateContentConfig
		part   *genai.Part
	}{
		{"", genai.GenerateContentConfig{Tools: functions, ToolConfig: only, Temperature: new(float32(0.5)), TopK: new(float32(40)), Seed: new(int32(1)), MaxOutputTokens: 40,
			ThinkingConfig: &genai.ThinkingConfig{ThinkingBudget: new(int32(0))}, StopSequences: []string{"###"}, ResponseModalities: []string{"TEXT"}}, nil},
		{"SafetySettings", genai.GenerateContentConfig{SafetySettings: []*genai.SafetySetting{{}}}, nil},
		{"CachedContent", genai.GenerateContentConfig{CachedContent: "x"}, nil},
		{"CandidateCount", genai.GenerateContentConfig{CandidateCount: 2}, nil},
		{"Logprobs", genai.GenerateContentConfig{ResponseLogprobs: true}, nil},
		{"AUDIO", genai.GenerateContentConfig{ResponseModalities: []string{"AUDIO"}}, nil},
		{"GoogleSearch", genai.GenerateContentConfig{Tools: []*genai.Tool{{GoogleSearch: &genai.GoogleSearch{}}}}, nil},
		{"TopK is 0.5", genai.GenerateContentConfig{TopK: new(float32(0.5))}, nil},
		{"of the type application/json", genai.GenerateContentConfig{ResponseSchema: person}, nil},
		{"uniqueItems", genai.GenerateContentConfig{ResponseMIMEType: "application/json", ResponseJsonSchema: map[string]any{"type": "array", "uniqueItems": true}}, nil},
		{"nothing is fetched", genai.GenerateContentConfig{}, genai.NewPartFromURI("gs://a/b.png", "image/png")},
		{"audio/wav", genai.GenerateContentConfig{}, genai.NewPartFromBytes(nil, "audio/wav")},
		{"ExecutableCode", genai.GenerateContentConfig{}, genai.NewPartFromExecutableCode("1", genai.LanguagePython)},
		{"answers no call", genai.GenerateContentConfig{}, genai.NewPartFromFunctionResponse("f", map[string]any{"output": 1})},
	} {
		contents := genai.Text("What is the capital of Japan?")
		if c.part != nil {
			contents[0].Parts = append(contents[0].Parts, c.part)
		}
		for response, err := range llm.GenerateContent(t.Context(), &model.LLMRequest{Contents: contents, Config: &c.config}, false) {
			switch {
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			case c.want == "" && (err != nil || response.Content.Parts[0].FunctionCall == nil || response.Content.Parts[0].FunctionCall.Args["n"] != 7.0):
				t.Errorf("%+v, %v", response, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range llm.GenerateContent(ctx, &model.LLMRequest{Contents: genai.Text("Hello")}, true) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	for _, err := range llm.GenerateContent(t.Context(), &model.LLMRequest{Model: "gemini", Contents: genai.Text("Hello")}, true) {
		if err == nil || errors.Is(err, llama.ErrUnsupported) {
			t.Error(err)
		}
	}
}
