package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
)

// get returns the status and the body of a path.
func get(t testing.TB, h *httptest.Server, path string) (int, string) {
	t.Helper()
	answer, err := http.Get(h.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestModels checks the list of models, and that each is found by its name and its aliases.
func TestModels(t *testing.T) {
	h := start(t, func(o *serve.Options) {
		o.Models = append(o.Models, serve.Model{Name: "someone/broken", Load: func(context.Context) (*llama.Model, error) {
			return nil, errors.New("there is no such file")
		}})
	})
	type object struct {
		ID, Object string
		Created    int64
		Meta       struct {
			Loaded  bool
			Context *int
			Aliases []string
		}
	}
	status, body := get(t, h, "/v1/models")
	openapi.Validate(t, "ListModelsResponse", []byte(body))
	var list struct{ Data []object }
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 || len(list.Data) != 3 || list.Data[2].ID != "default" || !strings.Contains(body, `"alias_of":"flint"`) {
		t.Fatalf("status %d: %s", status, body)
	}
	if m := list.Data[0]; m.ID != "flint" || !m.Meta.Loaded || m.Meta.Context == nil || *m.Meta.Context < 100 || !reflect.DeepEqual(m.Meta.Aliases, []string{"default"}) {
		t.Errorf("the first is %s", body)
	}
	if m := list.Data[1]; m.ID != "someone/broken" || m.Meta.Loaded || m.Meta.Context != nil || len(m.Meta.Aliases) != 0 || m.Created == 0 {
		t.Errorf("the second is %s", body)
	}
	var meta struct {
		Data []struct {
			Meta struct{ Defaults map[string]any }
		}
	}
	want := map[string]any{"temperature": 1.0, "top_p": 1.0, "top_k": 0.0, "min_p": 0.0, "max_completion_tokens": nil, "seed": nil,
		"repeat_penalty": 1.0, "frequency_penalty": 0.0, "presence_penalty": 0.0, "recommended": false}
	if err := json.Unmarshal([]byte(body), &meta); err != nil || !reflect.DeepEqual(meta.Data[0].Meta.Defaults, want) {
		t.Errorf("the defaults are %v, not %v", meta.Data[0].Meta.Defaults, want)
	}
	for path, want := range map[string]object{
		"/v1/models/flint": list.Data[0], "/v1/models/default": list.Data[0],
		"/v1/models/someone/broken": list.Data[1], "/v1/models/someone%2Fbroken": list.Data[1],
	} {
		status, body := get(t, h, path)
		openapi.Validate(t, "Model", []byte(body))
		var got object
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: status %d: %s", path, status, body)
		}
	}
	for _, path := range []string{"/v1/models/granite", "/v1/models/"} {
		status, body := get(t, h, path)
		openapi.Validate(t, "ErrorResponse", []byte(body))
		if status < 400 || status > 404 {
			t.Errorf("%s: status %d: %s", path, status, body)
		}
	}
}

// TestModelsOfAnthropic lists the models in Anthropic's form, in pages.
func TestModelsOfAnthropic(t *testing.T) {
	h := start(t, func(o *serve.Options) {
		o.Models[0].Aliases = []string{"claude-sonnet-5", "claude-haiku-5", "*"}
		o.Models = append(o.Models, serve.Model{Name: "other", Loaded: o.Models[0].Loaded})
	})
	for query, want := range map[string]string{
		"":                                  "flint other claude-sonnet-5 claude-haiku-5",
		"?limit=1000":                       "flint other claude-sonnet-5 claude-haiku-5",
		"?limit=2":                          "flint other …",
		"?limit=2&after_id=other":           "claude-sonnet-5 claude-haiku-5",
		"?limit=1&before_id=claude-haiku-5": "claude-sonnet-5 …",
		"?before_id=flint":                  "",
	} {
		var page struct {
			Data []struct {
				Type, ID string
				Name     string    `json:"display_name"`
				Created  time.Time `json:"created_at"`
				Context  int       `json:"max_input_tokens"`
			}
			More  bool    `json:"has_more"`
			First *string `json:"first_id"`
			Last  *string `json:"last_id"`
		}
		answer := send(t, "GET", h.URL+"/v1/models"+query, "", "anthropic-version", "2023-06-01")
		if err := json.NewDecoder(answer.Body).Decode(&page); err != nil || answer.StatusCode != 200 {
			t.Fatalf("%s: status %d, %v", query, answer.StatusCode, err)
		}
		var names []string
		for _, m := range page.Data {
			names = append(names, m.ID)
			if m.Type != "model" || m.Name == "" || m.Created.IsZero() || m.Context < 100 {
				t.Errorf("%s: %+v", query, m)
			}
		}
		if n := len(names); n > 0 && (*page.First != names[0] || *page.Last != names[n-1]) || n == 0 && page.First != nil {
			t.Errorf("%s: %+v", query, page)
		}
		if page.More {
			names = append(names, "…")
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for path, want := range map[string]int{"/claude-haiku-5": 200, "/flint": 200, "/nobody": 200, "?limit=0": 400, "?limit=x": 400, "?after_id=granite": 400} {
		if answer := send(t, "GET", h.URL+"/v1/models"+path, "", "anthropic-version", "2023-06-01"); answer.StatusCode != want {
			t.Errorf("%s: status %d", path, answer.StatusCode)
		}
	}
}

// TestNames checks what requests may call models, or leave to the server, at paths with /v1 and without it.
func TestNames(t *testing.T) {
	one := start(t, nil)
	any := start(t, func(o *serve.Options) { o.Models[0].Aliases = []string{"*"} })
	two := start(t, func(o *serve.Options) {
		o.Models = append(o.Models, serve.Model{Name: "other", Loaded: o.Models[0].Loaded})
	})
	for _, path := range []struct{ path, rest string }{
		{"/chat/completions", `,"messages":[{"role":"user","content":"Hello"}],"max_tokens":1}`},
		{"/completions", `,"prompt":"Hello","max_tokens":1}`},
		{"/embeddings", `,"input":"Hello"}`},
		{"/responses", `,"input":"Hello","max_output_tokens":1}`},
		{"/messages", `,"messages":[{"role":"user","content":"Hello"}],"max_tokens":1}`},
		{"/messages/count_tokens", `,"messages":[{"role":"user","content":"Hello"}]}`},
	} {
		for _, c := range []struct {
			name  string
			h     *httptest.Server
			model string
			want  int
		}{
			{"no name for one model", one, `null`, 200},
			{"an unknown name for one model", one, `"gpt-5"`, 404},
			{"any name", any, `"gpt-5"`, 200},
			{"no name", any, `""`, 200},
			{"a name of two models", two, `"other"`, 200},
			{"no name for two models", two, `""`, 400},
			{"an unknown name for two models", two, `"gpt-5"`, 404},
		} {
			for _, prefix := range []string{"", "/v1"} {
				if status, body := post(t, c.h, prefix+path.path, `{"model":`+c.model+path.rest); status != c.want {
					t.Errorf("%s%s, %s: status %d, want %d: %s", prefix, path.path, c.name, status, c.want, body)
				}
			}
		}
	}
	for path, want := range map[string]int{"/models": 200, "/models/flint": 200, "/v1/models/gpt-5": 404} {
		if status, _ := get(t, one, path); status != want {
			t.Errorf("%s: status %d, want %d", path, status, want)
		}
	}
	if status, body := get(t, any, "/v1/models/openai/gpt-5"); status != 200 {
		t.Errorf("status %d: %s", status, body)
	}
}
