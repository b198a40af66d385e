package mcp_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/with"
	withmcp "github.com/antigravity-go/antigravity/llama/with/mcp"
)

// An agent answers with a tool of an MCP server. This one is in the process; an mcp.CommandTransport starts one that is a program.
func Example() {
	ctx := context.Background()
	type place struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_weather", Description: "Tells the weather in a city."},
		func(context.Context, *mcp.CallToolRequest, place) (*mcp.CallToolResult, any, error) {
			return nil, map[string]any{"sky": "sunny", "temperature": 17}, nil
		})
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "helper"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

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
	r := m.Request()
	r.Messages = []llama.Message{{Role: llama.RoleUser, Content: "How warm is it in Nairobi?"}}
	for event, err := range withmcp.NewAgent(m, session).Answer(ctx, r) {
		if err != nil {
			log.Fatal(err)
		}
		if event.Result != nil {
			fmt.Printf("%s(%s)\n", event.Result.Call.Name, event.Result.Call.Arguments)
		}
		fmt.Print(event.Piece.Text)
	}
	fmt.Println()
	// Output:
	// get_weather({"city": "Nairobi"})
	// It is 17 degrees and sunny in Nairobi.
}
