package constrain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/flint"
)

// A Go struct is filled from a text.
func ExampleJSONFor() {
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	type person struct {
		Name  string   `json:"name" jsonschema:"name of the person"`
		Age   int      `json:"age" jsonschema:"age in years"`
		Likes []string `json:"likes" jsonschema:"food the person likes"`
	}
	fits, err := constrain.JSONFor[person](model.Tokenizer())
	if err != nil {
		log.Fatal(err)
	}
	schema, err := constrain.Schema[person]() // for the model to read
	if err != nil {
		log.Fatal(err)
	}
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	answer, err := llama.Collect(session.Chat(context.Background(), []llama.Message{
		{Role: llama.RoleSystem, Content: "Answer in JSON of this schema:\n" + string(schema)},
		{Role: llama.RoleUser, Content: "Lena likes soup and rice, and is 41 years old."},
	}, llama.Params{Constraint: fits}))
	if err != nil {
		log.Fatal(err)
	}
	var p person
	if err := json.Unmarshal([]byte(answer.Text), &p); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", p)
	// Output:
	// {Name:Lena Age:41 Likes:[soup rice]}
}

// An answer is one of several.
func ExampleChoice() {
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	one, err := constrain.Choice(model.Tokenizer(), "The capital of Japan is Rome.", "The capital of Japan is Tokyo.", "I do not know.")
	if err != nil {
		log.Fatal(err)
	}
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	answer, err := llama.Collect(session.Chat(context.Background(), []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}, llama.Params{Constraint: one}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	// Output:
	// The capital of Japan is Tokyo.
}

// A model calls a function with arguments that fit.
func ExampleTools() {
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	type place struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	weather, err := constrain.Function[place]("get_weather", "Tells the weather in a city.")
	if err != nil {
		log.Fatal(err)
	}
	tools := []json.RawMessage{weather}
	calls, err := constrain.Tools(model.Tokenizer(), tools, constrain.ToolOptions{Choice: constrain.ToolRequired})
	if err != nil {
		log.Fatal(err)
	}
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	answer, err := llama.Collect(session.Chat(context.Background(), []llama.Message{
		{Role: llama.RoleUser, Content: "What is the weather in Oslo?"},
	}, llama.Params{Constraint: calls, Template: llama.TemplateOptions{Tools: tools}}))
	if err != nil {
		log.Fatal(err)
	}
	for _, call := range answer.Message.ToolCalls {
		fmt.Printf("%s(%s)\n", call.Name, call.Arguments)
	}
	// Output:
	// get_weather({"city": "Oslo"})
}

// A function on offer may be written as a server of the Model Context Protocol lists it, with its inputSchema.
func ExampleTools_mcp() {
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	// The answer of an MCP server to tools/list.
	const answered = `{"tools": [{
		"name": "get_weather", "title": "Weather", "description": "Tells the weather in a city.",
		"inputSchema": {"type": "object", "properties": {"city": {"type": "string", "description": "name of the city"}}, "required": ["city"]},
		"annotations": {"readOnlyHint": true}
	}]}`
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal([]byte(answered), &list); err != nil {
		log.Fatal(err)
	}
	calls, err := constrain.Tools(model.Tokenizer(), list.Tools, constrain.ToolOptions{Choice: constrain.ToolRequired})
	if err != nil {
		log.Fatal(err)
	}
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	answer, err := llama.Collect(session.Chat(context.Background(), []llama.Message{
		{Role: llama.RoleUser, Content: "What is the weather in Oslo?"},
	}, llama.Params{Constraint: calls, Template: llama.TemplateOptions{Tools: list.Tools}}))
	if err != nil {
		log.Fatal(err)
	}
	for _, call := range answer.Message.ToolCalls { // what goes into params of tools/call
		params, err := json.Marshal(map[string]any{"name": call.Name, "arguments": call.Arguments})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(params))
	}
	// Output:
	// {"arguments":{"city":"Oslo"},"name":"get_weather"}
}

// A keyword that cannot be guaranteed is named in an error, or left out if the options ask for that.
func ExampleJSONSchemaWith() {
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	schema := []byte(`{"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}}}`)
	_, err = constrain.JSONSchema(model.Tokenizer(), schema)
	fmt.Println(err)
	_, left, err := constrain.JSONSchemaWith(model.Tokenizer(), schema, constrain.SchemaOptions{Lossy: true})
	fmt.Println(len(left), left[0].Keyword, left[0].Path, err)
	// Output:
	// JSON schema: the keyword "uniqueItems" at "/properties/tags" cannot be promised: there are too many values that the elements may have: they must be among a few that are listed
	// 1 uniqueItems /properties/tags <nil>
}
