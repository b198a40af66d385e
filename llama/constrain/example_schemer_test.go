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

// A food is one of a few: its type says so, whatever struct it stands in.
type food string

func (food) JSONSchema() []byte { return []byte(`{"enum": ["bread", "rice", "soup"]}`) }

// An age is a number within bounds.
type age int

func (age) JSONSchema() []byte { return []byte(`{"minimum": 0, "maximum": 120}`) }

// A type's method JSONSchema says more than the Go type can: which values exist, or their range.
func ExampleSchemer() {
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	type person struct {
		Name  string `json:"name" jsonschema:"name of the person"`
		Age   age    `json:"age" jsonschema:"age in years"`
		Likes []food `json:"likes" jsonschema:"food the person likes"`
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
