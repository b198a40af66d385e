package llama_test

import (
	"context"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// A search embeds its texts as documents and its question as a query, with as many elements as it wants to store.
func ExampleModel_EmbedWith() {
	model, err := pebble.Load(nil) // in a program: a model that was trained for embeddings
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	ctx := context.Background()
	documents, err := model.EmbedWith(ctx, llama.EmbedOptions{Task: "document", Dimensions: 64}, "A dog says woof.", "Rome is the capital of Italy.")
	if err != nil {
		log.Fatal(err)
	}
	query, err := model.EmbedWith(ctx, llama.EmbedOptions{Task: "query", Dimensions: 64}, "What noise does a dog make?")
	if err != nil {
		log.Fatal(err)
	}
	for _, document := range documents {
		var likeness float32
		for i, x := range document {
			likeness += x * query[0][i]
		}
		fmt.Printf("%.2f\n", likeness)
	}
	// Output:
	// 0.68
	// 0.38
}

// A reranker sorts what a search has found. The example is not run, since no reranker is small enough to be embedded.
func ExampleModel_Rerank() {
	model, err := llama.Load("bge-reranker-v2-m3", nil) // a folder of Hugging Face's
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	documents := []string{"Pandas eat bamboo.", "Python is a language.", "The giant panda lives in China."}
	scores, err := model.Rerank(context.Background(), "Where do pandas live?", documents...)
	if err != nil {
		log.Fatal(err)
	}
	for i, score := range scores {
		fmt.Printf("%.2f %s\n", score, documents[i])
	}
}

// A model thinks for at most 200 tokens before it answers. The example is not run, since the embedded models do not think.
func ExampleThinking() {
	model, err := llama.Load("Qwen3-0.6B-Q8_0.gguf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	params := model.Sampling()
	params.Template.Thinking = llama.Thinking{Enabled: new(true), Budget: 200}
	for piece, err := range session.Chat(context.Background(), []llama.Message{{Role: llama.RoleUser, Content: "Is 91 a prime?"}}, params) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(piece.Thought, piece.Text) // the thought comes first
	}
}
