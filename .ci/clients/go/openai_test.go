package clients

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"antigravity.test/clients/server"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
)

// newOpenAI returns OpenAI's client of a server.
func newOpenAI(url string) *openai.Client {
	client := openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey(server.Key), option.WithMaxRetries(0))
	return &client
}

// chat returns a request of the chat interface: to Flint, at temperature 0.
func chat(question string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "flint", Temperature: openai.Float(0), Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
	}
}

// jsonOf returns the form of a schema.
func jsonOf(schema map[string]any) openai.ChatCompletionNewParamsResponseFormatUnion {
	return openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "form", Schema: schema, Strict: openai.Bool(true)},
	}}
}

var chatTools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
	Name: weatherTool, Description: openai.String(weatherDoes), Parameters: weatherSchema,
})}

func TestOpenAIChat(t *testing.T) {
	answer, err := newOpenAI(servers.URL).Chat.Completions.New(t.Context(), chat(capitalQuestion))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "content", answer.Choices[0].Message.Content, capitalAnswer)
	equal(t, "finish_reason", answer.Choices[0].FinishReason, "stop")
	equal(t, "model", answer.Model, "flint")
	if u := answer.Usage; u.PromptTokens < 5 || u.CompletionTokens < 3 || u.TotalTokens != u.PromptTokens+u.CompletionTokens {
		t.Errorf("usage: %+v", u)
	}
}

func TestOpenAIChatStreamed(t *testing.T) {
	client := newOpenAI(servers.URL)
	whole, err := client.Chat.Completions.New(t.Context(), chat(storyQuestion))
	if err != nil {
		t.Fatal(err)
	}
	request := chat(storyQuestion)
	request.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), request)
	defer stream.Close()
	var added openai.ChatCompletionAccumulator
	var text strings.Builder
	pieces, finished := 0, false
	for stream.Next() {
		chunk := stream.Current()
		if !added.AddChunk(chunk) {
			t.Fatalf("the client cannot add this chunk to those before it: %s", chunk.RawJSON())
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			pieces++
			text.WriteString(chunk.Choices[0].Delta.Content)
		}
		if content, ok := added.JustFinishedContent(); ok {
			finished = true
			equal(t, "finished content", content, text.String())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	equal(t, "deltas", text.String(), whole.Choices[0].Message.Content)
	if text := text.String(); !strings.HasPrefix(text, storyBegins) || !strings.HasSuffix(text, storyEnds) {
		t.Error(text)
	}
	if pieces < 10 || !finished {
		t.Errorf("%d pieces, finished %v", pieces, finished)
	}
	equal(t, "completion_tokens", added.Usage.CompletionTokens, whole.Usage.CompletionTokens)
	equal(t, "total_tokens", added.Usage.TotalTokens, whole.Usage.TotalTokens)
	equal(t, "finish_reason", added.Choices[0].FinishReason, "stop")
}

func TestOpenAISeeds(t *testing.T) {
	client := newOpenAI(servers.URL)
	ask := func(seed int64) string {
		request := chat(storyQuestion)
		request.Temperature, request.Seed = openai.Float(1.5), openai.Int(seed)
		answer, err := client.Chat.Completions.New(t.Context(), request)
		if err != nil {
			t.Error(err)
			return ""
		}
		return answer.Choices[0].Message.Content
	}
	alone := ask(7)
	together := make([]string, 5)
	var all sync.WaitGroup
	for i := range together {
		all.Go(func() { together[i] = ask(5 + int64(i)) })
	}
	all.Wait()
	equal(t, "the answer of seed 7 in company", together[2], alone)
	if together[1] == alone || alone == "" {
		t.Errorf("seeds 6 and 7 have the same answer: %q", alone)
	}
}

func TestOpenAICallsOfFunctions(t *testing.T) {
	client := newOpenAI(servers.URL)
	for _, streamed := range []bool{false, true} {
		t.Run("streamed="+strconv.FormatBool(streamed), func(t *testing.T) {
			request := chat(weatherQuestion)
			request.Tools = chatTools
			ask := func() openai.ChatCompletionChoice {
				if !streamed {
					answer, err := client.Chat.Completions.New(t.Context(), request)
					if err != nil {
						t.Fatal(err)
					}
					return answer.Choices[0]
				}
				stream := client.Chat.Completions.NewStreaming(t.Context(), request)
				defer stream.Close()
				var added openai.ChatCompletionAccumulator
				for stream.Next() {
					if chunk := stream.Current(); !added.AddChunk(chunk) {
						t.Fatalf("the client cannot add this chunk to those before it: %s", chunk.RawJSON())
					}
					if call, ok := added.JustFinishedToolCall(); ok {
						checkCity(t, call.Name, call.Arguments)
					}
				}
				if err := stream.Err(); err != nil {
					t.Fatal(err)
				}
				return added.Choices[0]
			}
			first := ask()
			equal(t, "finish_reason", first.FinishReason, "tool_calls")
			if len(first.Message.ToolCalls) != 1 {
				t.Fatalf("calls: %+v", first.Message.ToolCalls)
			}
			call := first.Message.ToolCalls[0]
			checkCity(t, call.Function.Name, call.Function.Arguments)
			request.Messages = append(request.Messages, first.Message.ToParam(), openai.ToolMessage(weatherResult, call.ID))
			equal(t, "answer", ask().Message.Content, weatherAnswer)
		})
	}
}

func TestOpenAIAnswersInAType(t *testing.T) {
	schema, system := personForm(t)
	request := chat(personText)
	request.Messages = append([]openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system)}, request.Messages...)
	request.ResponseFormat = jsonOf(schema)
	answer, err := newOpenAI(servers.URL).Chat.Completions.New(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	checkPerson(t, answer.Choices[0].Message.Content)
}

