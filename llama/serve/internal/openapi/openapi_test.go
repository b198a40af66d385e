package openapi

import (
	"slices"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name, schema, document string
		wrong                  string // part of the error; "" if the document fits
	}{
		{name: "answer", schema: "CreateChatCompletionResponse", document: `{"id":"1","object":"chat.completion","created":1,"model":"m",
			"choices":[{"index":0,"message":{"role":"assistant","content":"a","refusal":null},"logprobs":null,"finish_reason":"stop"}]}`},
		{name: "answer without choices", schema: "CreateChatCompletionResponse",
			document: `{"id":"1","object":"chat.completion","created":1,"model":"m"}`, wrong: "choices"},
		{name: "an end that is none", schema: "CreateChatCompletionResponse", wrong: "/choices/0/finish_reason",
			document: `{"id":"1","object":"chat.completion","created":1,"model":"m",
			"choices":[{"index":0,"message":{"role":"assistant","content":"a","refusal":null},"logprobs":null,"finish_reason":"eos"}]}`},
		{name: "nullable with values", schema: "CreateChatCompletionStreamResponse", document: `{"id":"1","object":"chat.completion.chunk","created":1,
			"model":"m","choices":[{"index":0,"delta":{},"finish_reason":null}]}`},
		{name: "nullable reference", schema: "CreateChatCompletionStreamResponse",
			document: `{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":null}`},
		{name: "neither null nor usage", schema: "CreateChatCompletionStreamResponse",
			document: `{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{}}`, wrong: "prompt_tokens"},
		{name: "completion", schema: "CreateCompletionResponse", document: `{"id":"1","object":"text_completion","created":1,"model":"m",
			"choices":[{"index":0,"text":"a","logprobs":null,"finish_reason":"length"}]}`},
		{name: "embedding", schema: "CreateEmbeddingResponse", document: `{"object":"list","model":"m","data":[{"object":"embedding","index":0,
			"embedding":[0.5]}],"usage":{"prompt_tokens":1,"total_tokens":1}}`},
		{name: "models", schema: "ListModelsResponse",
			document: `{"object":"list","data":[{"id":"m","object":"model","created":1,"owned_by":"me","meta":{}}]}`},
		{name: "model of no date", schema: "Model", document: `{"id":"m","object":"model","owned_by":"me"}`, wrong: "created"},
		{name: "error", schema: "ErrorResponse", document: `{"error":{"message":"no","type":"invalid_request_error","param":"n","code":null}}`},
		{name: "error without its parameter", schema: "ErrorResponse",
			document: `{"error":{"message":"no","type":"invalid_request_error"}}`, wrong: "param"},
		{name: "event", schema: "ResponseStreamEvent", document: `{"type":"response.output_text.delta","delta":"a","item_id":"1",
			"output_index":0,"content_index":0,"sequence_number":1,"logprobs":[]}`},
		{name: "only the event that is meant is complained about", schema: "ResponseStreamEvent", document: `{"type":"response.output_text.delta",
			"delta":"a","item_id":"1","output_index":0,"content_index":0,"logprobs":[]}`, wrong: "missing property 'sequence_number'"},
		{name: "unknown event", schema: "ResponseStreamEvent", document: `{"type":"response.output_text.dlta"}`, wrong: "/type"},
		{name: "event of no type", schema: "ResponseStreamEvent", document: `{}`, wrong: "type"},
		{name: "a message that two branches describe", schema: "CreateResponse", document: `{"model":"m","input":[{"type":"message","role":"user",
			"content":[{"type":"input_text","text":"a"}]}]}`},
		{name: "filters in filters", schema: "CreateResponse", document: `{"model":"m","input":"a","tools":[{"type":"file_search",
			"vector_store_ids":["v"],"filters":{"type":"and","filters":[{"type":"or","filters":[]}]}}]}`},
		{name: "wrong filters in filters", schema: "CreateResponse", document: `{"model":"m","input":"a","tools":[{"type":"file_search",
			"vector_store_ids":["v"],"filters":{"type":"and","filters":[{"type":"xor","filters":[]}]}}]}`, wrong: "/tools/0"},
		{name: "not JSON", schema: "Model", document: `{`, wrong: "not JSON"},
		{name: "unknown schema", schema: "Modell", document: `{}`, wrong: "no published schema Modell"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := validate(c.schema, []byte(c.document))
			switch {
			case c.wrong == "" && err != nil:
				t.Error(err)
			case c.wrong != "" && err == nil:
				t.Errorf("the document fits; it must not, because of %s", c.wrong)
			case c.wrong != "" && !strings.Contains(err.Error(), c.wrong):
				t.Errorf("the error does not say %q: %v", c.wrong, err)
			case err != nil && strings.Count(err.Error(), "\n") > 20:
				t.Errorf("the error is too long to be read: %v", err)
			}
		})
	}
}

func TestParameters(t *testing.T) {
	for name, some := range map[string][]string{
		"CreateChatCompletionRequest": {"messages", "model", "seed", "stop", "stream_options", "temperature", "tools", "user"},
		"CreateCompletionRequest":     {"best_of", "echo", "prompt", "suffix"},
		"CreateResponse":              {"input", "model", "store", "text", "truncation"},
		"CreateEmbeddingRequest":      {"dimensions", "encoding_format", "input", "model", "user"},
	} {
		all := Parameters(name)
		for _, parameter := range some {
			if !slices.Contains(all, parameter) {
				t.Errorf("%s: %s is missing among %v", name, parameter, all)
			}
		}
		if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
			t.Errorf("%s: %v is not sorted, or repeats itself", name, all)
		}
	}
}

func TestParametersOfNothing(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an unknown schema has parameters")
		}
	}()
	Parameters("Nothing")
}
