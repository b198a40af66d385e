package serve_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// roomy is Flint with a context that the requests of coding agents fit.
var roomy = sync.OnceValues(func() (*llama.Model, error) {
	file, err := os.ReadFile(filepath.Join("..", "flint", "flint-Q4_0.gguf"))
	if err != nil {
		return nil, err
	}
	const key = "context_length"
	value := bytes.Index(file, []byte(key)) + len(key) + 4 // behind the key and the value's type
	binary.LittleEndian.PutUint32(file[value:], 1<<17)
	return llama.LoadFS(context.Background(), fstest.MapFS{"flint.gguf": {Data: file}}, "flint.gguf", nil)
})

// TestCapturedRequests sends what programs send, as they are: each is answered. ORIGINS.md of internal/fixture names the requests' origins.
func TestCapturedRequests(t *testing.T) {
	effort.Turn(t, 8)
	model, err := roomy()
	if err != nil {
		t.Fatal(err)
	}
	of := func(capacity int, strict bool) func(*serve.Options) {
		return func(o *serve.Options) {
			o.Models = []serve.Model{{Name: "flint", Aliases: []string{"*"}, Loaded: model}}
			o.MaxTokens, o.Pool.Session.Capacity, o.Strict = 8, capacity, strict
		}
	}
	h, small, strict := start(t, of(1<<14, false)), start(t, of(300, false)), start(t, of(300, true))
	files, err := filepath.Glob(filepath.Join("testdata", "clients", "*.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d requests, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var request struct {
				Path string
				Body json.RawMessage
			}
			if err := json.Unmarshal(text, &request); err != nil {
				t.Fatal(err)
			}
			status, answer := post(t, h, request.Path, string(request.Body))
			ended := false
			for _, end := range []string{"data: [DONE]", "event: message_stop", "event: response.completed", "event: response.incomplete"} {
				ended = ended || strings.Contains(answer, end)
			}
			if status != http.StatusOK || !ended || strings.Contains(answer, "event: error") {
				t.Errorf("status %d: %.2000s", status, answer)
			}
			if status, answer := post(t, small, request.Path, string(request.Body)); status != http.StatusOK && !tooLong(status, answer) {
				t.Errorf("of a model with a small context: status %d: %s", status, answer)
			}
			leaves := name == "codex" || strings.HasSuffix(name, "-loop")
			if status, answer := post(t, strict, request.Path, string(request.Body)); leaves != (status == http.StatusBadRequest && strings.Contains(answer, "not supported")) {
				t.Errorf("of a strict server: status %d: %s", status, answer)
			}
		})
	}
}

// tooLong reports whether an answer refuses a prompt for its length.
func tooLong(status int, answer string) bool {
	return status == http.StatusBadRequest && (strings.Contains(answer, "context_length_exceeded") || strings.Contains(answer, "prompt is too long"))
}
