package llama_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
)

// The model calls a function, and answers with what the function returned.
func ExampleSession_Chat_functions() {
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	params := llama.Params{Template: llama.TemplateOptions{Tools: []json.RawMessage{json.RawMessage(`{
		"type": "function",
		"function": {"name": "add", "description": "Adds two numbers.", "parameters": {
			"type": "object",
			"properties": {"a": {"type": "integer", "description": "first number"}, "b": {"type": "integer", "description": "second number"}},
			"required": ["a", "b"]
		}}
	}`)}}}
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is 4711 + 1234?"}}
	for {
		answer, err := llama.Collect(session.Chat(context.Background(), history, params))
		if err != nil {
			log.Fatal(err)
		}
		history = append(history, answer.Message)
		if answer.Stop != llama.ToolCalled {
			fmt.Println(answer.Text)
			break
		}
		for _, call := range answer.Message.ToolCalls {
			fmt.Println(call.Name, string(call.Arguments))
			var arguments struct{ A, B int }
			if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
				log.Fatal(err)
			}
			result := fmt.Sprintf(`{"result": %d}`, arguments.A+arguments.B)
			history = append(history, llama.Message{Role: llama.RoleTool, Content: result, ToolCallID: call.ID})
		}
	}
	// Output:
	// add {"a": 4711, "b": 1234}
	// 4711 plus 1234 is 5945.
}

// A message's JSON is that of OpenAI's chat completions.
func ExampleMessage_MarshalJSON() {
	message := llama.Message{Role: llama.RoleAssistant, ToolCalls: []llama.ToolCall{{ID: "x1", Name: "add", Arguments: json.RawMessage(`{"a": 1}`)}}}
	text, err := json.Marshal(message)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	// Output:
	// {"role":"assistant","content":null,"tool_calls":[{"id":"x1","type":"function","function":{"name":"add","arguments":"{\"a\": 1}"}}]}
}
