package constrain_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// A constraint serves models with the vocabulary that it was made for, whatever file the tokenizer came from, and no other one, not even
// one of the same size.
func TestMadeFor(t *testing.T) {
	model, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	constraint := func(tokenizer *llama.Tokenizer) llama.Constraint {
		c, err := constrain.Choice(tokenizer, "yes", "no")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, test := range []struct {
		name       string
		constraint llama.Constraint
		refused    bool
	}{
		{"its own", constraint(model.Tokenizer()), false},
		{"an equal one", constraint(pebbleTokenizer(t)), false},
		{"a program's own constraint", struct{ llama.Constraint }{constraint(model.Tokenizer())}, false},
		{"one with two tokens in each other's place", constraint(exchanged(t)), true},
		{"one of another model", constraint(tokenizer(t)), true},
	} {
		prompt, params := model.Tokenizer().EncodeSpecial("Answer: ", true), llama.Params{Constraint: test.constraint, MaxTokens: 3}
		session, err := model.NewSession(nil)
		if err != nil {
			t.Fatal(err)
		}
		_, bySession := llama.Collect(session.Generate(t.Context(), prompt, params))
		session.Close()
		pool, err := model.NewPool(nil)
		if err != nil {
			t.Fatal(err)
		}
		_, byPool := llama.Collect(pool.Generate(t.Context(), prompt, params))
		pool.Close()
		for _, err := range []error{bySession, byPool} {
			e, refused := errors.AsType[*llama.ParamError](err)
			if refused != test.refused || err != nil && !refused || refused && e.Field != "Params.Constraint" {
				t.Errorf("%s: %v", test.name, err)
			}
		}
	}
}

// exchanged returns Pebble's vocabulary with the numbers of two tokens exchanged.
func exchanged(t *testing.T) *llama.Tokenizer {
	data, err := os.ReadFile(fixture.Path(t, "pebble/hf/tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	ids := file["model"].(map[string]any)["vocab"].(map[string]any)
	ids["a"], ids["b"] = ids["b"], ids["a"]
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if data, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	tokenizer, err := llama.LoadTokenizer(path)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}
