package clients

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"antigravity.test/clients/server"
	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/shared"
	"github.com/anthropics/anthropic-sdk-go/toolrunner"
)

// newAnthropic returns Anthropic's client of a server.
func newAnthropic(url string) *anthropic.Client {
	client := anthropic.NewClient(option.WithBaseURL(url), option.WithAPIKey(server.Key), option.WithMaxRetries(0))
	return &client
}

// message returns a request of the messages interface: to Flint, at temperature 0.
func message(question string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "flint", MaxTokens: 2000, Temperature: anthropic.Float(0),
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
	}
}

// formatOf returns the form of a schema.
func formatOf(schema map[string]any) anthropic.OutputConfigParam {
	return anthropic.OutputConfigParam{Format: anthropic.JSONOutputFormatParam{Schema: schema}}
}

var messageTools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
	Name: weatherTool, Description: anthropic.String(weatherDoes),
	InputSchema: anthropic.ToolInputSchemaParam{Properties: weatherProperties, Required: []string{"city"}},
}}}

// accumulate reads a stream to its end with the client's accumulator.
func accumulate(t *testing.T, request anthropic.MessageNewParams) (whole anthropic.Message, text string, pieces int) {
	t.Helper()
	stream := newAnthropic(servers.URL).Messages.NewStreaming(t.Context(), request)
	defer stream.Close()
	for stream.Next() {
		event := stream.Current()
		if err := whole.Accumulate(event); err != nil {
			t.Fatalf("the client cannot add an event to those before it: %v: %s", err, event.RawJSON())
		}
		if delta, ok := event.AsAny().(anthropic.ContentBlockDeltaEvent); ok && delta.Delta.Text != "" {
			text += delta.Delta.Text
			pieces++
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return whole, text, pieces
}

// promptTokens counts a prompt's tokens: Anthropic's interface counts those that were computed before apart.
func promptTokens(m anthropic.Message) int64 {
	return m.Usage.InputTokens + m.Usage.CacheReadInputTokens + m.Usage.CacheCreationInputTokens
}

func TestAnthropicMessage(t *testing.T) {
	request := message(capitalQuestion)
	request.System = []anthropic.TextBlockParam{{Text: "You are Flint."}}
	answer, err := newAnthropic(servers.URL).Messages.New(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "text", answer.Content[0].Text, capitalAnswer)
	equal(t, "stop_reason", answer.StopReason, anthropic.StopReasonEndTurn)
	equal(t, "model", answer.Model, "flint")
	if promptTokens(*answer) < 5 || answer.Usage.OutputTokens < 3 {
		t.Errorf("usage: %s", answer.Usage.RawJSON())
	}
}

func TestAnthropicStreamed(t *testing.T) {
	request := message(storyQuestion)
	whole, err := newAnthropic(servers.URL).Messages.New(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	added, text, pieces := accumulate(t, request)
	equal(t, "text of the deltas", text, whole.Content[0].Text)
	equal(t, "text of the message", added.Content[0].Text, whole.Content[0].Text)
	equal(t, "stop_reason", added.StopReason, whole.StopReason)
	equal(t, "tokens of the prompt", promptTokens(added), promptTokens(*whole))
	equal(t, "output_tokens", added.Usage.OutputTokens, whole.Usage.OutputTokens)
	if pieces < 10 || !strings.HasPrefix(text, storyBegins) || !strings.HasSuffix(text, storyEnds) {
		t.Errorf("%d pieces: %s", pieces, text)
	}
}

func TestAnthropicCallsOfFunctions(t *testing.T) {
	request := message(weatherQuestion)
	request.Tools = messageTools
	client := newAnthropic(servers.URL)
	first, err := client.Messages.New(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	streamed, _, _ := accumulate(t, request)
	for _, answer := range []*anthropic.Message{first, &streamed} {
		equal(t, "stop_reason", answer.StopReason, anthropic.StopReasonToolUse)
		if len(answer.Content) != 1 || answer.Content[0].Type != "tool_use" {
			t.Fatalf("content: %s", answer.RawJSON())
		}
		call := answer.Content[0].AsToolUse()
		checkCity(t, call.Name, string(call.Input))

		next := request
		next.Messages = append(append([]anthropic.MessageParam{}, request.Messages...), answer.ToParam(),
			anthropic.NewUserMessage(anthropic.NewToolResultBlock(call.ID, weatherResult, false)))
		second, err := client.Messages.New(t.Context(), next)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "answer", second.Content[0].Text, weatherAnswer)
	}
}

func TestAnthropicCallsFunctionsByItself(t *testing.T) {
	type place struct {
		City string `json:"city" jsonschema:"required,description=name of the city"`
	}
	var asked []string
	tool, err := toolrunner.NewBetaToolFromJSONSchema(weatherTool, weatherDoes,
		func(_ context.Context, p place) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			asked = append(asked, p.City)
			return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: weatherResult}}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	client := newAnthropic(servers.URL)
	runner := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{tool}, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "flint", MaxTokens: 200, Temperature: anthropic.Float(0),
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(weatherQuestion))},
		},
	})
	answer, err := runner.RunToCompletion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "answer", answer.Content[0].Text, weatherAnswer)
	equal(t, "cities", strings.Join(asked, " "), "Nairobi")
}

