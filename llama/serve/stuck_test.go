package serve_test

import (
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
)

// TestFormsThatAreTooComplex asks for answers of a form that can be compiled and is too complex to be followed: that is the request's fault, in
// every interface.
func TestFormsThatAreTooComplex(t *testing.T) {
	effort.Turn(t, 8)
	h := start(t, nil)
	schema := `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string","pattern":"^` + strings.Repeat("(a|b|ab|ba)*", 300) + `c$"}}}`
	const say = `"messages":[{"role":"user","content":"Hello"}]`
	for _, c := range []struct{ path, body string }{
		{"/v1/chat/completions", `{"model":"flint","max_tokens":30,` + say + `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":` + schema + `}}}`},
		{"/v1/responses", `{"model":"flint","stream":true,"store":false,"input":"Hello","text":{"format":{"type":"json_schema","name":"a","schema":` + schema + `}}}`},
		{"/v1/messages", `{"model":"flint","max_tokens":30,` + say + `,"output_format":{"type":"json_schema","schema":` + schema + `}}`},
	} {
		status, text := post(t, h, c.path, c.body)
		if stream := c.path == "/v1/responses"; !stream && status != 400 || status == 500 || !strings.Contains(text, "too complex") ||
			!strings.Contains(text, `"unsupported_schema"`) && !strings.Contains(text, `"invalid_request_error"`) {
			t.Errorf("%s: status %d: %.600s", c.path, status, text)
		}
	}
}
