package flint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// constrainedEvery says that the tests of constrained answers take every n-th conversation of those that have n times some: all of them
// where ANTIGRAVITY_EVAL is "all".
func constrainedEvery(some int) int {
	switch {
	case effort.All():
		return 1
	case asm.Tier() == "generic":
		return 4 * some
	}
	return some
}

// ask answers a conversation under a constraint.
func ask(t *testing.T, s *llama.Session, history []llama.Message, p llama.Params) llama.Piece {
	t.Helper()
	p.MaxTokens = 300
	answer, err := llama.Collect(s.Chat(t.Context(), history, p))
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// TestConstrainedCalls answers each turn of conversations with tools, held to functions that are offered and to the schemas of their
// arguments. The likeliest answers are those that are expected. Drawn at temperature 1, they are often not, and valid all the same.
func TestConstrainedCalls(t *testing.T) {
	effort.Turn(t, 8)
	s := session(t, nil)
	turns, drawnCalls, drawnRight := 0, 0, 0
	for n, c := range toolConversations(t, constrainedEvery(12)) {
		history, tools, calls := c.offered(t)
		constraint, err := constrain.Tools(model(t).Tokenizer(), tools, constrain.ToolOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p := llama.Params{Template: llama.TemplateOptions{Tools: tools}, Constraint: constraint}
		for i, want := range history {
			if want.Role != llama.RoleAssistant {
				continue
			}
			turns++
			right := func(got llama.Message) bool {
				return got.Content == want.Content && reflect.DeepEqual(withoutIDs(got.ToolCalls), calls[i])
			}
			if got := ask(t, s, history[:i], p); !right(got.Message) {
				t.Errorf("%q: the answer is %+v", c.Messages, got.Message)
			}
			drawn := p
			drawn.Temperature, drawn.Seed = 1, uint64(n)
			got := ask(t, s, history[:i], drawn)
			if right(got.Message) {
				drawnRight++
			}
			drawnCalls += len(got.Message.ToolCalls)
			if err := validCalls(tools, got); err != nil {
				t.Errorf("%v: %+v", err, got)
			}
		}
	}
	t.Logf("%d turns; at temperature 1 with %d calls, %d of the turns as expected", turns, drawnCalls, drawnRight)
	if turns == 0 || drawnCalls == 0 {
		t.Error("no call was judged")
	}
}

// validCalls returns the fault of an answer as an error, or nil: a call of a function that is not offered, arguments that do not fit, a
// text that was to be a call, no end.
func validCalls(tools []json.RawMessage, answer llama.Piece) error {
	schemas := map[string]json.RawMessage{}
	for _, tool := range tools {
		var f struct {
			Function struct {
				Name       string
				Parameters json.RawMessage
			}
		}
		if err := json.Unmarshal(tool, &f); err != nil {
			return err
		}
		schemas[f.Function.Name] = f.Function.Parameters
	}
	for _, call := range answer.Message.ToolCalls {
		if schemas[call.Name] == nil {
			return fmt.Errorf("%q is not offered", call.Name)
		}
		if err := fits(schemas[call.Name], call.Arguments); err != nil {
			return err
		}
	}
	if strings.Contains(answer.Message.Content, `{"name"`) {
		return fmt.Errorf("a call is text")
	}
	if answer.Stop != llama.EndOfTurn && answer.Stop != llama.ToolCalled {
		return fmt.Errorf("the answer ends with %v", answer.Stop)
	}
	return nil
}

// fits returns why a text is not JSON that fits a schema. The judge shares nothing with this module.
func fits(schema, text []byte) error {
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("file:///schema.json", decoded); err != nil {
		return err
	}
	judge, err := compiler.Compile("file:///schema.json")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return judge.Validate(value)
}

// TestConstrainedExtractions answers in JSON of the schema that the system turn gives, held to it. The likeliest answers are those that
// are expected, and drawn ones are valid.
func TestConstrainedExtractions(t *testing.T) {
	effort.Turn(t, 8)
	const ahead = "Answer in JSON of this schema:\n"
	s := session(t, nil)
	every, found, judged, right := constrainedEvery(8), 0, 0, 0
	for _, c := range readConversations(t, 1) {
		if c.Skill != "extract" {
			continue
		}
		if found++; found%every != 0 {
			continue
		}
		judged++
		history, want := messages(c.Messages[:len(c.Messages)-1]), c.Messages[len(c.Messages)-1][1]
		_, schema, ok := strings.Cut(history[0].Content, ahead)
		if !ok {
			t.Fatalf("the system turn has no schema: %q", history[0].Content)
		}
		constraint, _, err := constrain.JSONSchemaWith(model(t).Tokenizer(), []byte(schema), constrain.SchemaOptions{Ordered: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := ask(t, s, history, llama.Params{Constraint: constraint}); got.Text != want {
			t.Errorf("%q: the answer is %q", c.Messages, got.Text)
		}
		drawn := ask(t, s, history, llama.Params{Constraint: constraint, Temperature: 1, Seed: uint64(found)})
		if drawn.Text == want {
			right++
		}
		if err := fits([]byte(schema), []byte(drawn.Text)); err != nil || drawn.Stop != llama.EndOfTurn {
			t.Errorf("%q, stop %v: %v", drawn.Text, drawn.Stop, err)
		}
	}
	t.Logf("%d extractions; at temperature 1, %d as expected", judged, right)
	if judged == 0 {
		t.Error("no extraction was judged")
	}
}
