package llama_test

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// A Trace counts what a model does: here its forward passes, and the rows of prompts and answers in them.
func ExampleTrace() {
	var passes, prompts, answers atomic.Int64
	model, err := pebble.Load(&llama.LoadOptions{Trace: &llama.Trace{Pass: func(p llama.PassInfo) {
		passes.Add(1)
		prompts.Add(int64(p.Prompts))
		answers.Add(int64(p.Answers))
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if _, err := llama.Collect(session.Chat(context.Background(), []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}, llama.Params{})); err != nil {
		log.Fatal(err)
	}
	fmt.Println(passes.Load(), "passes:", prompts.Load(), "tokens of the prompt,", answers.Load(), "of the answer")
	// Output: 8 passes: 20 tokens of the prompt, 7 of the answer
}
