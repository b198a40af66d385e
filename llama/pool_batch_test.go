package llama

import (
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// An answer whose loop's body panics leaves the batch, which would otherwise expect its next token.
func TestPanickedAnswerLeavesTheBatch(t *testing.T) {
	m := mustLoad(t, fixture.Path(t, "pebble/hf"), nil)
	p, err := m.NewPool(nil)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		for range p.Generate(t.Context(), []Token{1, 2, 3}, Params{}) {
			if len(m.batch.members) != 1 {
				t.Errorf("the batch expects %d answers, want one", len(m.batch.members))
			}
			panic("body")
		}
	}()
	if len(m.batch.members) != 0 {
		t.Errorf("the batch expects %d answers that are over", len(m.batch.members))
	}
}
