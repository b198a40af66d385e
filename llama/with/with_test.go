package with_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/with"
)

var loaded = sync.OnceValues(func() (*llama.Model, error) { return flint.Load(nil) })

// open returns Flint for a test.
func open(t *testing.T, o *with.Options) *with.Model {
	t.Helper()
	model, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	m, err := with.New(model, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

var weather = with.Tool{Name: "get_weather", Description: "Tells the weather in a city.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},"required":["city"],"additionalProperties":false}`)}

// TestTurns has a function called, and the answer said that follows from its result, by many goroutines at once.
func TestTurns(t *testing.T) {
	m := open(t, &with.Options{Name: "flint"})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			var c with.Conversation
			c.Turn(llama.RoleUser)
			c.Text("How warm is it ")
			c.Text("in Nairobi?")
			r := m.Request()
			r.Messages, r.Tools = c.Messages(), []with.Tool{weather, {Name: "now", Description: "Tells the time."}}
			answer, err := m.Answer(t.Context(), r)
			if err != nil || answer.Stop != llama.ToolCalled || len(answer.Message.ToolCalls) != 1 {
				t.Errorf("%+v, %v", answer.Message, err)
				return
			}
			call := answer.Message.ToolCalls[0]
			c.Turn(llama.RoleAssistant)
			err = errors.Join(c.Call("", call.Name, call.Arguments), c.Result("", call.Name, map[string]any{"sky": "sunny", "temperature": 17}))
			if err != nil || call.Name != "get_weather" || string(call.Arguments) != `{"city": "Nairobi"}` {
				t.Errorf("%s(%s), %v", call.Name, call.Arguments, err)
			}
			r.Messages = c.Messages()
			answer, err = m.Answer(t.Context(), r)
			if err != nil || answer.Text != "It is 17 degrees and sunny in Nairobi." {
				t.Errorf("%q, %v", answer.Text, err)
			}
		})
	}
	all.Wait()
}

// TestForms asks for answers that have a schema, alone and with functions on offer.
func TestForms(t *testing.T) {
	m := open(t, nil)
	type person struct {
		Name  string   `json:"name" jsonschema:"name of the person"`
		Age   int      `json:"age" jsonschema:"age in years"`
		City  string   `json:"city" jsonschema:"where the person lives"`
		Likes []string `json:"likes" jsonschema:"food the person likes"`
		Happy bool     `json:"happy" jsonschema:"whether the person is happy"`
	}
	schema, err := constrain.Schema[person]()
	if err != nil {
		t.Fatal(err)
	}
	for _, tools := range [][]with.Tool{nil, {weather}} {
		r := m.Request()
		r.Messages = []llama.Message{{Role: llama.RoleUser, Content: "Sam likes apples and salad, is happy, lives in Kyiv and is 18 years old."}}
		r.Schema, r.Tools = schema, tools
		answer, err := m.Answer(t.Context(), r)
		var got person
		if err == nil && len(answer.Message.ToolCalls) == 0 {
			err = json.Unmarshal([]byte(answer.Text), &got)
		}
		if err != nil || tools == nil && !reflect.DeepEqual(got, person{"Sam", 18, "Kyiv", []string{"apples", "salad"}, true}) {
			t.Errorf("%q, %v", answer.Text, err)
		}
	}
	r := m.Request()
	r.Messages, r.Schema = []llama.Message{{Role: llama.RoleSystem, Content: "Be brief."}, {Role: llama.RoleUser, Content: "Hello"}}, with.AnyObject
	r.Params.MaxTokens = 3
	if _, err := m.Answer(t.Context(), r); err != nil || r.Messages[0].Content != "Be brief." {
		t.Errorf("%v, and the request's system message is %q", err, r.Messages[0].Content)
	}
}

