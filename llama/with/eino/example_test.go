package eino_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/with"
	witheino "github.com/antigravity-go/antigravity/llama/with/eino"
)

// An agent of eino's answers by calling a Go function, with a model in the same process.
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

	type place struct {
		City string `json:"city" jsonschema:"description=name of the city"`
	}
	weather, err := utils.InferTool("get_weather", "Tells the weather in a city.", func(_ context.Context, p place) (map[string]any, error) {
		fmt.Println("looks at the sky of", p.City)
		return map[string]any{"sky": "sunny", "temperature": 17}, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	agent, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: witheino.NewChatModel(m),
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{weather}},
	})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := agent.Generate(ctx, []*schema.Message{schema.UserMessage("How warm is it in Nairobi?")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Content)
	// Output:
	// looks at the sky of Nairobi
	// It is 17 degrees and sunny in Nairobi.
}
