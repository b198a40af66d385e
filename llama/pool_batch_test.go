package llama

import (
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// After a panic in the loop's body an answer leaves the batch, which would otherwise expect its next token.
func TestPanickedAnswerLeavesTheBatch(t *testing.T) {
	m := mustLoad(t, fixture.Path(t, "pebble/hf"), nil)
	p, err := m.NewPool(nil)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		for range p.Generate(t.Context(), []Token{1, 2, 3}, Params{}) {
			if n, _ := m.batch.Company(nil); n != 1 {
				t.Errorf("the batch expects %d answers, want one", n)
			}
			panic("body")
		}
	}()
	if n, _ := m.batch.Company(nil); n != 0 {
		t.Errorf("the batch expects %d answers that are over", n)
	}
}

// Of two answers that wait for one that is cancelled, the later may be the first to go on with what it left. The earlier waits for it, and
// does not compute the same again.
func TestPoolWaitsForWhoGoesOn(t *testing.T) {
	m := mustLoad(t, fixture.Path(t, "pebble/hf"), nil)
	p, err := m.NewPool(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	prompt := make([]Token, 400)
	earlier := &conversation{tokens: prompt, prompting: true, seeking: true}
	later := &conversation{tokens: prompt, prompting: true, seeking: true}
	p.busy = []*conversation{earlier, later}
	if from, _, how := p.longest(earlier); how != fromNothing {
		t.Errorf("the earlier waits for %v (%d), which waits for it", from, how)
	}
	later.seeking, later.computed = false, 256 // it has taken what the cancelled one left
	if from, n, how := p.longest(earlier); how != byWaiting || from != later || n != len(prompt)-1 {
		t.Errorf("the earlier goes on with %d tokens of %v (%d); it should wait for the later", n, from, how)
	}
	p.busy = nil
}