func TestAnthropicAnswersInAType(t *testing.T) {
	schema, system := personForm(t)
	request := message(personText)
	request.System, request.OutputConfig = []anthropic.TextBlockParam{{Text: system}}, formatOf(schema)
	answer, err := newAnthropic(servers.URL).Messages.New(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	checkPerson(t, answer.Content[0].Text)
}

func TestAnthropicCountsTokens(t *testing.T) {
	client := newAnthropic(servers.URL)
	request := message(capitalQuestion)
	count, err := client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: "flint", Messages: request.Messages})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Messages.New(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "input_tokens", count.InputTokens, promptTokens(*answer))
}

// checkAnthropicError checks an error of Anthropic's client.
func checkAnthropicError(t *testing.T, err error, status int, kind shared.ErrorType, about string) {
	t.Helper()
	e, ok := errors.AsType[*anthropic.Error](err)
	if !ok {
		t.Errorf("not an error of the API: %v", err)
		return
	}
	equal(t, "status", e.StatusCode, status)
	equal(t, "type", e.Type(), kind)
	if !strings.Contains(e.RawJSON(), about) {
		t.Errorf("the error does not name %q: %s", about, e.RawJSON())
	}
}

func TestAnthropicErrors(t *testing.T) {
	client := newAnthropic(servers.URL)
	for _, c := range []struct {
		name   string
		change func(*anthropic.MessageNewParams)
		status int
		kind   shared.ErrorType
		about  string
	}{
		{"a value out of range", func(p *anthropic.MessageNewParams) { p.Temperature = anthropic.Float(5) }, 400,
			"invalid_request_error", "temperature"},
		{"an unknown parameter", func(p *anthropic.MessageNewParams) { p.SetExtraFields(map[string]any{"frobnicate": 1}) }, 400,
			"invalid_request_error", "frobnicate"},
		{"a prompt that is too long", func(p *anthropic.MessageNewParams) { p.Messages = message(tooLong).Messages }, 400,
			"invalid_request_error", "tokens"},
		{"an unknown model", func(p *anthropic.MessageNewParams) { p.Model = "granite" }, 404, "not_found_error", "granite"},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := message(capitalQuestion)
			c.change(&request)
			_, err := client.Messages.New(t.Context(), request)
			checkAnthropicError(t, err, c.status, c.kind, c.about)
			stream := client.Messages.NewStreaming(t.Context(), request)
			defer stream.Close()
			if stream.Next() {
				t.Error("the stream begins")
			}
			checkAnthropicError(t, stream.Err(), c.status, c.kind, c.about)
		})
	}
	_, err := client.Messages.New(t.Context(), message(capitalQuestion), option.WithAPIKey("guessed"))
	checkAnthropicError(t, err, http.StatusUnauthorized, "authentication_error", "key")
}

// beginMessage starts a long answer at the small server.
func beginMessage(t *testing.T) func(context.Context) func() {
	return func(ctx context.Context) func() {
		request := message("Count.")
		request.OutputConfig = formatOf(longSchema)
		stream := newAnthropic(servers.Small).Messages.NewStreaming(ctx, request)
		for stream.Next() && stream.Current().Type != "content_block_delta" {
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		return func() {
			for stream.Next() {
			}
			stream.Close()
		}
	}
}

// askMessage asks something short, and returns whether there was too much to do.
func askMessage(t *testing.T) (refused bool) {
	answer, err := newAnthropic(servers.Small).Messages.New(t.Context(), message(capitalQuestion))
	if e, ok := errors.AsType[*anthropic.Error](err); ok && e.StatusCode == http.StatusTooManyRequests {
		equal(t, "type", e.Type(), "rate_limit_error")
		if n, err := strconv.Atoi(e.Response.Header.Get("Retry-After")); err != nil || n < 1 {
			t.Errorf("Retry-After: %q", e.Response.Header.Get("Retry-After"))
		}
		return true
	}
	if err != nil {
		t.Error(err)
		return false
	}
	equal(t, "text", answer.Content[0].Text, capitalAnswer)
	return false
}

func TestAnthropicClientThatLeaves(t *testing.T) {
	leaves(t, beginMessage(t), func() {
		if askMessage(t) {
			t.Error("refused")
		}
	})
}

func TestAnthropicTooManyAtOnce(t *testing.T) {
	crowd(t, beginMessage(t), func() bool { return askMessage(t) })
}
