package readme

import (
	"bytes"
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
	"github.com/antigravity-go/antigravity/llama/receipt"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestCookbookLoads loads a folder.
func TestCookbookLoads(t *testing.T) {
	folder := fixture.Path(t, "hf/llama32-tied-bf16")
	t.Chdir(t.TempDir())
	ok(t, os.CopyFS("Llama-3.2-1B-Instruct", os.DirFS(folder)))

	model, err := llama.Load("Llama-3.2-1B-Instruct", nil) // a folder of Hugging Face, or a .gguf file
	ok(t, err)
	defer model.Close()
	session, err := model.NewSession(nil)
	ok(t, err)
	defer session.Close()
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// says fails unless a text has a part.
func says(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q has no %q", text, part)
	}
}

var japan = llama.Message{Role: llama.RoleUser, Content: "What is the capital of Japan?"}

func TestCookbookChats(t *testing.T) {
	ctx, fmt := t.Context(), &printer{}
	model, session, history := asked(t)

	history = append(history, llama.Message{Role: llama.RoleUser, Content: "What is the capital of Japan?"})
	for piece, err := range session.Chat(ctx, history, llama.Params{MaxTokens: 200}) {
		ok(t, err)
		fmt.Print(piece.Text)
		if piece.Stop != 0 {
			history = append(history, piece.Message)
		}
	}

	says(t, fmt.String(), "Tokyo")
	if len(history) != 2 {
		t.Errorf("%+v", history)
	}
	history = history[:1]

	params := model.Sampling() // as the model's authors recommend
	params.Temperature, params.TopP, params.Seed = 0.8, 0.95, 42
	params.Stop = []string{"\n\n"}
	answer, err := llama.Collect(session.Chat(ctx, history, params))

	ok(t, err)
	says(t, answer.Text, "Japan")
}

func TestCookbookForms(t *testing.T) {
	type Person struct {
		Name string `json:"name"`
		Age  int    `json:"age"`
	}
	ctx := t.Context()
	var person Person
	model, session, _ := asked(t)

	schema, err := constrain.Schema[Person]() // for the model to read
	ok(t, err)
	fits, err := constrain.JSONFor[Person](model.Tokenizer())
	ok(t, err)
	history := []llama.Message{
		{Role: llama.RoleSystem, Content: "Answer in JSON of this schema:\n" + string(schema)},
		{Role: llama.RoleUser, Content: "Sam is 18 years old and lives in Kyiv."},
	}
	answer, err := llama.Collect(session.Chat(ctx, history, llama.Params{Constraint: fits}))
	ok(t, err)
	err = json.Unmarshal([]byte(answer.Text), &person)

	if err != nil || person != (Person{"Sam", 18}) {
		t.Errorf("%+v, %v", person, err)
	}
}

func TestCookbookChoice(t *testing.T) {
	ctx := t.Context()
	model, session, history := asked(t, japan)

	choice, err := constrain.Choice(model.Tokenizer(), "yes", "no")
	ok(t, err)
	answer, err := llama.Collect(session.Chat(ctx, history, llama.Params{Constraint: choice}))

	if err != nil || answer.Text != "yes" && answer.Text != "no" {
		t.Errorf("%q, %v", answer.Text, err)
	}
}

func TestCookbookCalls(t *testing.T) {
	type Place struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	ctx := t.Context()
	model, session, history := asked(t, llama.Message{Role: llama.RoleUser, Content: "How warm is it in Nairobi?"})

	weather, err := constrain.Function[Place]("get_weather", "Tells the weather in a city.")
	ok(t, err)
	tools := []json.RawMessage{weather}
	calls, err := constrain.Tools(model.Tokenizer(), tools, constrain.ToolOptions{})
	ok(t, err)
	params := llama.Params{Constraint: calls, Template: llama.TemplateOptions{Tools: tools}}
	for range 4 { // a model that never stops calling is stopped
		answer, err := llama.Collect(session.Chat(ctx, history, params))
		ok(t, err)
		history = append(history, answer.Message)
		if answer.Stop != llama.ToolCalled {
			break
		}
		for _, call := range answer.Message.ToolCalls {
			result := `{"temperature":17,"sky":"sunny"}` // of call.Name with call.Arguments
			history = append(history, llama.Message{Role: llama.RoleTool, Content: result, ToolCallID: call.ID})
		}
	}

	says(t, history[len(history)-1].Content, "17")
}

func TestCookbookPicture(t *testing.T) {
	ctx := t.Context()
	model, err := opal.Load(nil)
	ok(t, err)
	defer model.Close()
	session, err := model.NewSession(nil)
	ok(t, err)
	file, err := os.ReadFile(fixture.Path(t, "opal/image.20.0.png"))
	ok(t, err)

	picture, err := llama.NewImage(file)
	ok(t, err)
	history := []llama.Message{{Role: llama.RoleUser, Parts: []llama.Part{{Image: picture}, {Text: "What is written here?"}}}}
	answer, err := llama.Collect(session.Chat(ctx, history, llama.Params{}))

	ok(t, err)
	says(t, answer.Text, "dethrones")
}

func TestCookbookServers(t *testing.T) {
	model, _, _ := asked(t)
	mux := http.NewServeMux()

	pool, err := model.NewPool(nil)
	ok(t, err)
	defer pool.Close()
	mux.HandleFunc("/ask", func(w http.ResponseWriter, r *http.Request) {
		history := []llama.Message{{Role: llama.RoleUser, Content: r.FormValue("question")}}
		for piece, err := range pool.Chat(r.Context(), history, llama.Params{MaxTokens: 200}) {
			if err != nil {
				t.Error(err)
			}
			fmt.Fprint(w, piece.Text)
			http.NewResponseController(w).Flush()
		}
	})

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest("GET", "/ask?question=What+is+the+capital+of+Japan%3F", nil))
	says(t, answer.Body.String(), "Tokyo")

	server, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}})
	ok(t, err)
	mux.Handle("/v1/", server)

	defer server.Close()
	answer = httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest("GET", "/v1/models", nil))
	says(t, answer.Body.String(), "flint")
}

