package mcp_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/with"
	"github.com/antigravity-go/antigravity/llama/with/internal/withtest"
	withmcp "github.com/antigravity-go/antigravity/llama/with/mcp"
)

// asServer makes the test's program a server on its standard input and output.
const asServer = "ANTIGRAVITY_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		if err := newServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// newServer has the function that the question needs.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "weather"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: withtest.Function, Description: withtest.Does},
		func(context.Context, *mcp.CallToolRequest, withtest.Place) (*mcp.CallToolResult, withtest.Weather, error) {
			return nil, withtest.Sunny, nil
		})
	return s
}

// connect connects to a server in the same process.
func connect(t *testing.T, s *mcp.Server) *mcp.ClientSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := s.Connect(t.Context(), theirs, nil); err != nil {
		t.Fatal(err)
	}
	return client(t, ours)
}

func client(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// ask returns what an agent says last, and the results of tools.
func ask(ctx context.Context, m *with.Model, agent *withmcp.Agent, question string) (said string, results []withmcp.Result, r *with.Request, err error) {
	r = m.Request()
	r.Messages = []llama.Message{{Role: llama.RoleUser, Content: question}}
	for event, err := range agent.Answer(ctx, r) {
		if err != nil {
			return said, results, r, err
		}
		if event.Result != nil {
			said, results = "", append(results, *event.Result)
		}
		said += event.Piece.Text
	}
	return said, results, r, nil
}

// TestAgent answers with the tool of a server in the process, and of one that is a program.
func TestAgent(t *testing.T) {
	m := withtest.Model(t, nil)
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), asServer+"=1")
	for _, session := range []*mcp.ClientSession{connect(t, newServer()), client(t, &mcp.CommandTransport{Command: program})} {
		said, results, r, err := ask(t.Context(), m, withmcp.NewAgent(m, session), withtest.Question)
		if err != nil || said != withtest.Answer || len(results) != 1 || results[0].Text != withtest.SunnyJSON || results[0].Failed {
			t.Fatalf("%q, %+v, %v", said, results, err)
		}
		if len(r.Messages) != 4 || r.Messages[3].Content != said || r.Messages[2].ToolCallID != r.Messages[1].ToolCalls[0].ID {
			t.Errorf("%+v", r.Messages)
		}
	}
}

// TestFailures has a tool that fails, one that returns a picture, two servers with one tool, a model that goes on calling, and an end.
func TestFailures(t *testing.T) {
	m := withtest.Model(t, nil)
	session := connect(t, newServer())
	broken := mcp.NewServer(&mcp.Implementation{Name: "broken"}, nil)
	mcp.AddTool(broken, &mcp.Tool{Name: withtest.Function, Description: withtest.Does},
		func(_ context.Context, _ *mcp.CallToolRequest, p withtest.Place) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("there is no city " + p.City)
		})
	failing := withmcp.NewAgent(m, connect(t, broken))
	failing.Rounds = 1
	_, results, _, err := ask(t.Context(), m, failing, withtest.Question)
	if !errors.Is(err, withmcp.ErrRounds) || len(results) != 1 || !results[0].Failed || results[0].Text != "there is no city Nairobi" {
		t.Errorf("%+v, %v", results, err)
	}
	agent := withmcp.NewAgent(m, session)
	agent.Rounds = 1
	if _, _, _, err := ask(t.Context(), m, agent, withtest.Question); !errors.Is(err, withmcp.ErrRounds) {
		t.Error(err)
	}
	if _, _, _, err := ask(t.Context(), m, withmcp.NewAgent(m, session, session), withtest.Question); err == nil || !strings.Contains(err.Error(), "two servers") {
		t.Error(err)
	}
	for name, want := range map[string]string{withtest.Function: "", "other": "no server has"} {
		agent := withmcp.NewAgent(m, session)
		agent.Use = []string{name}
		if _, _, _, err := ask(t.Context(), m, agent, withtest.Question); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
	pictures := mcp.NewServer(&mcp.Implementation{Name: "pictures"}, nil)
	mcp.AddTool(pictures, &mcp.Tool{Name: withtest.Function, Description: withtest.Does},
		func(context.Context, *mcp.CallToolRequest, withtest.Place) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png"}}}, nil, nil
		})
	if _, _, _, err := ask(t.Context(), m, withmcp.NewAgent(m, connect(t, pictures)), withtest.Question); !errors.Is(err, llama.ErrUnsupported) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := ask(ctx, m, withmcp.NewAgent(m, session), withtest.Question); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
