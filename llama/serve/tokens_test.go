package serve_test

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

// tokensOf returns the tokens of what a request to /tokenize says.
func tokensOf(t testing.TB, h *httptest.Server, body string) []int {
	t.Helper()
	status, text := post(t, h, "/tokenize", "{"+body+"}")
	var out struct {
		Tokens []int
		Count  int
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 || out.Count != len(out.Tokens) {
		t.Fatalf("%s: status %d, %v: %s", body, status, err, text)
	}
	return out.Tokens
}

// detokenize returns the text of tokens.
func detokenize(t testing.TB, h *httptest.Server, tokens []int) string {
	t.Helper()
	list, _ := json.Marshal(tokens)
	status, text := post(t, h, "/detokenize", `{"model":"flint","tokens":`+string(list)+`}`)
	var out struct{ Content *string }
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 || out.Content == nil {
		t.Fatalf("%s: status %d: %s", list, status, text)
	}
	return *out.Content
}

func TestTokenize(t *testing.T) {
	h := start(t, nil)
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "Hello world", " x\n\t", "ö €\U0001f389", "<|eot_id|><|begin_of_text|>", strings.Repeat("word ", 10000)} {
		body, _ := json.Marshal(text)
		tokens := tokensOf(t, h, `"content":`+string(body))
		want := model.Tokenizer().Encode(text)
		if !slices.EqualFunc(tokens, want, func(a int, b llama.Token) bool { return a == int(b) }) {
			t.Errorf("%.40q has other tokens than the tokenizer's", text)
		}
		if back := detokenize(t, h, tokens); back != text {
			t.Errorf("%.40q becomes %.40q", text, back)
		}
	}
	plain, special := tokensOf(t, h, `"content":"Hello"`), tokensOf(t, h, `"content":"Hello","add_special":true,"parse_special":false`)
	if len(special) != len(plain)+1 || !slices.Equal(special[1:], plain) || !strings.HasPrefix(detokenize(t, h, special), "<|") {
		t.Errorf("with the begin-of-text token: %v, without: %v", special, plain)
	}
}

// TestTokenizeMessages checks that a conversation has the tokens that a chat counts.
func TestTokenizeMessages(t *testing.T) {
	h := start(t, nil)
	for _, body := range []string{
		`"messages":[{"role":"user","content":"What is the capital of Japan?"}]`,
		`"messages":[{"role":"user","content":[{"type":"text","text":"What is the weather in Paris?"}]}],"tools":[` + weather + `]`,
	} {
		tokens := tokensOf(t, h, body)
		if _, used := chatWhole(t, h, `"model":"flint","max_tokens":1,`+body); used.Prompt != len(tokens) {
			t.Errorf("%s: %d tokens, and a chat counts %d", body, len(tokens), used.Prompt)
		}
	}
}

func TestTokenizePieces(t *testing.T) {
	h := start(t, nil)
	status, text := post(t, h, "/tokenize", `{"content":"Hi ö","with_pieces":true,"add_special":true}`)
	var out struct {
		Tokens []struct {
			ID    int
			Piece any
		}
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 || len(out.Tokens) < 4 {
		t.Fatalf("status %d: %s", status, text)
	}
	var bytes []byte
	for _, p := range out.Tokens[1:] {
		switch p := p.Piece.(type) {
		case string:
			bytes = append(bytes, p...)
		case []any:
			for _, b := range p {
				bytes = append(bytes, byte(b.(float64)))
			}
		}
	}
	if name, _ := out.Tokens[0].Piece.(string); string(bytes) != "Hi ö" || !strings.HasPrefix(name, "<|") {
		t.Errorf("the pieces are %q: %s", bytes, text)
	}
}

func TestTokenErrors(t *testing.T) {
	h := start(t, nil)
	for _, c := range []struct{ path, body, param, code, says string }{
		{"/tokenize", `{}`, "content", "missing_required_parameter", "messages"},
		{"/tokenize", `{"content":["x"]}`, "content", "invalid_type", "a string"},
		{"/tokenize", `{"content":"x","messages":[{"role":"user","content":"x"}]}`, "messages", "invalid_value", "one of them"},
		{"/tokenize", `{"content":"x","tools":[` + weather + `]}`, "tools", "invalid_value", "without messages"},
		{"/tokenize", `{"messages":[]}`, "messages", "invalid_value", "at least one"},
		{"/tokenize", `{"messages":[{"role":"user","content":"x"}],"add_special":true}`, "add_special", "invalid_value", "template"},
		{"/tokenize", `{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function"}]}`, "tools[0].function", "missing_required_parameter", "missing"},
		{"/tokenize", `{"content":"x","parse_special":true}`, "parse_special", "unsupported_parameter", "outside"},
		{"/tokenize", `{"content":"x","pieces":true}`, "pieces", "unknown_parameter", "pieces"},
		{"/detokenize", `{}`, "tokens", "missing_required_parameter", "missing"},
		{"/detokenize", `{"tokens":"x"}`, "tokens", "invalid_type", "an array"},
		{"/detokenize", `{"tokens":[1,-1]}`, "tokens[1]", "invalid_value", "a token's number"},
		{"/detokenize", `{"tokens":[1.5]}`, "tokens[0]", "invalid_type", "a whole number"},
		{"/detokenize", `{"tokens":[1,99999999]}`, "tokens[1]", "invalid_value", "a token's number"},
	} {
		refused(t, h, c.path, c.body, 400, c.param, c.code, c.says)
	}
	refused(t, h, "/tokenize", `{"model":"granite","content":"x"}`, 404, "model", "model_not_found", "flint")
}
