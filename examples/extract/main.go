// Extract fills a Go struct from a text.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/flint"
)

// Person is what the text is searched for.
type Person struct {
	Name  string   `json:"name" jsonschema:"name of the person"`
	Age   int      `json:"age" jsonschema:"age in years"`
	City  string   `json:"city" jsonschema:"where the person lives"`
	Likes []string `json:"likes" jsonschema:"food the person likes"`
	Happy bool     `json:"happy" jsonschema:"whether the person is happy"`
}

func main() {
	text := flag.String("text", "Sam likes apples and salad, is happy, lives in Kyiv and is 18 years old.", "`text` about a person")
	flag.Usage = func() {
		fmt.Println("extract asks the embedded model to fill a Go struct from a text about a person, and prints the struct.")
		flag.CommandLine.SetOutput(os.Stdout)
		flag.PrintDefaults()
	}
	flag.Parse()
	model, err := flint.Load(nil) // or llama.Load("Llama-3.2-1B-Instruct", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	person, err := extract[Person](context.Background(), model, *text)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", *person)
}

// extract returns what a text says about a T.
func extract[T any](ctx context.Context, model *llama.Model, text string) (*T, error) {
	session, err := model.NewSession(nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	schema, err := constrain.Schema[T]() // for the model to read
	if err != nil {
		return nil, err
	}
	fits, err := constrain.JSONFor[T](model.Tokenizer()) // for the answer to keep
	if err != nil {
		return nil, err
	}
	piece, err := llama.Collect(session.Chat(ctx, []llama.Message{
		{Role: llama.RoleSystem, Content: "Answer in JSON of this schema:\n" + string(schema)},
		{Role: llama.RoleUser, Content: text},
	}, llama.Params{Constraint: fits}))
	if err != nil {
		return nil, err
	}
	value := new(T)
	return value, json.Unmarshal([]byte(piece.Text), value)
}
