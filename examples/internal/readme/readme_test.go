// Package readme runs the Go code of the repository's README.md, and of the cookbook.
package readme

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/opal"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestCode: each Go block of README.md and of the cookbook is the code of one of the tests of a file, line by line and in the same order. A test may have
// further lines, such as those that look at errors.
func TestCode(t *testing.T) {
	for _, page := range []struct {
		name, tests string
		blocks      int
	}{
		{"README.md", "readme_test.go", 7},
		{"examples/COOKBOOK.md", "cookbook_test.go", 18},
	} {
		text, err := os.ReadFile("../../../" + page.name)
		if err != nil {
			t.Fatal(err)
		}
		here, err := os.ReadFile(page.tests)
		if err != nil {
			t.Fatal(err)
		}
		tests := strings.Split(string(here), "\nfunc Test")
		blocks := strings.Split(string(text), "```go\n")[1:]
		if len(blocks) != page.blocks {
			t.Errorf("%s has %d blocks of Go code, this test knows %d", page.name, len(blocks), page.blocks)
		}
		for _, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			missing := ""
			for _, test := range tests {
				if missing = absent(block, test); missing == "" {
					break
				}
			}
			if missing != "" {
				t.Errorf("no test runs this block of %s:\n%s", page.name, block)
			}
		}
	}
}

// absent returns the first line of a block that does not follow the lines before it in a test, or "".
func absent(block, test string) string {
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " // ")
		_, after, found := strings.Cut(test, line)
		if !found {
			return line
		}
		test = after
	}
	return ""
}

// out and log stand for the packages fmt and log in the blocks, so that the test sees what they print.
type printer struct{ bytes.Buffer }

func (p *printer) Print(a ...any) { fmt.Fprint(p, a...) }

type failing struct{ *testing.T }

func (f failing) Fatal(a ...any) { f.T.Helper(); f.T.Fatal(a...) }

func TestTenLines(t *testing.T) {
	fmt, log := &printer{}, failing{t}

	model, err := pebble.Load(nil) // embedded; for your own: llama.Load("Llama-3.2-1B-Instruct", nil), a folder or a .gguf file
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	for piece, err := range session.Chat(context.Background(), history, llama.Params{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(piece.Text)
	}

	if !strings.Contains(fmt.String(), "Tokyo") {
		t.Errorf("%q", fmt.String())
	}
}

func TestPicture(t *testing.T) {
	model, err := opal.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(fixture.Path(t, "opal/image.20.0.png"))
	if err != nil {
		t.Fatal(err)
	}

	picture, err := llama.NewImage(file)
	history := []llama.Message{{Role: llama.RoleUser, Parts: []llama.Part{{Image: picture}, {Text: "What is written here?"}}}}

	if err != nil {
		t.Fatal(err)
	}
	answer, err := llama.Collect(session.Chat(t.Context(), history, llama.Params{}))
	if err != nil || answer.Text != "dethrones" {
		t.Errorf("%q, %v", answer.Text, err)
	}
}

// asked returns Flint, a session with it and a conversation.
func asked(t *testing.T, messages ...llama.Message) (*llama.Model, *llama.Session, []llama.Message) {
	model, err := flint.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	session, err := model.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	return model, session, messages
}

func TestStruct(t *testing.T) {
	type Person struct {
		Name string `json:"name"`
		Age  int    `json:"age"`
	}
	schema, err := constrain.Schema[Person]()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	model, session, history := asked(t, llama.Message{Role: llama.RoleSystem, Content: "Answer in JSON of this schema:\n" + string(schema)},
		llama.Message{Role: llama.RoleUser, Content: "Sam is 18 years old and lives in Kyiv."})
	var person Person

	fits, err := constrain.JSONFor[Person](model.Tokenizer())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := llama.Collect(session.Chat(ctx, history, llama.Params{Constraint: fits}))
	if err != nil {
		t.Fatal(err)
	}
	err = json.Unmarshal([]byte(answer.Text), &person)

	if err != nil || person != (Person{"Sam", 18}) {
		t.Errorf("%+v, %v", person, err)
	}
}

func TestCalls(t *testing.T) {
	type Place struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	ctx := context.Background()
	model, session, history := asked(t, llama.Message{Role: llama.RoleUser, Content: "How warm is it in Nairobi?"})

	weather, err := constrain.Function[Place]("get_weather", "Tells the weather in a city.")
	if err != nil {
		t.Fatal(err)
	}
	tools := []json.RawMessage{weather}
	calls, err := constrain.Tools(model.Tokenizer(), tools, constrain.ToolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	params := llama.Params{Constraint: calls, Template: llama.TemplateOptions{Tools: tools}}
	answer, err := llama.Collect(session.Chat(ctx, history, params)) // answer.Message.ToolCalls

	if err != nil || len(answer.Message.ToolCalls) != 1 || !strings.Contains(string(answer.Message.ToolCalls[0].Arguments), "Nairobi") {
		t.Errorf("%+v, %v", answer.Message, err)
	}
}

func TestUsers(t *testing.T) {
	ctx := context.Background()
	model, _, history := asked(t, llama.Message{Role: llama.RoleUser, Content: "What is the capital of Japan?"})
	var text string

	pool, err := model.NewPool(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for piece, err := range pool.Chat(ctx, history, llama.Params{}) { // from any number of goroutines
		if err != nil {
			t.Fatal(err)
		}
		text += piece.Text
	}

	if !strings.Contains(text, "Tokyo") {
		t.Errorf("%q", text)
	}
}

// handlers stands for package http in the block: a mux of its own.
type handlers struct{ *http.ServeMux }

func TestServer(t *testing.T) {
	http := handlers{http.NewServeMux()}

	server, err := serve.New(serve.Options{Models: []serve.Model{serve.File("small", "small.gguf", nil)}})
	if err != nil {
		t.Fatal(err)
	}
	http.Handle("/v1/", server)

	answer := httptest.NewRecorder()
	http.ServeHTTP(answer, httptest.NewRequest("GET", "/v1/models", nil))
	if answer.Code != 200 || !strings.Contains(answer.Body.String(), `"small"`) {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

func TestLongConversations(t *testing.T) {
	model, _, history := asked(t, llama.Message{Role: llama.RoleUser, Content: "What is the capital of Japan?"})

	policy, err := eviction.NewSnapKV(eviction.Options{Budget: 1024})
	if err != nil {
		t.Fatal(err)
	}
	session, err := model.NewSession(&llama.SessionOptions{KV: tensor.Q8_0, Eviction: policy})
	if err != nil {
		t.Fatal(err)
	}

	defer session.Close()
	answer, err := llama.Collect(session.Chat(context.Background(), history, llama.Params{}))
	if err != nil || !strings.Contains(answer.Text, "Tokyo") {
		t.Errorf("%q, %v", answer.Text, err)
	}
}
