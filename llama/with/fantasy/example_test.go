package fantasy_test

import (
	"context"
	"fmt"
	"log"

	"charm.land/fantasy"

	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/with"
	withfantasy "github.com/antigravity-go/antigravity/llama/with/fantasy"
)

// An agent of fantasy's answers by calling a Go function, with a model in the same process.
func Example() {
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

	type place struct {
		City string `json:"city" description:"name of the city"`
	}
	weather := fantasy.NewAgentTool("get_weather", "Tells the weather in a city.",
		func(_ context.Context, p place, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
			fmt.Println("looks at the sky of", p.City)
			return fantasy.NewTextResponse(`{"sky":"sunny","temperature":17}`), nil
		})
	agent := fantasy.NewAgent(withfantasy.Model(m), fantasy.WithTools(weather))
	result, err := agent.Generate(context.Background(), fantasy.AgentCall{Prompt: "How warm is it in Nairobi?"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Response.Content.Text())
	// Output:
	// looks at the sky of Nairobi
	// It is 17 degrees and sunny in Nairobi.
}
