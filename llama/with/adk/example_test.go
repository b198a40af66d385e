package adk_test

import (
	"context"
	"fmt"
	"log"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/with"
	withadk "github.com/antigravity-go/antigravity/llama/with/adk"
)

// An agent of ADK's answers by calling a Go function, with a model in the same process.
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
		City string `json:"city" jsonschema:"name of the city"`
	}
	weather, err := functiontool.New(functiontool.Config{Name: "get_weather", Description: "Tells the weather in a city."},
		func(_ agent.Context, p place) (map[string]any, error) {
			fmt.Println("looks at the sky of", p.City)
			return map[string]any{"sky": "sunny", "temperature": 17}, nil
		})
	if err != nil {
		log.Fatal(err)
	}
	helper, err := llmagent.New(llmagent.Config{Name: "helper", Model: withadk.Model(m), Tools: []tool.Tool{weather}})
	if err != nil {
		log.Fatal(err)
	}
	r, err := runner.New(runner.Config{AppName: "example", Agent: helper, SessionService: session.InMemoryService(), AutoCreateSession: true})
	if err != nil {
		log.Fatal(err)
	}
	question := genai.NewContentFromText("How warm is it in Nairobi?", genai.RoleUser)
	for event, err := range r.Run(context.Background(), "user", "session", question, agent.RunConfig{}) {
		if err != nil {
			log.Fatal(err)
		}
		if event.IsFinalResponse() && event.Content != nil {
			for _, part := range event.Content.Parts {
				fmt.Println(part.Text)
			}
		}
	}
	// Output:
	// looks at the sky of Nairobi
	// It is 17 degrees and sunny in Nairobi.
}
