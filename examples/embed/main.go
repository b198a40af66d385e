// Embed searches files for the passages that answer a question, by the vectors that a model makes of texts.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

func main() { cli.Main("embed", run) }

const about = `
embed searches files for the passages that answer a question, by the vectors that a model makes of texts.

  embed index docs -model hf:owner/an-embedding-model    makes docs/.embed.index, or renews it: only what has changed is computed
  embed search "How do I close a channel?" -in docs      prints the passages that fit best, with their lines and scores
  embed                                                  searches a few sentences with the embedded model, to see what it does

The index names its model, so that search needs none. Each command has -h.`

// weak says what the embedded models are worth here.
const weak = "note: the embedded models were trained to answer short questions, not to search. They tell sentences of one make from others, and find passages of\n" +
	"documents hardly better than chance. For a search that is of use name a model that was trained for it: -model, a folder or .gguf file of\n" +
	"MiniLM, bge, e5, nomic-embed, EmbeddingGemma or Qwen3-Embedding, or its name on the Hugging Face Hub\n"

// run finds the command.
func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "index":
			return runIndex(ctx, args[1:], stdout, stderr)
		case "search":
			return runSearch(ctx, args[1:], stdout, stderr)
		}
	}
	f := cli.NewFlags("embed", about)
	query := "What noise does a dog make?"
	var model cli.Model
	f.Group("Demonstration", func() { f.StringVar(&query, "query", query, "`text` to search sentences for") })
	model.Flags(f)
	if err := f.Parse(args, stdout); err != nil {
		return err
	}
	return demonstrate(ctx, &model, query, stdout, stderr)
}

// sentences are what the demonstration searches.
var sentences = []string{
	"What is the capital of Japan?", "What sound does a cow make?", "How do you say water in Spanish?", "Spell the word rabbit.",
	"Which day comes after Friday?", "Sort these numbers: 7, 3, 9.", "Tell me a story about a fox.", "Thank you for your help.",
}

// demonstrate writes all sentences, the one that is most like the query first.
func demonstrate(ctx context.Context, m *cli.Model, query string, stdout, stderr io.Writer) error {
	e, err := open(ctx, m, stderr)
	if err != nil {
		return err
	}
	defer e.close()
	vectors, err := e.embed(ctx, document, sentences)
	if err != nil {
		return err
	}
	wanted, err := e.embed(ctx, question, []string{query})
	if err != nil {
		return err
	}
	for _, hit := range nearest(vectors, wanted[0], len(vectors)) {
		fmt.Fprintf(stdout, "%5.2f  %s\n", hit.score, sentences[hit.at])
	}
	return nil
}
