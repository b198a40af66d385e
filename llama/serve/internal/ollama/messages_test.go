package ollama

import (
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// TestResultsFindTheirCalls checks which call a result is taken to be of.
func TestResultsFindTheirCalls(t *testing.T) {
	const twoCalls = `{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}},{"function":{"name":"g"}}]},`
	for _, c := range []struct{ name, messages, want string }{
		{"in order", twoCalls + `{"role":"tool","content":"1"},{"role":"tool","content":"2"}`, "000000001 000000002"},
		{"by name", twoCalls + `{"role":"tool","tool_name":"g"},{"role":"tool","tool_name":"f"}`, "000000002 000000001"},
		{"by id", `{"role":"Assistant","tool_calls":[{"id":"a","function":{"name":"f"}},{"id":"b","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"b"},{"role":"tool"}`, "b a"},
		{"of the last turn", twoCalls + `{"role":"tool","content":"1"},{"role":"assistant","tool_calls":[{"function":{"name":"h"}}]},{"role":"tool"}`, "000000001 000000003"},
		{"too many", twoCalls + `{"role":"tool"},{"role":"tool"},{"role":"tool"}`, "000000001 000000002 "},
		{"of a call that is not there", twoCalls + `{"role":"tool","tool_name":"h"},{"role":"tool","tool_call_id":"x"}`, " x"},
		{"without a call", `{"role":"tool","content":"1"}`, ""},
	} {
		var in struct {
			Messages conversation `json:"messages"`
		}
		if err := wire.Parse([]byte(`{"messages":[`+c.messages+`]}`), nil, &in); err != nil {
			t.Fatal(err)
		}
		turns := in.Messages.turns
		var ids []string
		for _, turn := range turns {
			for _, call := range turn.ToolCalls {
				if call.ID == "" || !strings.HasPrefix(string(call.Arguments), "{") {
					t.Errorf("%s: the call is %+v", c.name, call)
				}
			}
			if turn.Role == "tool" {
				ids = append(ids, turn.ToolCallID)
			}
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s: the results are of %q, want %q", c.name, got, c.want)
		}
	}
}

func TestKeepAlive(t *testing.T) {
	for value, unload := range map[string]bool{
		`0`: true, `0.0`: true, `"0"`: true, `"0s"`: true, `"0m0s"`: true, `-0`: true,
		`5`: false, `-1`: false, `"5m"`: false, `"-1s"`: false, `"1h30m"`: false, `0.5`: false,
	} {
		var k keepAlive
		if err := k.ReadJSON("keep_alive", []byte(value)); err != nil || k.unload != unload {
			t.Errorf("%s: %v, %v", value, k.unload, err)
		}
	}
	for _, value := range []string{`"5"`, `""`, `"long"`, `{}`, `true`} {
		var k keepAlive
		if err := k.ReadJSON("keep_alive", []byte(value)); err == nil {
			t.Errorf("%s is read", value)
		}
	}
}