func TestOpenAICompletions(t *testing.T) {
	client := newOpenAI(servers.URL)
	request := openai.CompletionNewParams{
		Model: "flint", Temperature: openai.Float(0), Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String(completionPrompt)},
	}
	answer, err := client.Completions.New(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "text", answer.Choices[0].Text, completionAnswer)
	stream := client.Completions.NewStreaming(t.Context(), request)
	defer stream.Close()
	text := ""
	for stream.Next() {
		for _, choice := range stream.Current().Choices {
			text += choice.Text
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	equal(t, "streamed", text, completionAnswer)
}

func TestOpenAIEmbeddings(t *testing.T) {
	client := newOpenAI(servers.URL)
	request := openai.EmbeddingNewParams{
		Model: "flint", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"The harbor was quiet.", "What is 31 + 54?"}},
	}
	var answers [2]*openai.CreateEmbeddingResponse
	for i, format := range []openai.EmbeddingNewParamsEncodingFormat{"float", "base64"} {
		request.EncodingFormat = format
		answer, err := client.Embeddings.New(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		answers[i] = answer
		if len(answer.Data) != 2 || len(answer.Data[0].Embedding) != 256 {
			t.Fatalf("%s: %d embeddings, of %d numbers", format, len(answer.Data), len(answer.Data[0].Embedding))
		}
	}
	for i := range answers[0].Data {
		sum := 0.0
		for k, x := range answers[0].Data[i].Embedding {
			if float32(x) != float32(answers[1].Data[i].Embedding[k]) {
				t.Fatalf("embedding %d, number %d: %v as a number, %v in base64", i, k, x, answers[1].Data[i].Embedding[k])
			}
			sum += x * x
		}
		if math.Abs(sum-1) > 1e-4 {
			t.Errorf("embedding %d has the length %v", i, math.Sqrt(sum))
		}
	}
}

func TestOpenAIModels(t *testing.T) {
	client := newOpenAI(servers.URL)
	var names []string
	pages := client.Models.ListAutoPaging(t.Context())
	for pages.Next() {
		names = append(names, pages.Current().ID)
	}
	if err := pages.Err(); err != nil {
		t.Fatal(err)
	}
	equal(t, "models", strings.Join(names, " "), "flint pebble")
	model, err := client.Models.Get(t.Context(), "pebble")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "model", model.ID, "pebble")
	_, err = client.Models.Get(t.Context(), "granite")
	checkOpenAIError(t, err, http.StatusNotFound, "model", "model_not_found")
}

// checkOpenAIError checks an error of OpenAI's client; about and code may be "".
func checkOpenAIError(t *testing.T, err error, status int, about, code string) {
	t.Helper()
	e, ok := errors.AsType[*openai.Error](err)
	if !ok {
		t.Errorf("not an error of the API: %v", err)
		return
	}
	equal(t, "status", e.StatusCode, status)
	if about != "" {
		equal(t, "param", e.Param, about)
	}
	if code != "" {
		equal(t, "code", e.Code, code)
	}
	if len(e.Message) < 20 || e.Type == "" {
		t.Errorf("message %q, type %q", e.Message, e.Type)
	}
}

