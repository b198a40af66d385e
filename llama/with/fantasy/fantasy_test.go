package fantasy_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"charm.land/fantasy"
	"charm.land/fantasy/object"

	"github.com/antigravity-go/antigravity/llama"
	withfantasy "github.com/antigravity-go/antigravity/llama/with/fantasy"
	"github.com/antigravity-go/antigravity/llama/with/internal/withtest"
)

// TestAgent has fantasy's agent answer a question with a function, whole and streamed, as Crush does.
func TestAgent(t *testing.T) {
	model, err := withfantasy.Provider(withtest.Model(t, nil)).LanguageModel(t.Context(), "flint")
	if err != nil {
		t.Fatal(err)
	}
	asked := ""
	weather := fantasy.NewAgentTool(withtest.Function, withtest.Does, func(_ context.Context, p withtest.Place, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
		asked += p.City
		return fantasy.NewTextResponse(withtest.SunnyJSON), nil
	})
	agent := fantasy.NewAgent(model, fantasy.WithTools(weather), fantasy.WithTemperature(0), fantasy.WithMaxOutputTokens(100), fantasy.WithMaxRetries(0), fantasy.WithUserAgent("crush"))
	written := ""
	for _, stream := range []bool{false, true} {
		asked = ""
		var result *fantasy.AgentResult
		if stream {
			result, err = agent.Stream(t.Context(), fantasy.AgentStreamCall{Prompt: withtest.Question, OnTextDelta: func(_, text string) error {
				written += text
				return nil
			}})
		} else {
			result, err = agent.Generate(t.Context(), fantasy.AgentCall{Prompt: withtest.Question})
		}
		if err != nil {
			t.Fatal(err)
		}
		if said := result.Response.Content.Text(); said != withtest.Answer || asked != withtest.City || len(result.Steps) != 2 {
			t.Errorf("%q in %d steps, asked for %q", said, len(result.Steps), asked)
		}
		for i, step := range result.Steps {
			want := []fantasy.FinishReason{fantasy.FinishReasonToolCalls, fantasy.FinishReasonStop}[i]
			if u := step.Usage; step.FinishReason != want || u.OutputTokens == 0 || u.InputTokens+u.CacheReadTokens+u.OutputTokens != u.TotalTokens {
				t.Errorf("step %d ended with %q and took %v", i, step.FinishReason, u)
			}
		}
	}
	if written != withtest.Answer {
		t.Errorf("streamed %q", written)
	}
}

// TestObjects fills a struct, whole and streamed.
func TestObjects(t *testing.T) {
	model := withfantasy.Model(withtest.Model(t, nil))
	call := fantasy.ObjectCall{Prompt: fantasy.Prompt{fantasy.NewUserMessage(withtest.About)}}
	got, err := object.Generate[withtest.Person](t.Context(), model, call)
	if err != nil || !reflect.DeepEqual(got.Object, withtest.Sam()) {
		t.Fatalf("%+v, %v", got, err)
	}
	stream, err := object.Stream[withtest.Person](t.Context(), model, call)
	if err != nil {
		t.Fatal(err)
	}
	var last withtest.Person
	partial := 0
	for p := range stream.PartialObjectStream() {
		last, partial = p, partial+1
	}
	if !reflect.DeepEqual(last, withtest.Sam()) || partial < 3 {
		t.Errorf("%+v after %d", last, partial)
	}
	call.MaxOutputTokens = new(int64(5))
	if _, err = object.Generate[withtest.Person](t.Context(), model, call); !fantasy.IsNoObjectGeneratedError(err) {
		t.Errorf("an object that is cut off: %v", err)
	}
	stream, err = object.Stream[withtest.Person](t.Context(), model, call)
	if err == nil {
		_, err = stream.Object()
	}
	if !fantasy.IsNoObjectGeneratedError(err) {
		t.Errorf("an object that is cut off, streamed: %v", err)
	}
}

