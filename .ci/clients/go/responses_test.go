package clients

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

// ask returns a request of the Responses interface: to Flint, at temperature 0. Nothing is kept on the server: clients say so.
func ask(input ...responses.ResponseInputItemUnionParam) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "flint", Temperature: openai.Float(0), Store: openai.Bool(false),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input},
	}
}

// says returns a user's message.
func says(text string) responses.ResponseInputItemUnionParam {
	return responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)
}

// textOf returns the form of a schema.
func textOf(schema map[string]any) responses.ResponseTextConfigParam {
	return responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigUnionParam{
		OfJSONSchema: &responses.ResponseFormatTextJSONSchemaConfigParam{Name: "form", Schema: schema, Strict: openai.Bool(true)},
	}}
}

var responseTools = []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
	Name: weatherTool, Description: openai.String(weatherDoes), Parameters: weatherSchema, Strict: openai.Bool(false),
}}}

func TestResponses(t *testing.T) {
	request := ask(says(capitalQuestion))
	request.Instructions = openai.String("You are Flint.")
	response, err := newOpenAI(servers.URL).Responses.New(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "text", response.OutputText(), capitalAnswer)
	equal(t, "status", response.Status, responses.ResponseStatusCompleted)
	if u := response.Usage; u.InputTokens < 5 || u.OutputTokens < 3 || u.TotalTokens != u.InputTokens+u.OutputTokens {
		t.Errorf("usage: %+v", u)
	}
}

// collect reads a stream of events to its end with the client's accumulator, and returns the response that the last event has, and the
// deltas of its text and of its calls' arguments.
func collect(t *testing.T, request responses.ResponseNewParams) (response *responses.Response, text, arguments string) {
	t.Helper()
	stream := newOpenAI(servers.URL).Responses.NewStreaming(t.Context(), request)
	defer stream.Close()
	next := int64(0)
	for stream.Next() {
		event := stream.Current()
		equal(t, "sequence_number", event.SequenceNumber, next)
		next++
		switch event := event.AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += event.Delta
		case responses.ResponseFunctionCallArgumentsDeltaEvent:
			arguments += event.Delta
		case responses.ResponseTextDoneEvent:
			equal(t, "text of the done event", event.Text, text)
		case responses.ResponseCompletedEvent:
			response = &event.Response
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if response == nil {
		t.Fatal("the stream has no event of the type response.completed")
	}
	return response, text, arguments
}

func TestResponsesStreamed(t *testing.T) {
	request := ask(says(storyQuestion))
	whole, err := newOpenAI(servers.URL).Responses.New(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	response, text, _ := collect(t, request)
	equal(t, "deltas", text, whole.OutputText())
	equal(t, "text", response.OutputText(), whole.OutputText())
	equal(t, "output_tokens", response.Usage.OutputTokens, whole.Usage.OutputTokens)
	if !strings.HasPrefix(text, storyBegins) || !strings.HasSuffix(text, storyEnds) {
		t.Error(text)
	}
}

func TestResponsesCallsOfFunctions(t *testing.T) {
	request := ask(says(weatherQuestion))
	request.Tools = responseTools
	client := newOpenAI(servers.URL)
	first, err := client.Responses.New(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Output) != 1 || first.Output[0].Type != "function_call" {
		t.Fatalf("output: %s", first.RawJSON())
	}
	call := first.Output[0].AsFunctionCall()
	checkCity(t, call.Name, call.Arguments)
	streamed, _, arguments := collect(t, request)
	equal(t, "streamed arguments", arguments, call.Arguments)
	equal(t, "arguments at the end of the stream", streamed.Output[0].AsFunctionCall().Arguments, call.Arguments)

	result := responses.ResponseInputItemParamOfFunctionCallOutput(weatherResult)
	result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
	asParam := call.ToParam()
	second, err := client.Responses.New(t.Context(), func() responses.ResponseNewParams {
		next := ask(says(weatherQuestion), responses.ResponseInputItemUnionParam{OfFunctionCall: &asParam}, result)
		next.Tools = responseTools
		return next
	}())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "answer", second.OutputText(), weatherAnswer)
}

func TestResponsesInAType(t *testing.T) {
	schema, system := personForm(t)
	request := ask(says(personText))
	request.Instructions, request.Text = openai.String(system), textOf(schema)
	response, err := newOpenAI(servers.URL).Responses.New(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	checkPerson(t, response.OutputText())
}

func TestResponsesErrors(t *testing.T) {
	client := newOpenAI(servers.URL)
	for _, c := range []struct {
		name   string
		change func(*responses.ResponseNewParams)
		status int
		about  string
	}{
		{"a value out of range", func(p *responses.ResponseNewParams) { p.Temperature = openai.Float(5) }, 400, "temperature"},
		{"an unknown parameter", func(p *responses.ResponseNewParams) { p.SetExtraFields(map[string]any{"frobnicate": 1}) }, 400, "frobnicate"},
		{"an answer that nobody kept", func(p *responses.ResponseNewParams) { p.PreviousResponseID = openai.String("resp_1") }, 400,
			"previous_response_id"},
		{"an unknown model", func(p *responses.ResponseNewParams) { p.Model = "granite" }, 404, "model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := ask(says(capitalQuestion))
			c.change(&request)
			_, err := client.Responses.New(t.Context(), request)
			checkOpenAIError(t, err, c.status, c.about, "")
			stream := client.Responses.NewStreaming(t.Context(), request)
			defer stream.Close()
			if stream.Next() {
				t.Error("the stream begins")
			}
			checkOpenAIError(t, stream.Err(), c.status, c.about, "")
		})
	}
}

func TestResponsesClientThatLeaves(t *testing.T) {
	client := newOpenAI(servers.Small)
	leaves(t, func(ctx context.Context) func() {
		request := ask(says("Count."))
		request.Text = textOf(longSchema)
		stream := client.Responses.NewStreaming(ctx, request)
		for stream.Next() && stream.Current().Type != "response.output_text.delta" {
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		return func() {
			for stream.Next() {
			}
			if err := stream.Err(); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			stream.Close()
		}
	}, func() {
		response, err := client.Responses.New(t.Context(), ask(says(capitalQuestion)))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "text", response.OutputText(), capitalAnswer)
	})
}

func TestResponsesThatNobodyKept(t *testing.T) {
	_, err := newOpenAI(servers.URL).Responses.Get(t.Context(), "resp_1", responses.ResponseGetParams{})
	checkOpenAIError(t, err, http.StatusNotFound, "", "")
}
