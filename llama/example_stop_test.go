package llama_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// An answer ends before a string of Params.Stop. To end it for another reason, break out of the loop: the session stays usable, and holds the
// tokens until then.
func ExampleParams_stop() {
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
	question := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of France?"}}
	answer, err := llama.Collect(session.Chat(context.Background(), question, llama.Params{Stop: []string{" of "}}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q %v\n", answer.Text, answer.Stop)
	words := 0
	for piece, err := range session.Chat(context.Background(), question, llama.Params{}) {
		if err != nil {
			fmt.Println(err)
		}
		fmt.Print(piece.Text)
		if words += strings.Count(piece.Text, " "); words >= 3 {
			break
		}
	}
	fmt.Println(" …")
	// Output:
	// "The capital" stop string
	// The capital of France …
}

// Who cancels the context ends an answer from outside of its loop, such as after a time or when a client has left. The last piece comes with
// an error that wraps the context's own, and still has the answer until then.
func ExampleSession_Chat_cancelled() {
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
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for piece, err := range session.Chat(ctx, []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of France?"}}, llama.Params{}) {
		if err != nil {
			fmt.Printf("%v; until then: %q\n", errors.Is(err, context.Canceled), piece.Message.Content)
			break
		}
		if strings.Contains(piece.Text, "is") {
			cancel() // in a program: on another goroutine
		}
	}
	// Output: true; until then: "The capital of France is"
}