// TestThoughts has thoughts apart from the answer, and in the next turn's history.
func TestThoughts(t *testing.T) {
	agent := fantasy.NewAgent(withfantasy.Model(withtest.Thinker(t)))
	thought, text := "", ""
	result, err := agent.Stream(t.Context(), fantasy.AgentStreamCall{Prompt: "?",
		OnReasoningDelta: func(_, s string) error { thought += s; return nil }, OnTextDelta: func(_, s string) error { text += s; return nil }})
	if err != nil || thought != withtest.Thought || text != withtest.Greeting || result.Response.Content.ReasoningText() != thought {
		t.Fatalf("%q, %q, %v", thought, text, err)
	}
	result, err = agent.Generate(t.Context(), fantasy.AgentCall{Prompt: "?", Messages: append([]fantasy.Message{fantasy.NewUserMessage("?")}, result.Steps[0].Messages...)})
	if err != nil || result.Response.Content.ReasoningText() != withtest.Thought || result.Response.Content.Text() != withtest.Greeting {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestRefusals has what no model here can do, and errors as fantasy's programs look for them.
func TestRefusals(t *testing.T) {
	model := withfantasy.Model(withtest.Model(t, nil))
	user := fantasy.NewUserMessage("Hello")
	for _, c := range []struct {
		want string
		call fantasy.Call
	}{
		{"fantasy.Call.Headers", fantasy.Call{Headers: map[string]string{"a": "b"}}},
		{"MaxOutputTokens is 0", fantasy.Call{MaxOutputTokens: new(int64(0))}},
		{"Temperature", fantasy.Call{Temperature: new(-1.0)}},
		{"fantasy.ProviderDefinedTool", fantasy.Call{Tools: []fantasy.Tool{fantasy.ProviderDefinedTool{ID: "x.search"}}}},
		{`"f" is to be called`, fantasy.Call{ToolChoice: new(fantasy.SpecificToolChoice("f"))}},
		{"video/mp4", fantasy.Call{Prompt: fantasy.Prompt{fantasy.NewUserMessage("?", fantasy.FilePart{MediaType: "video/mp4"})}}},
		{"in a tool's message", fantasy.Call{Prompt: fantasy.Prompt{{Role: fantasy.MessageRoleTool, Content: []fantasy.MessagePart{fantasy.TextPart{}}}}}},
	} {
		if c.call.Prompt == nil {
			c.call.Prompt = fantasy.Prompt{user}
		}
		if _, err := model.Generate(t.Context(), c.call); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	_, err := model.Generate(t.Context(), fantasy.Call{Prompt: fantasy.Prompt{fantasy.NewUserMessage(strings.Repeat("word ", 5000))}})
	var full *fantasy.ProviderError
	if !errors.As(err, &full) || !full.IsContextTooLarge() || full.ContextMaxTokens != 2048 || full.IsRetryable() || !errors.Is(err, llama.ErrContextFull) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stream, err := model.Stream(ctx, fantasy.Call{Prompt: fantasy.Prompt{user}})
	if err != nil {
		t.Fatal(err)
	}
	for part := range stream {
		if !errors.Is(part.Error, context.Canceled) {
			t.Errorf("%+v", part)
		}
	}
	if _, err := withfantasy.Provider().LanguageModel(t.Context(), "flint"); err == nil {
		t.Error("a provider without models has one")
	}
}

// TestOptions has the parameters that fantasy lacks, also as JSON.
func TestOptions(t *testing.T) {
	model := withfantasy.Model(withtest.Model(t, nil))
	seed := uint64(7)
	call := fantasy.Call{Prompt: fantasy.Prompt{fantasy.NewUserMessage("What is the capital of Japan?")},
		ProviderOptions: fantasy.ProviderOptions{withfantasy.Name: &withfantasy.Options{Seed: &seed, Stop: []string{" of"}}}}
	answer, err := model.Generate(t.Context(), call)
	if err != nil || answer.Content.Text() != "The capital" {
		t.Errorf("%+v, %v", answer, err)
	}
	text, err := json.Marshal(call.ProviderOptions)
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	back, err := fantasy.UnmarshalProviderOptions(raw)
	if err != nil || !reflect.DeepEqual(back, call.ProviderOptions) {
		t.Errorf("%s became %+v, %v", text, back, err)
	}
}
