package llama_test

import (
	"encoding/json"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

// TestStopReasonJSON writes each reason, and reads the words again.
func TestStopReasonJSON(t *testing.T) {
	for reason, want := range map[llama.StopReason]string{
		0: "null", llama.EndOfTurn: `"stop"`, llama.StopString: `"stop"`, llama.ToolCalled: `"tool_calls"`, llama.MaxTokens: `"length"`, llama.ContextFull: `"length"`,
	} {
		text, err := json.Marshal(reason)
		if err != nil || string(text) != want {
			t.Errorf("%v is %s, %v; want %s", reason, text, err, want)
		}
		var again llama.StopReason
		if err := json.Unmarshal(text, &again); err != nil || again.FinishReason() != reason.FinishReason() {
			t.Errorf("%s is read as %v, %v", text, again, err)
		}
	}
	for _, text := range []string{`""`, `"end of turn"`, `1`, `{}`} {
		var r llama.StopReason
		if err := json.Unmarshal([]byte(text), &r); err == nil {
			t.Errorf("%s is read as %v", text, r)
		}
	}
	for _, r := range []llama.StopReason{-1, llama.ContextFull + 1} {
		if text, err := json.Marshal(r); err == nil || r.FinishReason() != "" {
			t.Errorf("%v is written as %s", r, text)
		}
	}
}
