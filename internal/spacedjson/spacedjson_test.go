package spacedjson

import "testing"

func TestMarshal(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{[]any{1, "a,b:c", map[string]any{"k\"": `x\`, "l": true}}, `[1, "a,b:c", {"k\"": "x\\", "l": true}]`},
		{"<&>", `"<&>"`},
		{nil, "null"},
	} {
		if got, err := Marshal(c.value); err != nil || string(got) != c.want {
			t.Errorf("%s, %v, want %s", got, err, c.want)
		}
	}
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function is JSON")
	}
}
