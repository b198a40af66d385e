// Agent answers a question with the tools of any server of the Model Context Protocol, which it starts as a command:
//
//	cd llama/with/mcp
//	go run ./agent -model FOLDER -question "What changed in this repository?" uvx mcp-server-git
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/with"
	withmcp "github.com/antigravity-go/antigravity/llama/with/mcp"
)

func main() {
	path := flag.String("model", "", "`folder` or GGUF file of the model; empty: Flint, which is embedded")
	question := flag.String("question", "How warm is it in Nairobi?", "`text` of the question")
	tools := flag.String("tools", "", "`names` of the tools to use, with commas between them; empty: all")
	flag.Usage = func() {
		flag.CommandLine.SetOutput(os.Stdout)
		fmt.Println("agent [flags] COMMAND [ARGUMENT]... answers a question with the tools of the server that COMMAND starts.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *path, *question, *tools, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// run answers a question.
func run(ctx context.Context, path, question, tools string, command []string) error {
	load := func() (*llama.Model, error) { return llama.LoadContext(ctx, path, nil) }
	if path == "" {
		load = func() (*llama.Model, error) { return flint.LoadContext(ctx, nil) }
	}
	model, err := load()
	if err != nil {
		return err
	}
	defer model.Close()
	m, err := with.New(model, &with.Options{Lossy: true, Params: model.Sampling()})
	if err != nil {
		return err
	}
	defer m.Close()
	server := exec.CommandContext(ctx, command[0], command[1:]...)
	server.Stderr = os.Stderr
	session, err := mcp.NewClient(&mcp.Implementation{Name: "antigravity", Version: "0.1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		return fmt.Errorf("start the server %s: %w", command[0], err)
	}
	defer session.Close()
	agent := withmcp.NewAgent(m, session)
	if tools != "" {
		agent.Use = strings.Split(tools, ",")
	}
	r := m.Request()
	r.Messages = []llama.Message{{Role: llama.RoleUser, Content: question}}
	for event, err := range agent.Answer(ctx, r) {
		if err != nil {
			return err
		}
		if result := event.Result; result != nil {
			fmt.Printf("%s(%s) = %s\n", result.Call.Name, result.Call.Arguments, result.Text)
		}
		fmt.Print(event.Piece.Text)
	}
	fmt.Println()
	return nil
}
