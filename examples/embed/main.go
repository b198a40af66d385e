// Embed searches sentences for those that are most like a query, by the vectors that a model makes of them.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"

	"github.com/antigravity-go/antigravity/llama/pebble"
)

func main() {
	query := flag.String("query", "What noise does a dog make?", "`text` to search for")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := search(ctx, *query, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// search writes all sentences, the one that is most like the query first.
func search(ctx context.Context, query string, w io.Writer) error {
	model, err := pebble.Load(nil) // larger models tell more apart: llama.Load("model.gguf", nil)
	if err != nil {
		return err
	}
	defer model.Close()
	sentences := []string{
		"What is the capital of Japan?", "What sound does a cow make?", "How do you say water in Spanish?", "Spell the word rabbit.",
		"Which day comes after Friday?", "Sort these numbers: 7, 3, 9.", "Tell me a story about a fox.", "Thank you for your help.",
	}
	vectors, err := model.Embed(ctx, append(sentences, query)...)
	if err != nil {
		return err
	}
	wanted := vectors[len(sentences)]
	likeness := map[string]float32{} // the cosine of the angle between two vectors, whose lengths are 1
	for i, sentence := range sentences {
		for j, x := range vectors[i] {
			likeness[sentence] += wanted[j] * x
		}
	}
	slices.SortFunc(sentences, func(a, b string) int { return cmp.Compare(likeness[b], likeness[a]) })
	for _, sentence := range sentences {
		fmt.Fprintf(w, "%5.2f  %s\n", likeness[sentence], sentence)
	}
	return nil
}
