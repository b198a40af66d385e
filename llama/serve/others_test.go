package serve_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// said returns the text of an answer of chat or completions, and its status.
func said(t testing.TB, body string) string {
	t.Helper()
	var out struct {
		Choices []struct {
			Text    string
			Message struct{ Content string }
		}
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil || len(out.Choices) == 0 {
		t.Fatalf("%v: %s", err, body)
	}
	return out.Choices[0].Text + out.Choices[0].Message.Content
}

// TestOtherServersSamplers sends what other servers' samplers know. What asks for nothing changes nothing; everything else is refused by its name.
func TestOtherServersSamplers(t *testing.T) {
	h := start(t, nil)
	requests := map[string]string{
		"/v1/chat/completions": `{"model":"flint","max_tokens":4,"temperature":0.8,"seed":3,"messages":[{"role":"user","content":"Tell me a story."}]`,
		"/v1/completions":      `{"model":"flint","max_tokens":4,"temperature":0.8,"seed":3,"prompt":"The capital of"`,
	}
	for path, body := range requests {
		_, plain := post(t, h, path, body+`}`)
		for _, neutral := range []string{
			`"typical_p":1,"tfs_z":1.0,"top_a":0,"mirostat":0,"mirostat_tau":5,"mirostat_eta":0.1,"top_k":-1`,
			`"dry_multiplier":0.0,"dry_base":1.75,"dry_allowed_length":2,"dry_penalty_last_n":-1,"dry_sequence_breakers":["\n"]`,
			`"xtc_probability":0,"xtc_threshold":0.1,"dynatemp_range":0,"dynatemp_exponent":1,"top_n_sigma":-1,"samplers":[]`,
			`"repeat_last_n":256,"repeat_penalty":1,"cache_prompt":true,"id_slot":-1,"n_keep":0,"min_keep":0,"ignore_eos":false,"grammar":""`,
			`"repeat_last_n":0,"presence_penalty":1.5,"repeat_penalty":1.3`, `"repetition_penalty":1.0,"length_penalty":1,"use_beam_search":false,"n_predict":4`,
		} {
			status, answer := post(t, h, path, body+`,`+neutral+`}`)
			if status != 200 {
				t.Errorf("%s: status %d: %s", neutral, status, answer)
			} else if said(t, answer) != said(t, plain) {
				t.Errorf("%s: %q, want %q", neutral, said(t, answer), said(t, plain))
			}
		}
		for _, c := range []struct{ name, value string }{
			{"typical_p", "0.5"}, {"mirostat", "2"}, {"dry_multiplier", "0.8"}, {"xtc_probability", "0.1"}, {"dynatemp_range", "0.5"}, {"repetition_penalty", "1.2"},
			{"top_n_sigma", "1"}, {"samplers", `["top_k"]`}, {"ignore_eos", "true"}, {"min_tokens", "3"}, {"n_probs", "2"}, {"typical_p", `"1"`},
		} {
			refused(t, h, path, body+fmt.Sprintf(",%q:%s}", c.name, c.value), 400, c.name, "unsupported_parameter", c.name)
		}
	}
	if status, body := post(t, h, "/v1/chat/completions", `{"max_tokens":-1,"temperature":0,"messages":[{"role":"user","content":"Hello"}]}`); status != 200 {
		t.Errorf("without a bound: status %d: %s", status, body)
	}
}

// TestObjectsWithASchema writes a schema in llama-server's place for it.
func TestObjectsWithASchema(t *testing.T) {
	h := start(t, nil)
	const schema = `{"type":"object","properties":{"city":{"enum":["Tokyo"]}},"required":["city"],"additionalProperties":false}`
	for _, kind := range []string{"json_object", "json_schema"} {
		status, body := post(t, h, "/v1/chat/completions", `{`+question+`,"response_format":{"type":"`+kind+`","schema":`+schema+`}}`)
		var object map[string]string
		if err := json.Unmarshal([]byte(said(t, body)), &object); err != nil || status != 200 || object["city"] != "Tokyo" {
			t.Errorf("%s: status %d, %v: %s", kind, status, err, body)
		}
	}
}

// TestContinueFinalMessage goes on with an answer that was cut: the parts together are the answer that is not cut.
func TestContinueFinalMessage(t *testing.T) {
	h := start(t, nil)
	const ask = `{"model":"flint","temperature":0,"messages":[{"role":"user","content":"What is the capital of Japan?"}`
	_, body := post(t, h, "/v1/chat/completions", ask+`]}`)
	whole := said(t, body)
	_, body = post(t, h, "/v1/chat/completions", ask+`],"max_tokens":3}`)
	begun := said(t, body)
	if begun == "" || begun == whole || !strings.HasPrefix(whole, begun) {
		t.Fatalf("the answer is %q, of three tokens %q", whole, begun)
	}
	for _, words := range []string{`"continue_final_message":true`, `"continue_final_message":true,"add_generation_prompt":false`} {
		status, body := post(t, h, "/v1/chat/completions", fmt.Sprintf(`%s,{"role":"assistant","content":%q}],%s}`, ask, begun, words))
		if status != 200 || begun+said(t, body) != whole {
			t.Errorf("status %d: %q goes on with %q, want %q", status, begun, said(t, body), whole)
		}
	}
	const form = `,"response_format":{"type":"json_object"}`
	refused(t, h, "/v1/chat/completions", ask+`,{"role":"assistant","content":"It"}],"continue_final_message":true`+form+`}`, 400, "continue_final_message",
		"unsupported_parameter", "response_format")
	refused(t, h, "/v1/chat/completions", ask+`],"continue_final_message":true,"add_generation_prompt":true}`, 400, "add_generation_prompt", "invalid_value", "either")
}

// TestPromptsThatAreTooLongAreCounted checks that the error has the figures by which programs shorten a conversation.
func TestPromptsThatAreTooLongAreCounted(t *testing.T) {
	h := start(t, nil)
	text := strings.Repeat("garden ", 5000)
	_, body := post(t, h, "/v1/chat/completions", `{"messages":[{"role":"user","content":"`+text+`"}]}`)
	var e struct {
		Error struct {
			Code   string
			Prompt int `json:"n_prompt_tokens"`
			Room   int `json:"n_ctx"`
		}
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error.Code != "context_length_exceeded" || e.Error.Prompt < 5000 || e.Error.Room < 100 || e.Error.Room >= 5000 {
		t.Errorf("%v: %s", err, body)
	}
	_, body = post(t, h, "/v1/messages", `{"max_tokens":5,"messages":[{"role":"user","content":"`+text+`"}]}`)
	if want := fmt.Sprintf("prompt is too long: %d tokens > %d maximum", e.Error.Prompt, e.Error.Room); !strings.Contains(body, want) {
		t.Errorf("want %q: %s", want, body)
	}
}
