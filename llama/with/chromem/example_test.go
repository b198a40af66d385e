package chromem_test

import (
	"context"
	"fmt"
	"log"

	"github.com/philippgille/chromem-go"

	"github.com/antigravity-go/antigravity/llama/flint"
	withchromem "github.com/antigravity-go/antigravity/llama/with/chromem"
)

// A vector database in the process finds a note with vectors that a model in the process makes.
func Example() {
	ctx := context.Background()
	model, err := flint.Load(nil) // for searches that matter, a model made for vectors: llama.Load("bge-small-en-v1.5", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	notes, err := chromem.NewDB().CreateCollection("notes", nil, withchromem.Documents(model))
	if err != nil {
		log.Fatal(err)
	}
	err = notes.AddDocuments(ctx, []chromem.Document{
		{ID: "1", Content: "Sam lives in Kyiv."},
		{ID: "2", Content: "The capital of Japan is Tokyo."},
	}, 2)
	if err != nil {
		log.Fatal(err)
	}
	found, err := withchromem.Query(ctx, notes, model, "The capital of Japan", 1, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found[0].Content)
	// Output: The capital of Japan is Tokyo.
}
