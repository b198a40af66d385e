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

// ask returns Flint's answer to a message.
func ask(system, user string, params llama.Params) llama.Piece {
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	var history []llama.Message
	if system != "" {
		history = append(history, llama.Message{Role: llama.RoleSystem, Content: system})
	}
	piece, err := llama.Collect(session.Chat(context.Background(), append(history, llama.Message{Role: llama.RoleUser, Content: user}), params))
	if err != nil {
		log.Fatal(err)
	}
	return piece
}

// flintTokenizer returns Flint's vocabulary.
func flintTokenizer() *llama.Tokenizer {
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	return model.Tokenizer()
}

// A Go struct is filled from a text.
func ExampleJSONFor() {
	type person struct {
		Name  string   `json:"name" jsonschema:"name of the person"`
		Age   int      `json:"age" jsonschema:"age in years"`
		Likes []string `json:"likes" jsonschema:"food the person likes"`
	}
	fits, err := constrain.JSONFor[person](flintTokenizer())
	if err != nil {
		log.Fatal(err)
	}
	schema, err := constrain.Schema[person]() // for the model to read
	if err != nil {
		log.Fatal(err)
	}
	answer := ask("Answer in JSON of this schema:\n"+string(schema), "Lena likes soup and rice, and is 41 years old.", llama.Params{Constraint: fits})
	var p person
	if err := json.Unmarshal([]byte(answer.Text), &p); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", p)
	// Output:
	// {Name:Lena Age:41 Likes:[soup rice]}
}

// A food is one of a few: its type says so, whatever struct it stands in.
type food string

func (food) JSONSchema() []byte { return []byte(`{"enum": ["bread", "rice", "soup"]}`) }

// An age is a number within bounds.
type age int

func (age) JSONSchema() []byte { return []byte(`{"minimum": 0, "maximum": 120}`) }

// A type's method JSONSchema says more than the Go type can: which values exist, or their range.
func ExampleSchemer() {
	type person struct {
		Name  string `json:"name" jsonschema:"name of the person"`
		Age   age    `json:"age" jsonschema:"age in years"`
		Likes []food `json:"likes" jsonschema:"food the person likes"`
	}
	fits, err := constrain.JSONFor[person](flintTokenizer())
	if err != nil {
		log.Fatal(err)
	}
	schema, err := constrain.Schema[person]() // for the model to read
	if err != nil {
		log.Fatal(err)
	}
	answer := ask("Answer in JSON of this schema:\n"+string(schema), "Lena likes soup and rice, and is 41 years old.", llama.Params{Constraint: fits})
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
	one, err := constrain.Choice(flintTokenizer(), "The capital of Japan is Rome.", "The capital of Japan is Tokyo.", "I do not know.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ask("", "What is the capital of Japan?", llama.Params{Constraint: one}).Text)
	// Output:
	// The capital of Japan is Tokyo.
}

// A model calls a function with arguments that fit.
func ExampleTools() {
	type place struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	weather, err := constrain.Function[place]("get_weather", "Tells the weather in a city.")
	if err != nil {
		log.Fatal(err)
	}
	tools := []json.RawMessage{weather}
	calls, err := constrain.Tools(flintTokenizer(), tools, constrain.ToolOptions{Choice: constrain.ToolRequired})
	if err != nil {
		log.Fatal(err)
	}
	answer := ask("", "What is the weather in Oslo?", llama.Params{Constraint: calls, Template: llama.TemplateOptions{Tools: tools}})
	for _, call := range answer.Message.ToolCalls {
		fmt.Printf("%s(%s)\n", call.Name, call.Arguments)
	}
	// Output:
	// get_weather({"city": "Oslo"})
}

// A keyword that cannot be guaranteed is named in an error, or left out if the options ask for that.
func ExampleJSONSchemaWith() {
	schema := []byte(`{"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}}}`)
	_, err := constrain.JSONSchema(flintTokenizer(), schema)
	fmt.Println(err)
	_, left, err := constrain.JSONSchemaWith(flintTokenizer(), schema, constrain.SchemaOptions{Lossy: true})
	fmt.Println(len(left), left[0].Keyword, left[0].Path, err)
	// Output:
	// JSON schema: the keyword "uniqueItems" at "/properties/tags" cannot be promised: there are too many values that the elements may have: they must be among a few that are listed
	// 1 uniqueItems /properties/tags <nil>
}
