package calls

import (
	"encoding/json"
	"testing"
)

// TestArguments writes arguments as families do.
func TestArguments(t *testing.T) {
	object := json.RawMessage(`{"a": 1, "text": "true \"x\"", "list": [true, false, null, {"k": "null"}], "n": -1.5e3}`)
	for format, want := range map[Format]string{
		Hermes: string(object),
		LFM:    `a=1, text="true \"x\"", list=[True, False, None, {"k": "null"}], n=-1.5e3`,
		Tagged: "<parameter=a>\n1\n</parameter>\n<parameter=text>\ntrue \"x\"\n</parameter>\n<parameter=list>\n[true, false, null, {\"k\": \"null\"}]\n</parameter>\n<parameter=n>\n-1.5e3\n</parameter>\n",
	} {
		if got := format.Family().Arguments(object); got != want {
			t.Errorf("%v: %s, want %s", format, got, want)
		}
	}
	if got := LFM.Family().Arguments(json.RawMessage(`[1]`)); got != "[1]" {
		t.Errorf("what is no object becomes %s", got)
	}
}

// TestWrittenArgumentsAreRead reads what Arguments writes.
func TestWrittenArgumentsAreRead(t *testing.T) {
	const object = `{"a": 1, "_text1": "x \"y\" é\\n", "b": [true, null, {"k": "false"}]}`
	for _, c := range []struct {
		format Format
		text   string
	}{
		{LFM, "<|tool_call_start|>[f(" + LFM.Family().Arguments(json.RawMessage(object)) + ")]<|tool_call_end|>"},
		{Tagged, "<tool_call>\n<function=f>\n" + Tagged.Family().Arguments(json.RawMessage(object)) + "</function>\n</tool_call>"},
	} {
		r := read(t, c.format, nil)
		r.p.Write(c.text)
		r.p.Finish()
		list := r.p.Calls()
		var got, want any
		if len(list) != 1 || json.Unmarshal([]byte(list[0].Arguments), &got) != nil || json.Unmarshal([]byte(object), &want) != nil {
			t.Fatalf("%s gives %v", c.text, list)
		}
		if a, _ := json.Marshal(got); string(a) != func() string { b, _ := json.Marshal(want); return string(b) }() {
			t.Errorf("%s gives %s", c.text, list[0].Arguments)
		}
	}
}
