package eino_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	witheino "github.com/antigravity-go/antigravity/llama/with/eino"
	"github.com/antigravity-go/antigravity/llama/with/internal/withtest"
)

// TestAgent has eino's agent answer a question with a function, whole and streamed.
func TestAgent(t *testing.T) {
	asked := ""
	weather, err := utils.InferTool(withtest.Function, withtest.Does, func(_ context.Context, p withtest.Place) (withtest.Weather, error) {
		asked += p.City
		return withtest.Sunny, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := react.NewAgent(t.Context(), &react.AgentConfig{
		ToolCallingModel: witheino.NewChatModel(withtest.Model(t, nil)),
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{weather}},
	})
	if err != nil {
		t.Fatal(err)
	}
	question := []*schema.Message{schema.UserMessage(withtest.Question)}
	answer, err := agent.Generate(t.Context(), question)
	if err != nil || answer.Content != withtest.Answer || asked != withtest.City {
		t.Fatalf("%+v, asked for %q, %v", answer, asked, err)
	}
	if m := answer.ResponseMeta; m.FinishReason != "stop" || m.Usage.PromptTokens == 0 || m.Usage.TotalTokens != m.Usage.PromptTokens+m.Usage.CompletionTokens {
		t.Errorf("%+v", m)
	}
	asked = ""
	stream, err := agent.Stream(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	text, chunks := "", 0
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, chunks = text+m.Content, chunks+1
	}
	if text != withtest.Answer || asked != withtest.City || chunks < 5 {
		t.Errorf("%q in %d chunks, asked for %q", text, chunks, asked)
	}
}

func TestStruct(t *testing.T) {
	form, err := constrain.Schema[withtest.Person]()
	if err != nil {
		t.Fatal(err)
	}
	answer, err := witheino.NewChatModel(withtest.Model(t, nil)).Generate(t.Context(), []*schema.Message{schema.UserMessage(withtest.About)}, witheino.WithSchema(form))
	if err != nil {
		t.Fatal(err)
	}
	var got withtest.Person
	if err := json.Unmarshal([]byte(answer.Content), &got); err != nil || !reflect.DeepEqual(got, withtest.Sam()) {
		t.Errorf("%q, %v", answer.Content, err)
	}
}

// TestThoughts has thoughts streamed apart from the answer, and joined by eino.
func TestThoughts(t *testing.T) {
	m := witheino.NewChatModel(withtest.Thinker(t))
	stream, err := m.Stream(t.Context(), []*schema.Message{schema.UserMessage("?")})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := schema.ConcatMessageStream(stream)
	if err != nil || whole.ReasoningContent != withtest.Thought || whole.Content != withtest.Greeting {
		t.Errorf("%+v, %v", whole, err)
	}
	whole, err = m.Generate(t.Context(), []*schema.Message{schema.UserMessage("?"), whole, schema.UserMessage("?")})
	if err != nil || whole.ReasoningContent != withtest.Thought || whole.Content != withtest.Greeting {
		t.Errorf("%+v, %v", whole, err)
	}
}

func TestEmbedder(t *testing.T) {
	flint := withtest.Flint(t)
	e := witheino.NewEmbedder(flint, llama.EmbedOptions{Task: "document"})
	got, err := e.EmbedStrings(t.Context(), []string{"a cat", "a dog"})
	want, err2 := flint.Embed(t.Context(), "a cat", "a dog")
	if err != nil || err2 != nil || len(got) != 2 || float32(got[1][3]) != want[1][3] {
		t.Errorf("%v, %v", err, err2)
	}
	if _, err := e.EmbedStrings(t.Context(), []string{"a"}, embedding.WithModel("other")); !errors.Is(err, llama.ErrUnsupported) {
		t.Error(err)
	}
}

// TestOptions has each of eino's options, and what this model cannot do.
func TestOptions(t *testing.T) {
	m := witheino.NewChatModel(withtest.Model(t, nil))
	user := schema.UserMessage(withtest.Question)
	info := []*schema.ToolInfo{{Name: "f", Desc: "does", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"a": {Type: schema.Integer, Desc: "a number", Required: true}})}, {Name: "g", Desc: "does not"}}
	answer, err := m.Generate(t.Context(), []*schema.Message{user}, model.WithTools(info), model.WithToolChoice(schema.ToolChoiceForced, "g"),
		model.WithTemperature(0.5), model.WithTopP(0.5), model.WithMaxTokens(30), model.WithStop([]string{"###"}), model.WithModel("flint"))
	if err != nil || len(answer.ToolCalls) == 0 || answer.ToolCalls[0].Function.Name != "g" || answer.ToolCalls[0].Function.Arguments != "{}" {
		t.Errorf("%+v, %v", answer, err)
	}
	answer, err = m.Generate(t.Context(), []*schema.Message{user}, model.WithTools(info), model.WithToolChoice(schema.ToolChoiceForbidden), model.WithMaxTokens(2))
	if err != nil || len(answer.ToolCalls) > 0 || answer.ResponseMeta.FinishReason != "length" {
		t.Errorf("%+v, %v", answer, err)
	}
	sound := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageInputAudio{}}}}
	for _, c := range []struct {
		want    string
		message *schema.Message
		option  model.Option
	}{
		{`no model "other"`, user, model.WithModel("other")},
		{"MaxTokens is 0", user, model.WithMaxTokens(0)},
		{`tool choice "maybe"`, user, model.WithToolChoice("maybe")},
		{"audio_url", sound, model.WithMaxTokens(1)},
		{"message 0 is nil", nil, model.WithMaxTokens(1)},
		{"Temperature", user, model.WithTemperature(-1)},
	} {
		if _, err := m.Generate(t.Context(), []*schema.Message{c.message}, c.option); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := m.Stream(ctx, []*schema.Message{user})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil {
		_, err = stream.Recv()
	}
	if stream.Close(); !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
