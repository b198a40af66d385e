package llama_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
)

// TestWrappingAddsNoPrefix checks the package's rule: a wrapped error names its package, the error around it says what the package was
// doing.
func TestWrappingAddsNoPrefix(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(literal.Value); err == nil && strings.HasPrefix(text, "llama: ") && strings.Contains(text, "%w") {
				t.Errorf("%s: %q wraps an error that names its package: leave llama: out", files.Position(literal.Pos()), text)
			}
			return true
		})
	}
}

// TestMistakesAreParamErrors makes mistakes of every kind that a caller can make. The error must say which, by type.
func TestMistakesAreParamErrors(t *testing.T) {
	m := pebbleModel(t)
	s := newSession(t, m, nil)
	generate := func(prompt []llama.Token, p llama.Params) error {
		for _, err := range s.Generate(t.Context(), prompt, p) {
			return err
		}
		return nil
	}
	options := func(o llama.SessionOptions) error { _, err := m.NewSession(&o); return err }
	move := func() error { _, err := s.Move(t.Context(), nil); return err }
	embed := func() error { _, err := m.Embed(t.Context(), ""); return err }
	for field, err := range map[string]error{
		"Params.Temperature":              generate(nil, llama.Params{Temperature: -1}),
		"Params.TopP":                     generate(nil, llama.Params{TopP: 2}),
		"Params.Stop":                     generate(nil, llama.Params{Stop: []string{"\xff"}}),
		"token 1":                         s.Prefill(t.Context(), []llama.Token{0, 1 << 30}),
		"the prompt":                      generate(nil, llama.Params{}),
		"Truncate's n":                    s.Truncate(3),
		"Move's model":                    move(),
		"SessionOptions.Chunk":            options(llama.SessionOptions{Chunk: -1}),
		"SessionOptions.EvictAfterPrompt": options(llama.SessionOptions{EvictAfterPrompt: true}),
	} {
		var mistake *llama.ParamError
		if !errors.As(err, &mistake) || mistake.Field != field || mistake.Want == "" {
			t.Errorf("%v, want a ParamError about %s", err, field)
			continue
		}
		llamatest.CheckStutter(t, err.Error())
	}
	template := func(roles ...string) error {
		var history []llama.Message
		for _, role := range roles {
			history = append(history, llama.Message{Role: role, Content: "x"})
		}
		_, err := m.Tokenizer().Template(history, llama.TemplateOptions{})
		return err
	}
	for field, err := range map[string]error{
		"history":         template(),
		"history[0].Role": template(""),
		"history[1].Role": template(llama.RoleUser, "wizard"),
	} {
		var mistake *llama.ParamError
		if !errors.As(err, &mistake) || mistake.Field != field {
			t.Errorf("%v, want a ParamError about %s", err, field)
		}
	}
	if err := template(llama.RoleSystem, llama.RoleUser, llama.RoleAssistant, llama.RoleUser); err != nil {
		t.Error(err)
	}
	told, err := m.Tokenizer().Template(user("hi"), llama.TemplateOptions{Tools: []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"f"}}`)}})
	if text := m.Tokenizer().Decode(told...); err != nil || !strings.Contains(text, `"name":"f"`) || !strings.Contains(text, "<tool_call>") {
		t.Errorf("tools for a template that never looks at them: %v, %q", err, text)
	}
	if err := embed(); err != nil { // Pebble has a begin-of-text token, so that no text is empty
		t.Error(err)
	}
	var full *llama.ContextFullError
	capacity := s.Capacity()
	if err := s.Prefill(t.Context(), make([]llama.Token, capacity+3)); !errors.As(err, &full) || *full != (llama.ContextFullError{
		Want: capacity + 3, Room: capacity, Context: m.Config().ContextLength, Capacity: capacity,
	}) {
		t.Errorf("%v, want a ContextFullError of 3 tokens too many", err)
	}
	if !errors.Is(llama.ErrUnsupported, errors.ErrUnsupported) {
		t.Error("ErrUnsupported is not errors.ErrUnsupported")
	}
}

// TestContextFullSaysWhatHelps fills contexts that are limited by the cache, by the model's context, and by the latter in spite of
// evictions.
func TestContextFullSaysWhatHelps(t *testing.T) {
	m := pebbleModel(t)
	context := m.Config().ContextLength
	sliding := must(eviction.NewSlidingWindow(64, 4))
	for _, c := range []struct {
		name      string
		options   llama.SessionOptions
		have      int
		want, not []string
	}{
		{"a small cache", llama.SessionOptions{Capacity: 30}, 0, []string{
			fmt.Sprintf("%d tokens do not fit, there is room for 30", context+21), "capacity is 30 tokens", "2048", "SessionOptions.Capacity", "DropTurns", "eviction"}, []string{"after"}},
		{"some tokens before", llama.SessionOptions{Capacity: 30}, 8, []string{"do not fit after the 8 of the conversation, there is room for 22"}, nil},
		{"the model's context", llama.SessionOptions{Capacity: context}, 0, []string{"trained for 2048 tokens. ", "DropTurns", "ReanchorSinks"}, []string{"SessionOptions.Capacity"}},
		{"the model's context, with a policy", llama.SessionOptions{Eviction: sliding}, 0, []string{
			"trained for 2048 tokens, evicted ones included", "DropTurns", "ReanchorSinks"}, []string{"capacity", "Capacity"}},
	} {
		s := must(m.NewSession(&c.options))
		if err := s.Prefill(t.Context(), stream(c.have)); err != nil {
			t.Fatal(err)
		}
		err := s.Prefill(t.Context(), stream(context+21))
		if !errors.Is(err, llama.ErrContextFull) {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", c.name, err, want)
			}
		}
		for _, not := range c.not {
			if strings.Contains(err.Error(), not) {
				t.Errorf("%s: %q says %q", c.name, err, not)
			}
		}
		s.Close()
	}
}