func TestCookbookTexts(t *testing.T) {
	ctx := t.Context()
	model, err := pebble.Load(nil)
	ok(t, err)
	defer model.Close()
	classifier, err := llama.Load(fixture.Path(t, "families/cls-bert"), nil)
	ok(t, err)
	defer classifier.Close()
	tagger, err := llama.Load(fixture.Path(t, "families/tok-bert"), nil)
	ok(t, err)
	defer tagger.Close()

	vectors, err := model.Embed(ctx, "The cat sleeps.", "A cat is sleeping.", "Stocks fell.")
	ok(t, err)

	labels, err := classifier.Classify(ctx, "I loved it.")
	ok(t, err)
	entities, err := tagger.Entities(ctx, "Ada lives in London.")

	if err != nil || len(vectors) != 3 || len(labels) != 1 {
		t.Errorf("%d vectors, %v, %v, %v", len(vectors), labels, entities, err)
	}
}

func TestCookbookAdapter(t *testing.T) {
	ctx := t.Context()
	t.Chdir("../../../llama/testdata")
	model, err := pebble.Load(nil)
	ok(t, err)
	defer model.Close()
	pool, err := model.NewPool(nil)
	ok(t, err)
	defer pool.Close()
	history := []llama.Message{japan}

	adapter, err := model.LoadAdapter("adapter") // a folder of PEFT, or a .gguf file
	ok(t, err)
	defer adapter.Close()
	answer, err := llama.Collect(pool.Chat(ctx, history, llama.Params{Adapter: adapter}))

	if err != nil || answer.Text == "" {
		t.Errorf("%q, %v", answer.Text, err)
	}
}

func TestCookbookConversations(t *testing.T) {
	ctx := t.Context()
	model, session, history := asked(t, japan)

	params := llama.Params{Draft: llama.PromptLookup(llama.LookupOptions{})}
	answer, err := llama.Collect(session.Chat(ctx, history, params))

	ok(t, err)
	says(t, answer.Text, "Tokyo")
	var file bytes.Buffer

	err = session.Save(&file)
	ok(t, err)
	restored, err := model.Restore(&file, nil)
	ok(t, err)
	defer restored.Close()
	other, err := restored.Fork() // goes another way from here
	ok(t, err)
	defer other.Close()

	if other.Position() != session.Position() {
		t.Errorf("the fork has %d tokens, and the session %d", other.Position(), session.Position())
	}
}

func TestCookbookMemory(t *testing.T) {
	model, _, history := asked(t, japan)

	policy, err := eviction.NewSnapKV(eviction.Options{Budget: 1024})
	ok(t, err)
	session, err := model.NewSession(&llama.SessionOptions{KV: tensor.Q8_0, Eviction: policy})
	ok(t, err)

	defer session.Close()

	history, err = model.Tokenizer().DropTurns(history, llama.TemplateOptions{}, session.Capacity()-512)

	if err != nil || len(history) != 1 {
		t.Errorf("%d messages, %v", len(history), err)
	}
}

func TestCookbookProof(t *testing.T) {
	ctx := t.Context()
	b, err := flint.FS.ReadFile(flint.Name)
	ok(t, err)
	file := string(b)

	model, err := llama.LoadFS(ctx, llama.InMemory("model.gguf", file), "model.gguf", nil) // file: a string of go:embed

	ok(t, err)
	defer model.Close()
	pool, err := model.NewPool(nil)
	ok(t, err)
	defer pool.Close()
	history, params := []llama.Message{japan}, llama.Params{}

	prompt, err := model.Tokenizer().Template(history, llama.TemplateOptions{})
	ok(t, err)
	recorder, err := receipt.New(model, prompt, &params, nil)
	ok(t, err)
	answer, err := llama.Collect(recorder.Watch(pool.Answer(ctx, prompt, params)))
	ok(t, err)
	proof, err := recorder.Receipt(ctx)
	ok(t, err)
	err = receipt.Verify(ctx, model, proof) // anywhere, later

	ok(t, err)
	says(t, answer.Text, "Tokyo")
}
