package llama_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"sync"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// A conversation of several turns: Chat takes the whole history each time, and computes only what the cache does not hold yet.
func ExampleSession_Chat_severalTurns() {
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
	var history []llama.Message
	for _, text := range []string{"My favorite color is orange.", "I have a parrot called Comet.", "What is my favorite color?"} {
		history = append(history, llama.Message{Role: "user", Content: text})
		var answer strings.Builder
		var last llama.Piece
		for piece, err := range session.Chat(context.Background(), history, llama.Params{}) {
			if err != nil {
				log.Fatal(err)
			}
			answer.WriteString(piece.Text)
			last = piece
		}
		history = append(history, llama.Message{Role: "assistant", Content: answer.String()})
		fmt.Printf("%s (%d tokens, %d of them known)\n", answer.String(), last.Stats.PromptTokens, last.Stats.ReusedTokens)
	}
	// Output:
	// I will remember that your favorite color is orange. (19 tokens, 0 of them known)
	// Comet is a lovely name for a parrot. (49 tokens, 29 of them known)
	// Your favorite color is orange. (77 tokens, 58 of them known)
}

// A conversation that has outgrown its context goes on without its oldest turns. The model forgets these turns; the instructions stay.
func ExampleTokenizer_DropTurns() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(&llama.SessionOptions{Capacity: 112})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	const answer = 24 // tokens that an answer may take
	history := []llama.Message{{Role: llama.RoleSystem, Content: "You are a helpful assistant."}}
	for _, question := range []string{"My favorite color is orange.", "I have a parrot called Comet.", "My favorite color is green.", "What is my favorite color?"} {
		history = append(history, llama.Message{Role: llama.RoleUser, Content: question})
		history, err = model.Tokenizer().DropTurns(history, llama.TemplateOptions{}, session.Capacity()-answer)
		if err != nil {
			log.Fatal(err)
		}
		last, err := llama.Collect(session.Chat(context.Background(), history, llama.Params{MaxTokens: answer}))
		if err != nil {
			log.Fatal(err)
		}
		history = append(history, last.Message)
		fmt.Printf("%s (%d messages)\n", last.Text, len(history))
	}
	// Output:
	// I will remember that your favorite color is orange. (3 messages)
	// Comet is a lovely name for a parrot. (5 messages)
	// I will remember that your favorite color is green. (5 messages)
	// Your favorite color is green. (5 messages)
}

// A pool answers any number of goroutines. What conversations have in common, here the instructions, is computed once.
func ExampleModel_NewPool() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	pool, err := model.NewPool(&llama.PoolOptions{MaxSessions: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	ask := func(question string) string {
		history := []llama.Message{
			{Role: llama.RoleSystem, Content: "You are a helpful assistant."},
			{Role: llama.RoleUser, Content: question},
		}
		answer, err := llama.Collect(pool.Chat(context.Background(), history, llama.Params{}))
		if err != nil {
			log.Fatal(err)
		}
		return answer.Text
	}
	var group sync.WaitGroup
	answers := make([]string, 3)
	for i, country := range []string{"Japan", "France", "Italy"} {
		group.Go(func() { answers[i] = ask("What is the capital of " + country + "?") })
	}
	group.Wait()
	for _, answer := range answers {
		fmt.Println(answer)
	}
	stats := pool.Stats()
	fmt.Println(stats.InUse, stats.Idle, stats.ReusedTokens > 0)
	// Output:
	// The capital of Japan is Tokyo.
	// The capital of France is Paris.
	// The capital of Italy is Rome.
	// 0 3 true
}
