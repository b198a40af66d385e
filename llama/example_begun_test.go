package llama_test

import (
	"context"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// An answer goes on with a beginning that the program gives: here the first words, to lead it. The same continues an answer that MaxTokens has cut.
func ExampleTemplateOptions_begun() {
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
	history := []llama.Message{
		{Role: llama.RoleUser, Content: "What is the capital of Japan?"},
		{Role: llama.RoleAssistant, Content: "The capital"},
	}
	answer, err := llama.Collect(session.Chat(context.Background(), history, llama.Params{Template: llama.TemplateOptions{Continue: true}}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", answer.Text)
	history[1] = answer.Message // the whole answer, for the next turn
	fmt.Println(history[1].Content)
	// Output:
	// " of Japan is Tokyo."
	// The capital of Japan is Tokyo.
}
