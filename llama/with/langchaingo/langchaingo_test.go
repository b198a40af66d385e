package langchaingo_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/embeddings"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/testing/llmtest"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/with/internal/withtest"
	withlangchaingo "github.com/antigravity-go/antigravity/llama/with/langchaingo"
)

// TestConformance is LangChainGo's own test of models, which wants to be greeted.
func TestConformance(t *testing.T) {
	llmtest.TestLLM(t, withlangchaingo.New(withtest.Thinker(t)))
}

// TestThoughts has thoughts streamed apart from the answer.
func TestThoughts(t *testing.T) {
	thought, text := "", ""
	answer, err := withlangchaingo.New(withtest.Thinker(t)).GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "?")},
		llms.WithStreamingReasoningFunc(func(_ context.Context, reasoning, chunk []byte) error {
			thought, text = thought+string(reasoning), text+string(chunk)
			return nil
		}))
	if err != nil || thought != withtest.Thought || text != withtest.Greeting || answer.Choices[0].ReasoningContent != thought || answer.Choices[0].Content != text {
		t.Errorf("%q, %q, %+v, %v", thought, text, answer, err)
	}
}

// weather is the function that the question needs.
func weather(t *testing.T) llms.Tool {
	t.Helper()
	schema, err := constrain.Schema[withtest.Place]()
	if err != nil {
		t.Fatal(err)
	}
	return llms.Tool{Type: "function", Function: &llms.FunctionDefinition{Name: withtest.Function, Description: withtest.Does, Parameters: json.RawMessage(schema)}}
}

// TestTurns has the function called, and the answer streamed that follows from its result.
func TestTurns(t *testing.T) {
	m := withlangchaingo.New(withtest.Model(t, nil))
	history := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, withtest.Question)}
	tools := llms.WithTools([]llms.Tool{weather(t)})
	answer, err := m.GenerateContent(t.Context(), history, tools)
	if err != nil || len(answer.Choices[0].ToolCalls) != 1 || answer.Choices[0].StopReason != "tool_calls" {
		t.Fatalf("%+v, %v", answer, err)
	}
	call := answer.Choices[0].ToolCalls[0]
	if call.FunctionCall.Name != withtest.Function || call.FunctionCall.Arguments != `{"city": "Nairobi"}` {
		t.Errorf("%+v", call.FunctionCall)
	}
	history = append(history, llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{call}},
		llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: call.ID, Name: withtest.Function, Content: withtest.SunnyJSON}}})
	streamed, chunks := "", 0
	answer, err = m.GenerateContent(t.Context(), history, tools, llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error {
		streamed, chunks = streamed+string(chunk), chunks+1
		return nil
	}))
	if err != nil || answer.Choices[0].Content != withtest.Answer || streamed != withtest.Answer || chunks < 5 {
		t.Errorf("%+v, streamed %q in %d chunks, %v", answer, streamed, chunks, err)
	}
	stop := errors.New("enough")
	if _, err := m.GenerateContent(t.Context(), history, tools, llms.WithStreamingFunc(func(context.Context, []byte) error { return stop })); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestStruct(t *testing.T) {
	form, err := constrain.Schema[withtest.Person]()
	if err != nil {
		t.Fatal(err)
	}
	m := withlangchaingo.New(withtest.Model(t, nil))
	answer, err := m.Call(t.Context(), withtest.About, withlangchaingo.WithSchema(form))
	var got withtest.Person
	if err == nil {
		err = json.Unmarshal([]byte(answer), &got)
	}
	if err != nil || !reflect.DeepEqual(got, withtest.Sam()) {
		t.Errorf("%q, %v", answer, err)
	}
	if answer, err = m.Call(t.Context(), withtest.About, llms.WithJSONMode(), llms.WithMaxTokens(20)); err != nil || !strings.HasPrefix(answer, "{") {
		t.Errorf("%q, %v", answer, err)
	}
}

func TestEmbedder(t *testing.T) {
	flint := withtest.Flint(t)
	e, err := embeddings.NewEmbedder(withlangchaingo.NewEmbedder(flint, 0))
	if err != nil {
		t.Fatal(err)
	}
	want, err := flint.Embed(t.Context(), "a cat", "a dog")
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.EmbedDocuments(t.Context(), []string{"a cat", "a dog"})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Error(err)
	}
	short, err := withlangchaingo.NewEmbedder(flint, 8).EmbedQuery(t.Context(), "a cat")
	if err != nil || len(short) != 8 {
		t.Errorf("%v, %v", short, err)
	}
}

// TestRefusals has what no model can do.
func TestRefusals(t *testing.T) {
	m := withlangchaingo.New(withtest.Model(t, nil))
	user := llms.TextParts(llms.ChatMessageTypeHuman, "Hello")
	for _, c := range []struct {
		want    string
		message llms.MessageContent
		option  llms.CallOption
	}{
		{`no model "other"`, user, llms.WithModel("other")},
		{"MinLength", user, llms.WithMinLength(3)},
		{"MaxLength", user, llms.WithMaxLength(3)},
		{"CandidateCount", user, llms.WithCandidateCount(2)},
		{"several answers", user, llms.WithN(2)},
		{`Metadata["k"]`, user, llms.WithMetadata(map[string]any{"k": 1})},
		{"text/x.enum", user, llms.WithResponseMIMEType("text/x.enum")},
		{`type "code_interpreter"`, user, llms.WithTools([]llms.Tool{{Type: "code_interpreter"}})},
		{`tool choice sometimes`, user, llms.WithToolChoice("sometimes")},
		{`"f" is to be called`, user, llms.WithToolChoice(llms.ToolChoice{Type: "function", Function: &llms.FunctionReference{Name: "f"}})},
		{"nothing is fetched", llms.MessageContent{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.ImageURLPart("https://example.org/a.png")}}, llms.WithSeed(1)},
		{"audio/wav", llms.MessageContent{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.BinaryPart("audio/wav", nil)}}, llms.WithSeed(1)},
		{`role "generic"`, llms.TextParts(llms.ChatMessageTypeGeneric, "x"), llms.WithSeed(1)},
		{"in a tool's message", llms.TextParts(llms.ChatMessageTypeTool, "x"), llms.WithSeed(1)},
	} {
		if _, err := m.GenerateContent(t.Context(), []llms.MessageContent{user, c.message}, c.option); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Call(ctx, "Hello"); !errors.Is(err, context.Canceled) || !llms.IsCanceledError(err) {
		t.Error(err)
	}
	if _, err := m.Call(t.Context(), strings.Repeat("word ", 5000)); !errors.Is(err, llama.ErrContextFull) || !llms.IsTokenLimitError(err) {
		t.Error(err)
	}
}
