package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
)

// get returns the status and the body of what is at a path.
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
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 || len(list.Data) != 2 {
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
	want := map[string]any{"temperature": 1.0, "top_p": 1.0, "top_k": 0.0, "min_p": 0.0, "max_completion_tokens": nil, "seed": nil}
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