// TestRefusals has what no model can do, and what it must say.
func TestRefusals(t *testing.T) {
	m := open(t, nil)
	for _, c := range []struct {
		name, want  string
		unsupported bool
		change      func(*with.Request)
	}{
		{"same names", "two functions", false, func(r *with.Request) { r.Tools = []with.Tool{weather, weather} }},
		{"nothing to call", "none is on offer", false, func(r *with.Request) { r.Choice = constrain.ToolRequired }},
		{"unknown", `"f" is to be called`, false, func(r *with.Request) { r.Allowed = []string{"f"} }},
		{"no schema", "must be a JSON Schema", false, func(r *with.Request) { r.Schema = json.RawMessage("[]") }},
		{"broken schema", "must be a JSON Schema", false, func(r *with.Request) { r.Schema = json.RawMessage("{") }},
		{"keyword", "uniqueItems", false, func(r *with.Request) {
			r.Schema = json.RawMessage(`{"type":"array","items":{"type":"string"},"uniqueItems":true}`)
		}},
		{"two forms", "Request.Params", false, func(r *with.Request) { r.Schema, r.Params.Template.Tools = with.AnyObject, []json.RawMessage{} }},
		{"parameter", "Params.Temperature", false, func(r *with.Request) { r.Params.Temperature = -1 }},
	} {
		r := m.Request()
		r.Messages = []llama.Message{{Role: llama.RoleUser, Content: "Hello"}}
		c.change(r)
		if _, err := m.Answer(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	lossy := open(t, &with.Options{Lossy: true})
	r := lossy.Request()
	r.Messages = []llama.Message{{Role: llama.RoleUser, Content: "Hello"}}
	r.Schema, r.Params.MaxTokens = json.RawMessage(`{"type":"array","items":{"type":"string"},"uniqueItems":true}`), 3
	if _, err := lossy.Answer(t.Context(), r); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r = m.Request()
	r.Messages = []llama.Message{{Role: llama.RoleUser, Content: "Hello"}}
	if _, err := m.Answer(ended, r); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	model, _ := loaded()
	if _, err := with.New(model, &with.Options{Params: llama.Params{Template: llama.TemplateOptions{Tools: []json.RawMessage{}}}}); err == nil {
		t.Error("options with functions were taken")
	}
	if m.Is("") != nil || m.Is("antigravity") != nil || m.Is("other") == nil || m.Sees() {
		t.Error("the model has another name, or sees")
	}
}

// TestPoolAndObserver gives the model a pool, which stays open, and something that follows answers.
func TestPoolAndObserver(t *testing.T) {
	model, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	pool, err := model.NewPool(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	pieces := 0
	m, err := with.New(model, &with.Options{Pool: pool, Params: llama.Params{MaxTokens: 4},
		Observe: func(ctx context.Context, answer func(context.Context) iter.Seq2[llama.Piece, error]) iter.Seq2[llama.Piece, error] {
			return func(yield func(llama.Piece, error) bool) {
				for p, err := range answer(ctx) {
					if pieces++; !yield(p, err) {
						return
					}
				}
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	r := m.Request()
	r.Messages = []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	answer, err := m.Answer(t.Context(), r)
	if err != nil || pieces == 0 || answer.Stats.GeneratedTokens != 4 || answer.Stop != llama.MaxTokens {
		t.Errorf("%d pieces, %+v, %v", pieces, answer, err)
	}
	if m.Close(); pool.Check([]llama.Token{1}, llama.Params{}) != nil {
		t.Error("the caller's pool was closed")
	}
}

func TestConversation(t *testing.T) {
	pixel := "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
	var c with.Conversation
	c.Turn(llama.RoleSystem)
	c.Text("a")
	c.Text("b")
	c.Turn(llama.RoleAssistant)
	c.Turn(llama.RoleAssistant)
	for _, err := range []error{c.Thought("hm"), c.Call("x", "f", `{"b":1,"a":2}`), c.Call("", "g", nil), c.Call("", "f", map[string]any{"<": 1})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c.Turn(llama.RoleUser)
	for _, err := range []error{c.Result("", "f", []int{1}), c.Result("x2", "h", "?"), c.Result("", "", "r"), c.Result("", "f", nil), c.File("text/plain", []byte("t")), c.ImageURL(pixel)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := c.Messages()
	if len(got) != 8 || got[7].Parts[0].Text != "t" || got[7].Parts[1].Image == nil {
		t.Fatalf("%+v", got)
	}
	got[7].Parts = nil
	want := []llama.Message{
		{Role: "system", Content: "ab"},
		{Role: "assistant"},
		{Role: "assistant", Thinking: "hm", ToolCalls: []llama.ToolCall{
			{ID: "x", Name: "f", Arguments: json.RawMessage(`{"b":1,"a":2}`)}, {ID: "call00002", Name: "g", Arguments: json.RawMessage("{}")},
			{ID: "call00003", Name: "f", Arguments: json.RawMessage(`{"<":1}`)}}},
		{Role: "tool", Content: "[1]", Name: "f", ToolCallID: "x"},
		{Role: "tool", Content: "?", Name: "h", ToolCallID: "x2"},
		{Role: "tool", Content: "r", Name: "g", ToolCallID: "call00002"},
		{Role: "tool", Name: "f", ToolCallID: "call00003"},
		{Role: "user"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for name, err := range map[string]error{
		"a thought of the user's":   c.Thought("x"),
		"a call of the user's":      c.Call("", "f", nil),
		"a result without call":     c.Result("", "f", "x"),
		"an image elsewhere":        c.ImageURL("https://example.org/a.png"),
		"an image that is none":     c.Image([]byte("x")),
		"a damaged URL":             c.ImageURL("data:image/png;base64,%"),
		"a film":                    c.File("video/mp4", nil),
		"a result that is no value": c.Result("", "f", func() {}),
	} {
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	c.Turn(llama.RoleAssistant)
	for _, arguments := range []any{"[]", "{", 1, func() {}} {
		if c.Call("", "f", arguments) == nil {
			t.Errorf("a call with %v was taken", arguments)
		}
	}
}

func TestRest(t *testing.T) {
	type options struct {
		Known, Other int
		List         []int
		hidden       int
	}
	for _, c := range []struct {
		value any
		want  string
	}{
		{options{Known: 1, List: []int{}, hidden: 1}, ""},
		{&options{Other: 1}, "with: Options.Other is not supported: it must be left out"},
		{options{List: []int{0}}, "with: Options.List is not supported: it must be left out"},
		{(*options)(nil), ""},
	} {
		err := with.Rest("Options", c.value, "Known")
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want || !errors.Is(err, llama.ErrUnsupported)) {
			t.Errorf("%+v: %v, want %q", c.value, err, c.want)
		}
	}
}

func TestSet(t *testing.T) {
	var p llama.Params
	half, whole, zero := 40.5, 40.0, 0.0
	tenth, infinite := 0.1, math.Inf(1)
	many := int64(math.MaxInt64)
	for name, c := range map[string]struct {
		err  error
		good bool
	}{
		"nil":        {with.Set[int, int]("x", &p.TopK, nil), true},
		"whole":      {with.Set("x", &p.TopK, &whole), true},
		"half":       {with.Set("x", &p.TopK, &half), false},
		"tenth":      {with.Set("x", &p.Temperature, &tenth), true},
		"infinite":   {with.Set("x", &p.Temperature, &infinite), false},
		"NaN":        {with.Set("x", &p.Temperature, with.Said(math.NaN())), false},
		"many":       {with.Set("x", &p.Seed, &many), true},
		"positive":   {with.Positive("x", &p.MaxTokens, with.Said(7)), true},
		"not":        {with.Positive("x", &p.MaxTokens, &zero), false},
		"top_p":      {with.SetTopP("x", &p, &tenth), true},
		"top_p of 0": {with.SetTopP("x", &p, &zero), true},
	} {
		if (c.err == nil) != c.good {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	if p.MaxTokens != 7 || p.Seed != math.MaxInt64 || p.TopP != 0.1 || p.TopK != 1 && p.TopK != 40 || with.Said(0) != nil {
		t.Errorf("%+v", p)
	}
}

func TestArguments(t *testing.T) {
	got, err := with.Arguments(&llama.ToolCall{Name: "f", Arguments: json.RawMessage(`{"a":1,"b":[0.5,{"c":9007199254740993}],"d":"1","e":1e999}`)})
	want := map[string]any{"a": 1.0, "b": []any{0.5, map[string]any{"c": int64(9007199254740993)}}, "d": "1", "e": json.Number("1e999")}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := with.Arguments(&llama.ToolCall{Arguments: json.RawMessage("[]")}); err == nil {
		t.Error("a list is no arguments")
	}
}
