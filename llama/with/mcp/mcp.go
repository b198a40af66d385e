// Package mcp has an agent that answers with the tools of servers of the Model Context Protocol, and a model in the same process.
//
//	client := mcp.NewClient(&mcp.Implementation{Name: "helper"}, nil)
//	server, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.Command("some-server")}, nil)
//	…
//	agent := withmcp.NewAgent(m, server)
//	for event, err := range agent.Answer(ctx, request) {
//
// Calls fit the tools' schemas: they are held to them while the model writes. Schemas of other people's servers may have keywords that cannot be
// guaranteed. The error names them then, and with.Options.Lossy does without. Directory agent has a program that runs any server.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/with"
)

// ErrRounds says that the model has called tools again and again.
var ErrRounds = errors.New("with: the model does not stop calling tools")

// defaultRounds is the default of Agent.Rounds.
const defaultRounds = 8

// Agent answers with the tools of servers. It is safe for concurrent use while its fields do not change.
type Agent struct {
	// Rounds is how many answers with calls a request may have, before it ends with ErrRounds; 0: 8.
	Rounds int
	// Use are the names of the tools that the model gets; nil: all. The fewer they are, the shorter prompts are, and the better small models choose.
	Use []string

	model   *with.Model
	servers []*mcp.ClientSession
}

// NewAgent makes an Agent. The sessions stay the caller's.
func NewAgent(m *with.Model, servers ...*mcp.ClientSession) *Agent {
	return &Agent{model: m, servers: servers}
}

// Event is a step on the way to the answer: a piece of what the model says, or a tool's result.
type Event struct {
	Piece  llama.Piece // of an answer, if there is no Result
	Result *Result
}

// Result is what a tool has returned.
type Result struct {
	Call   llama.ToolCall
	Text   string
	Failed bool // the tool itself says that it failed; the model gets the text all the same
}

// toolbox are the tools of all servers.
type toolbox struct {
	list   []with.Tool
	server map[string]*mcp.ClientSession // by a tool's name
}

// tools asks the servers for their tools.
func (a *Agent) tools(ctx context.Context) (*toolbox, error) {
	box := &toolbox{server: map[string]*mcp.ClientSession{}}
	for i, s := range a.servers {
		for tool, err := range s.Tools(ctx, nil) {
			if err != nil {
				return nil, fmt.Errorf("with: the tools of server %d: %w", i, err)
			}
			if a.Use != nil && !slices.Contains(a.Use, tool.Name) {
				continue
			}
			if box.server[tool.Name] != nil {
				return nil, fmt.Errorf("with: two servers have a tool %.80q: they must have different names", tool.Name)
			}
			parameters, err := with.JSON(tool.InputSchema)
			if err != nil {
				return nil, fmt.Errorf("with: the tool %.80q of server %d: %w", tool.Name, i, err)
			}
			box.server[tool.Name] = s
			box.list = append(box.list, with.Tool{Name: tool.Name, Description: tool.Description, Parameters: parameters})
		}
	}
	for _, name := range a.Use {
		if box.server[name] == nil {
			return nil, fmt.Errorf("with: no server has the tool %.80q: Agent.Use must name those that there are", name)
		}
	}
	return box, nil
}

// Answer answers a request: it calls the tools that the model wants, and goes on with their results until the model answers without a call. The last
// event is the last piece of that answer. r.Tools are replaced by the servers' tools, and r.Messages grow by the answers with calls, the results and
// the answer, so that a next question can follow.
func (a *Agent) Answer(ctx context.Context, r *with.Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		box, err := a.tools(ctx)
		if err != nil {
			yield(Event{}, err)
			return
		}
		r.Tools = box.list
		rounds := a.Rounds
		if rounds <= 0 {
			rounds = defaultRounds
		}
		for range rounds {
			var last llama.Piece
			for piece, err := range a.model.Chat(ctx, r) {
				if last = piece; !yield(Event{Piece: piece}, err) || err != nil {
					return
				}
			}
			r.Messages = append(r.Messages, last.Message)
			if last.Stop != llama.ToolCalled {
				return
			}
			for _, call := range last.Message.ToolCalls {
				result, err := box.call(ctx, call)
				if err != nil {
					yield(Event{}, err)
					return
				}
				r.Messages = append(r.Messages, llama.Message{Role: llama.RoleTool, Content: result.Text, Name: call.Name, ToolCallID: call.ID})
				if !yield(Event{Result: result}, nil) {
					return
				}
			}
		}
		yield(Event{}, fmt.Errorf("%w: there were %d answers with calls", ErrRounds, rounds))
	}
}

// call calls a tool.
func (b *toolbox) call(ctx context.Context, call llama.ToolCall) (*Result, error) {
	server := b.server[call.Name]
	if server == nil {
		return nil, fmt.Errorf("with: the model calls %.80q, which no server has", call.Name)
	}
	answer, err := server.CallTool(ctx, &mcp.CallToolParams{Name: call.Name, Arguments: json.RawMessage(call.Arguments)})
	if err != nil {
		return nil, fmt.Errorf("with: call the tool %.80q: %w", call.Name, err)
	}
	text, err := textOf(answer)
	if err != nil {
		return nil, fmt.Errorf("the result of the tool %.80q: %w", call.Name, err)
	}
	return &Result{Call: call, Text: text, Failed: answer.IsError}, nil
}

// textOf returns a result as the model reads it: its texts or, if it has no content, its structure.
func textOf(answer *mcp.CallToolResult) (string, error) {
	var texts []string
	for _, content := range answer.Content {
		switch c := content.(type) {
		case *mcp.TextContent:
			texts = append(texts, c.Text)
		case *mcp.EmbeddedResource:
			if c.Resource == nil || c.Resource.Blob != nil {
				return "", &with.UnsupportedError{What: "a resource that is no text", Want: "a text"}
			}
			texts = append(texts, c.Resource.Text)
		case *mcp.ResourceLink:
			texts = append(texts, c.URI)
		default:
			return "", &with.UnsupportedError{What: fmt.Sprintf("content of the type %T", content), Want: "a text"}
		}
	}
	if len(answer.Content) == 0 {
		structure, err := with.JSON(answer.StructuredContent)
		return string(structure), err
	}
	return strings.Join(texts, "\n"), nil
}
