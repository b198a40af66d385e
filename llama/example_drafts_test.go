package llama_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// Rank classifies: of several answers that a program has a use for, it says which the model finds likeliest.
func ExampleSession_Rank() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	prompt, err := model.Tokenizer().Template([]llama.Message{
		{Role: llama.RoleUser, Content: "Tell me the capital city of Mali."},
	}, llama.TemplateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	options := []string{"The capital of Mali is Paris.", "The capital of Mali is Bamako.", "The capital of Mali is Rome."}
	scores, err := session.Rank(context.Background(), prompt, options...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(options[slices.Index(scores, slices.Max(scores))])
	// Output: The capital of Mali is Bamako.
}

// With PromptLookup an answer that copies much of its prompt takes fewer steps than it has tokens; answer.Stats says how many were
// drafted and accepted. Collect gathers the answer.
func ExamplePromptLookup() {
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	answer, err := llama.Collect(session.Chat(context.Background(), []llama.Message{{
		Role: llama.RoleUser,
		Content: "Replace They with garden in this text:\n\nIt rained for ten days near the garden. Gus walked to the desert and came " +
			"back before dark. The ring was too heavy to carry. They ate bread by the harbor.",
	}}, llama.Params{Draft: llama.PromptLookup(llama.LookupOptions{})}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	// Output:
	// It rained for ten days near the garden. Gus walked to the desert and came back before dark. The ring was too heavy to carry. garden ate bread by the harbor.
}