func TestOpenAIErrors(t *testing.T) {
	client := newOpenAI(servers.URL)
	for _, c := range []struct {
		name   string
		change func(*openai.ChatCompletionNewParams)
		status int
		about  string
		code   string
	}{
		{"a value out of range", func(p *openai.ChatCompletionNewParams) { p.Temperature = openai.Float(5) }, 400, "temperature", ""},
		{"a value of another type", func(p *openai.ChatCompletionNewParams) { p.SetExtraFields(map[string]any{"top_p": "all"}) }, 400,
			"top_p", ""},
		{"an unknown parameter", func(p *openai.ChatCompletionNewParams) { p.SetExtraFields(map[string]any{"frobnicate": 1}) }, 400,
			"frobnicate", ""},
		{"an unknown model", func(p *openai.ChatCompletionNewParams) { p.Model = "granite" }, 404, "model", "model_not_found"},
		{"a prompt that is too long", func(p *openai.ChatCompletionNewParams) { p.Messages[0] = openai.UserMessage(tooLong) }, 400,
			"messages", "context_length_exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := chat(capitalQuestion)
			c.change(&request)
			_, err := client.Chat.Completions.New(t.Context(), request)
			checkOpenAIError(t, err, c.status, c.about, c.code)
			stream := client.Chat.Completions.NewStreaming(t.Context(), request)
			defer stream.Close()
			if stream.Next() {
				t.Error("the stream begins")
			}
			checkOpenAIError(t, stream.Err(), c.status, c.about, c.code)
		})
	}
	_, err := client.Chat.Completions.New(t.Context(), chat(capitalQuestion), option.WithAPIKey("guessed"))
	checkOpenAIError(t, err, http.StatusUnauthorized, "", "")
}

// beginChat starts a long answer at the small server.
func beginChat(t *testing.T) func(context.Context) func() {
	return func(ctx context.Context) func() {
		request := chat("Count.")
		request.ResponseFormat = jsonOf(longSchema)
		stream := newOpenAI(servers.Small).Chat.Completions.NewStreaming(ctx, request)
		if !stream.Next() {
			t.Fatal(stream.Err())
		}
		return func() {
			for stream.Next() {
			}
			stream.Close()
		}
	}
}

// askChat asks something short, and returns whether there was too much to do.
func askChat(t *testing.T) (refused bool) {
	answer, err := newOpenAI(servers.Small).Chat.Completions.New(t.Context(), chat(capitalQuestion))
	if e, ok := errors.AsType[*openai.Error](err); ok && e.StatusCode == http.StatusTooManyRequests {
		if n, err := strconv.Atoi(e.Response.Header.Get("Retry-After")); err != nil || n < 1 {
			t.Errorf("Retry-After: %q", e.Response.Header.Get("Retry-After"))
		}
		return true
	}
	if err != nil {
		t.Error(err)
		return false
	}
	equal(t, "content", answer.Choices[0].Message.Content, capitalAnswer)
	return false
}

func TestOpenAIClientThatLeaves(t *testing.T) {
	leaves(t, beginChat(t), func() {
		if askChat(t) {
			t.Error("refused")
		}
	})
}

func TestOpenAITooManyAtOnce(t *testing.T) {
	crowd(t, beginChat(t), func() bool { return askChat(t) })
}

// TestOpenAISendsWhatItIsTold checks that the client's own way of leaving a value out, or of saying null, is understood.
func TestOpenAISendsWhatItIsTold(t *testing.T) {
	request := chat(capitalQuestion)
	request.FrequencyPenalty = param.Null[float64]()
	request.LogitBias = map[string]int64{}
	request.Metadata = shared.Metadata{"a": "b"}
	request.User = openai.String("somebody")
	request.Store = openai.Bool(false)
	answer, err := newOpenAI(servers.URL).Chat.Completions.New(t.Context(), request)
	if err != nil {
		text, _ := json.Marshal(request)
		t.Fatalf("%v: %s", err, text)
	}
	equal(t, "content", answer.Choices[0].Message.Content, capitalAnswer)
}
