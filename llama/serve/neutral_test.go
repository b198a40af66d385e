package serve_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/internal/neutral"
)

// TestNeutralValues sends requests with all parameters that an interface has, each with a value that asks for nothing: the answer is the same as
// without them.
func TestNeutralValues(t *testing.T) {
	h := start(t, nil)
	for path, request := range map[string]string{
		"/v1/chat/completions": `"temperature":0,"max_completion_tokens":6,"messages":[{"role":"user","content":"Hello"}]`,
		"/v1/completions":      `"temperature":0,"max_tokens":6,"prompt":"Hello"`,
		"/v1/responses":        `"temperature":0,"max_output_tokens":6,"input":"Hello"`,
		"/v1/messages":         `"temperature":0,"max_tokens":6,"messages":[{"role":"user","content":"Hello"}]`,
		"/completion":          `"temperature":0,"n_predict":6,"prompt":"Hello"`,
		"/api/chat":            `"stream":false,"options":{"temperature":0,"num_predict":6},"messages":[{"role":"user","content":"Hello"}]`,
		"/api/generate":        `"stream":false,"options":{"temperature":0,"num_predict":6},"prompt":"Hello"`,
	} {
		_, plain := post(t, h, path, `{`+request+`}`)
		for n := range 3 {
			members, taken := neutral.Members(n), 0
			body := request
			for _, name := range slices.Sorted(maps.Keys(members)) {
				if strings.Contains(request, `"`+name+`":`) {
					continue
				}
				one := `,"` + name + `":` + members[name]
				if _, text := post(t, h, path, `{`+request+one+`,"model":"nobody"}`); !strings.Contains(text, "nobody") {
					continue // the interface has no such parameter, or has it in another form: see package neutral
				}
				body += one
				taken++
			}
			status, text := post(t, h, path, `{`+body+`}`)
			if status != 200 || answerText(t, text) != answerText(t, plain) || n == 0 && taken < 8 {
				t.Errorf("%s: %d values, status %d: %s\nwithout them: %s", path, taken, status, text, plain)
			}
		}
	}
}

// answerText returns the text of a whole answer in any interface.
func answerText(t *testing.T, body string) string {
	t.Helper()
	type texts []struct{ Text string }
	var a struct {
		Choices []struct {
			Text    string
			Message struct{ Content string }
		}
		Message struct{ Content string }
		Output  []struct{ Content texts }
		Content json.RawMessage
		Answer  string `json:"response"`
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	all := a.Answer + a.Message.Content + string(a.Content)
	for _, c := range a.Choices {
		all += c.Text + c.Message.Content
	}
	for _, item := range a.Output {
		for _, part := range item.Content {
			all += part.Text
		}
	}
	if len(all) < 3 {
		t.Fatalf("the answer says nothing: %s", body)
	}
	return all
}
