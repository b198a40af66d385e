package constrain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/llama"
)

// An answer that its grammar leads to nowhere, or that is too much to follow, ends with an error that says so.
func TestAnswerError(t *testing.T) {
	effort.Turn(t, 8)
	tokenizer, err := llama.LoadTokenizer(fixture.Path(t, "pebble/hf/tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	deep := "root ::= \"yes\" r0\nr12000 ::= \"z\"\n"
	for i := range 12000 {
		deep += fmt.Sprintf("r%d ::= r%d \"x\"?\n", i, i+1)
	}
	for name, test := range map[string]struct {
		make func() (llama.Constraint, error)
		want error
	}{
		"leads to nothing": {func() (llama.Constraint, error) {
			return made(compile(t.Context(), tokenizer, "grammar", nil, func(l *jsonexpr.Language, g *grammar.Grammar) (grammar.Symbol, error) {
				nothing := grammar.Call(g.Add(grammar.Alternatives{}), 0)
				return grammar.Call(g.Add(grammar.Alternatives{{grammar.Text(l.Arena.Literal("yes")), nothing}}), 0), nil
			}))
		}, ErrRefused},
		"too complex": {func() (llama.Constraint, error) { return Grammar(tokenizer, deep) }, ErrTooComplex},
	} {
		c, err := test.make()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m := c.Start()
		for _, token := range tokenizer.EncodeContinuation("yes") {
			if err = m.Accept(token); err != nil {
				break
			}
		}
		if err == nil {
			err = m.Allowed(llama.NewTokenSet(tokenizer.VocabSize()))
		}
		if e, ok := errors.AsType[*AnswerError](err); !ok || !errors.Is(err, test.want) || e.Form != "grammar" || !strings.HasPrefix("yes", e.Text) {
			t.Errorf("%s: %v, want an AnswerError with %v", name, err, test.want)
		}
	}
}

// When a context has ended, nothing more is done for a schema or a tool.
func TestContext(t *testing.T) {
	tokenizer, err := llama.LoadTokenizer(fixture.Path(t, "pebble/hf/tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	schema := []byte(`{"type": "object", "properties": {"a": {"const": 1}}}`)
	if _, _, err := JSONSchemaContext(ctx, tokenizer, schema, SchemaOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a schema: %v", err)
	}
	if _, _, err := ToolsContext(ctx, tokenizer, []json.RawMessage{[]byte(`{"name": "f", "parameters": ` + string(schema) + `}`)}, ToolOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("tools: %v", err)
	}
}
