package llama_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/antigravity-go/antigravity/llama/pebble"
)

// Score says how likely a text is. Here it compares continuations of a text that is computed once.
func ExampleSession_Score() {
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
	ctx, tokenizer := context.Background(), model.Tokenizer()
	beginning := tokenizer.EncodeSpecial("Once upon a time there was a", true)
	if err := session.Prefill(ctx, beginning); err != nil {
		log.Fatal(err)
	}
	for _, words := range []string{" brave otter", " sleepy fox", " sleepy opposite"} {
		logprobs, err := session.Score(ctx, tokenizer.Encode(words))
		if err != nil {
			log.Fatal(err)
		}
		var sum float64
		for _, x := range logprobs {
			sum += float64(x)
		}
		fmt.Printf("%.2g%s\n", math.Exp(sum), words)
		if err := session.Truncate(len(beginning)); err != nil { // take the words back
			log.Fatal(err)
		}
	}
	// Output:
	// 0.018 brave otter
	// 0.017 sleepy fox
	// 2.6e-09 sleepy opposite
}

// Embed turns texts into vectors of unit length. The inner product of two vectors says how much alike the texts are.
func ExampleModel_Embed() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	texts := []string{"What noise does a dog make?", "What sound does a cow make?", "Thank you for your help."}
	vectors, err := model.Embed(context.Background(), texts...)
	if err != nil {
		log.Fatal(err)
	}
	for i, text := range texts[1:] {
		var likeness float32
		for j, x := range vectors[1+i] {
			likeness += x * vectors[0][j]
		}
		fmt.Printf("%.2f %s\n", likeness, text)
	}
	// Output:
	// 0.85 What sound does a cow make?
	// 0.63 Thank you for your help.
}
