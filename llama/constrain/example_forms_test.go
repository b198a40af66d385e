package constrain_test

import (
	"context"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// An answer has the form of a regular expression.
func ExampleRegexp() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	sentence, err := constrain.Regexp(model.Tokenizer(), `The capital of [A-Z][a-z]+ is [A-Z][a-z]+\.`)
	if err != nil {
		log.Fatal(err)
	}
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	answer, err := llama.Collect(session.Chat(context.Background(), history, llama.Params{Constraint: sentence}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	// Output: The capital of Japan is Tokyo.
}

// An answer follows a grammar, in llama.cpp's GBNF.
func ExampleGrammar() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	form, err := constrain.Grammar(model.Tokenizer(), `
		root ::= "Capital: " name "."
		name ::= [A-Z] [a-z]+`)
	if err != nil {
		log.Fatal(err)
	}
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of France?"}}
	answer, err := llama.Collect(session.Chat(context.Background(), history, llama.Params{Constraint: form}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	// Output: Capital: Paris.
}
