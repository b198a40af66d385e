package llama_test

import (
	"context"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// LogitBias changes how likely tokens are: here the story's otter is anything but brave. A function that looks at what came before is a
// LogitMask.
func ExampleParams_logitBias() {
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
	prompt := model.Tokenizer().EncodeSpecial("Once upon a time", true)
	bias := map[llama.Token]float32{}
	for _, token := range model.Tokenizer().Encode(" brave") {
		bias[token] = -100
	}
	answer, err := llama.Collect(session.Generate(context.Background(), prompt, llama.Params{MaxTokens: 8, LogitBias: bias}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	// Output: a shy otter named Nina lived near the
}

// Logprobs asks how likely each token of an answer was, and what the alternatives were.
func ExampleParams_logprobs() {
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
	prompt := model.Tokenizer().EncodeSpecial("Once upon a time", true)
	answer, err := llama.Collect(session.Generate(context.Background(), prompt, llama.Params{MaxTokens: 2, Logprobs: 2}))
	if err != nil {
		log.Fatal(err)
	}
	for _, each := range answer.Logprobs {
		fmt.Printf("%q", each.Chosen.Text)
		for _, top := range each.Top {
			fmt.Printf("  %q %.1f", top.Text, top.Logprob)
		}
		fmt.Println()
	}
	// Output:
	// " a"  " a" -0.7  " there" -0.7
	// " brave"  " brave" -1.8  " shy" -1.8
}

// A model's files may say how its authors recommend to draw tokens. Pebble's say nothing.
func ExampleModel_Sampling() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	params := model.Sampling()
	if !model.HasSampling() {
		params.Temperature, params.TopP = 0.7, 0.9
	}
	params.MaxTokens = 200
	fmt.Println(params.Temperature, params.TopP, params.MaxTokens)
	// Output: 0 0 200
}
