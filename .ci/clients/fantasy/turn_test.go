// Package fantasy tries Charm's fantasy, which is what Crush talks to models with. It is a module of its own, in no workspace: fantasy
// requires an older openai-go than the other clients do. The servers are those of ../go/with, which the tests are run by.
package fantasy

import (
	"cmp"
	"context"
	"os"
	"slices"
	"testing"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"
	"charm.land/fantasy/providers/openai"
	"charm.land/fantasy/providers/openaicompat"
)

// What Flint is known to answer. See llama/flint/README.md.
const (
	question = "How warm is it in Nairobi?"
	result   = `{"sky":"sunny","temperature":17}`
	answer   = "It is 17 degrees and sunny in Nairobi."
)

// city are the arguments of the tool.
type city struct {
	City string `json:"city" description:"name of the city"`
}

// nothing are the arguments of a tool without parameters.
type nothing struct{}

// TestTurns has a tool called, and the answer said that follows from its result, on each interface: streamed, as Crush has it, and whole.
func TestTurns(t *testing.T) {
	base, key := os.Getenv("ANTIGRAVITY_URL"), os.Getenv("ANTIGRAVITY_KEY")
	if base == "" {
		t.Fatal("there is no server: run the tests by ../go/with, as ../run does")
	}
	providers := []struct {
		name string
		make func() (fantasy.Provider, error)
	}{
		{"openai-compat", func() (fantasy.Provider, error) {
			return openaicompat.New(openaicompat.WithBaseURL(base+"/v1"), openaicompat.WithAPIKey(key))
		}},
		{"chat", func() (fantasy.Provider, error) {
			return openai.New(openai.WithBaseURL(base+"/v1"), openai.WithAPIKey(key))
		}},
		{"responses", func() (fantasy.Provider, error) {
			return openai.New(openai.WithBaseURL(base+"/v1"), openai.WithAPIKey(key), openai.WithUseResponsesAPI(), openai.WithResponsesAPIFunc(func(string) bool { return true }))
		}},
		{"anthropic", func() (fantasy.Provider, error) {
			return anthropic.New(anthropic.WithBaseURL(base), anthropic.WithAPIKey(key))
		}},
	}
	for _, p := range providers {
		for _, streamed := range []bool{true, false} {
			for _, returned := range []string{result, ""} {
				t.Run(p.name, func(t *testing.T) {
					provider, err := p.make()
					if err != nil {
						t.Fatal(err)
					}
					model, err := provider.LanguageModel(t.Context(), "flint")
					if err != nil {
						t.Fatal(err)
					}
					turn(t, model, streamed, returned)
				})
			}
		}
	}
}

// turn asks a model a question, answers its call with what the tool is to return, and checks the conversation. Flint was not taught what
// to say after an empty result, so then only the end of the turn counts.
func turn(t *testing.T, model fantasy.LanguageModel, streamed bool, returned string) {
	t.Helper()
	var asked []string
	weather := fantasy.NewAgentTool("get_weather", "Tells the weather in a city.", func(_ context.Context, of city, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
		asked = append(asked, of.City)
		return fantasy.NewTextResponse(returned), nil
	})
	now := fantasy.NewAgentTool("now", "Tells the time.", func(context.Context, nothing, fantasy.ToolCall) (fantasy.ToolResponse, error) {
		asked = append(asked, "now")
		return fantasy.NewTextResponse(""), nil
	})
	agent := fantasy.NewAgent(model, fantasy.WithTools(weather, now), fantasy.WithTemperature(0), fantasy.WithMaxOutputTokens(100), fantasy.WithMaxRetries(0),
		fantasy.WithStopConditions(fantasy.StepCountIs(3)))
	var end *fantasy.AgentResult
	var err error
	written := ""
	if streamed {
		end, err = agent.Stream(t.Context(), fantasy.AgentStreamCall{Prompt: question, OnTextDelta: func(_, text string) error {
			written += text
			return nil
		}})
	} else {
		end, err = agent.Generate(t.Context(), fantasy.AgentCall{Prompt: question})
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) == 0 || asked[0] != "Nairobi" {
		t.Fatalf("the model asked for %q, want Nairobi", asked)
	}
	for i, step := range end.Steps {
		if len(step.Warnings) > 0 || step.Usage.InputTokens == 0 && step.Usage.CacheReadTokens == 0 || step.Usage.OutputTokens == 0 {
			t.Errorf("step %d has the warnings %v, and took %+v", i, step.Warnings, step.Usage)
		}
	}
	if returned == "" {
		return
	}
	if said := end.Response.Content.Text(); said != answer || streamed && written != cmp.Or(said, "nothing") {
		t.Errorf("the answer is %q, streamed as %q, want %q", said, written, answer)
	}
	if len(end.Steps) != 2 || !slices.Equal(asked, []string{"Nairobi"}) {
		t.Errorf("%d steps with the calls %q, want a call and an answer", len(end.Steps), asked)
	}
}
