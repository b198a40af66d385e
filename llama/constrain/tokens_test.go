package constrain_test

import (
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// Constraints are in the memory of each model that has some.
func TestConstraintsAreCounted(t *testing.T) {
	load := func() *llama.Model {
		m, err := llama.Load(fixture.Path(t, "pebble/hf"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	first, second := load(), load()
	if n := first.MemoryUsage().Constraints; n != 0 {
		t.Errorf("%d bytes before the first constraint", n)
	}
	made, err := constrain.Choice(first.Tokenizer(), "yes", "no")
	if err != nil {
		t.Fatal(err)
	}
	vocabulary := first.MemoryUsage().Constraints
	if vocabulary < 100_000 || vocabulary > 4_000_000 {
		t.Errorf("%d bytes after the first constraint", vocabulary)
	}
	set := llama.NewTokenSet(first.Tokenizer().VocabSize())
	if err := made.Start().Allowed(set); err != nil {
		t.Fatal(err)
	}
	used := first.MemoryUsage().Constraints
	if used <= vocabulary {
		t.Errorf("%d bytes before a constraint is used, %d after it", vocabulary, used)
	}
	if _, err := constrain.Choice(second.Tokenizer(), "yes", "no"); err != nil {
		t.Fatal(err)
	}
	if n := second.MemoryUsage().Constraints; n < vocabulary {
		t.Errorf("a second model with the vocabulary has %d bytes of constraints, the first %d", n, vocabulary)
	}
}
