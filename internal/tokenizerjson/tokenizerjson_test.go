package tokenizerjson

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	f, err := Read([]byte(`{"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Sequence","normalizers":[{"type":"Strip"}]}]},
		"added_tokens":[{"id":7,"content":"<s>"}],"decoder":null,"model":{"type":"BPE","vocab":{"a":0}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var model struct {
		Type  string         `json:"type"`
		Vocab map[string]int `json:"vocab"`
	}
	if err := f.Settings(&model); err != nil || model.Type != "BPE" || model.Vocab != nil || !f.HasModel() {
		t.Errorf("the settings are %+v, %v", model, err)
	}
	if vocab := f.Setting("vocab"); string(vocab) != `{"a":0}` || f.Setting("merges") != nil {
		t.Errorf("the vocabulary is %s", vocab)
	}
	if text, err := f.Reader("vocab").Value(); string(text) != `{"a":0}` || err != nil {
		t.Errorf("the vocabulary reads as %s, %v", text, err)
	}
	if tokens, err := f.AddedTokens(); err != nil || len(tokens) != 1 || tokens[0].ID != 7 || tokens[0].Content != "<s>" {
		t.Errorf("the added tokens are %+v, %v", tokens, err)
	}
	for part, want := range map[string][]string{"normalizer": {"NFC", "Strip"}, "decoder": nil, "post_processor": nil} {
		list, err := f.Components(part)
		var got []string
		for _, c := range list {
			got = append(got, c.Type)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v; want %q", part, got, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%d":0,`, i)
		}
		return b.String()
	}
	for file, want := range map[string]string{
		"{\"a\":\"\xff\"}":                  "not UTF-8",
		`[]`:                                "'{'",
		`{} {}`:                             "the end",
		`{"a":0,"a":0}`:                     `"a" comes twice`,
		`{"model":{"vocab":{},"vocab":{}}}`: `"vocab" comes twice`,
		`{` + members(257) + `"x":0}`:       "more than 256 members",
		`{"a":` + strings.Repeat(`[`, 200):  "nested deeper than 128",
		`{"model":{"type":7}}`:              "model: ",
		`{"added_tokens":7}`:                "added_tokens: ",
		`{"decoder":7}`:                     "decoder: ",
		`{"decoder":{"x":[0` + strings.Repeat(`,0`, 4097) + `]}}`:            "decoder: 4097 commas; at most 4096 would be right",
		`{"added_tokens":[0` + strings.Repeat(`,0`, maxAddedCommas+1) + `]}`: "added_tokens: 262145 commas",
	} {
		err := readAll([]byte(file))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want an error with %s", file, err, want)
		}
	}
}

// readAll reads whatever a file may have.
func readAll(data []byte) error {
	f, err := Read(data)
	if err != nil {
		return err
	}
	if _, err := f.AddedTokens(); err != nil {
		return err
	}
	if _, err := f.Components("decoder"); err != nil {
		return err
	}
	return f.Settings(&struct {
		Type string `json:"type"`
	}{})
}
