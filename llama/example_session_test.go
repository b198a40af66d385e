package llama_test

import (
	"context"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// With a sliding window and sinks that are given new positions, a conversation goes on without end in the same memory: here past the
// 2048 tokens that the model was trained for.
func ExampleSessionOptions_slidingWindow() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	policy, err := eviction.NewSlidingWindow(124, 4)
	if err != nil {
		log.Fatal(err)
	}
	session, err := model.NewSession(&llama.SessionOptions{Eviction: policy, Positions: llama.ReanchorSinks})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	story := model.Tokenizer().EncodeSpecial("Once upon a time, a brave otter named Nina lived near the sea. ", true)
	for session.Position() <= model.Config().ContextLength {
		if err := session.Prefill(context.Background(), story); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(session.Position() > 2048, session.CacheLen() < 150)
	// Output: true true
}

// A fork goes on from the same place in another way; the first conversation is as it was.
func ExampleSession_Fork() {
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
	ask := func(s *llama.Session, question string) {
		for piece, err := range s.Chat(context.Background(), []llama.Message{{Role: "user", Content: question}}, llama.Params{}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Print(piece.Text)
		}
		fmt.Println()
	}
	ask(session, "What is the capital of Japan?")
	fork, err := session.Fork()
	if err != nil {
		log.Fatal(err)
	}
	defer fork.Close()
	ask(fork, "What is the capital of France?")
	fmt.Println(session.Position() == fork.Position(), session.CacheLen() == session.Position())
	ask(session, "What is the capital of Japan?")
	// Output:
	// The capital of Japan is Tokyo.
	// The capital of France is Paris.
	// true true
	// The capital of Japan is Tokyo.
}

// A session moves to another device in the middle of an answer. Here both are CPUs, so that the answer is the same to the bit.
func ExampleSession_Move() {
	oneCore, twoCores := cpu.New(1), cpu.New(2)
	defer oneCore.Close()
	defer twoCores.Close()
	one, err := pebble.Load(&llama.LoadOptions{Backend: oneCore})
	if err != nil {
		log.Fatal(err)
	}
	defer one.Close()
	two, err := pebble.Load(&llama.LoadOptions{Backend: twoCores})
	if err != nil {
		log.Fatal(err)
	}
	defer two.Close()
	session, err := one.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	history := []llama.Message{{Role: "user", Content: "What is the capital of Japan?"}}
	for piece, err := range session.Chat(context.Background(), history, llama.Params{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(piece.Text)
		if piece.Text == " capital" {
			if _, err := session.Move(context.Background(), two); err != nil {
				log.Fatal(err)
			}
			fmt.Print(" |")
		}
	}
	// Output: The capital | of Japan is Tokyo.
}
