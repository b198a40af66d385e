package langchaingo_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/prompts"

	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/with"
	withlangchaingo "github.com/antigravity-go/antigravity/llama/with/langchaingo"
)

// A chain asks a model in the same process, and so does a program that offers it a function.
func Example() {
	ctx := context.Background()
	model, err := flint.Load(nil) // or llama.Load("Llama-3.2-1B-Instruct", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	m, err := with.New(model, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	llm := withlangchaingo.New(m)

	chain := chains.NewLLMChain(llm, prompts.NewPromptTemplate("What is the capital of {{.country}}?", []string{"country"}))
	answer, err := chains.Run(ctx, chain, "Japan")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)

	weather := llms.Tool{Type: "function", Function: &llms.FunctionDefinition{
		Name: "get_weather", Description: "Tells the weather in a city.",
		Parameters: map[string]any{
			"type":                 "object",
			"properties":           map[string]any{"city": map[string]any{"type": "string", "description": "name of the city"}},
			"required":             []string{"city"},
			"additionalProperties": false,
		},
	}}
	question := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "How warm is it in Nairobi?")}
	response, err := llm.GenerateContent(ctx, question, llms.WithTools([]llms.Tool{weather}))
	if err != nil {
		log.Fatal(err)
	}
	for _, call := range response.Choices[0].ToolCalls {
		fmt.Printf("%s(%s)\n", call.FunctionCall.Name, call.FunctionCall.Arguments)
	}
	// Output:
	// The capital of Japan is Tokyo.
	// get_weather({"city": "Nairobi"})
}
