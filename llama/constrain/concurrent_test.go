package constrain_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// Constraints of one vocabulary, made and followed on many goroutines at once, allow what they allow alone. It is a test for the race
// detector, too.
func TestConcurrent(t *testing.T) {
	const documents = `{"name": "Ann", "mail": "ann@example.com", "words": "one two", "n": 12}`
	schema := func(i int) string {
		return fmt.Sprintf(`{"type": "object", "properties": {"name": {"type": "string", "maxLength": %d}, "mail": {"type": "string", "format": "email"},
			"words": {"type": "string", "pattern": "^[a-z ]+$", "maxLength": %d}, "n": {"type": "integer", "minimum": %d}}, "required": ["name"]}`, 20+i, 30+i, i)
	}
	follow := func(tok *llama.Tokenizer, i int) (sets [][]uint64, err error) {
		c, err := constrain.JSONSchema(tok, []byte(schema(i)))
		if err != nil {
			return nil, err
		}
		m, set := c.Start(), llama.NewTokenSet(tok.VocabSize())
		for _, token := range tok.EncodeContinuation(documents) {
			if err := m.Allowed(set); err != nil {
				return nil, err
			}
			sets = append(sets, slices.Clone(set.Words()))
			m.Forced(nil)
			if err := m.Accept(token); err != nil {
				return nil, err
			}
		}
		return sets, nil
	}
	const schemas = 3
	var alone [schemas][][]uint64
	for i := range alone {
		var err error
		if alone[i], err = follow(tokenizer(t), i); err != nil {
			t.Fatal(err)
		}
	}
	together := newTokenizer(t) // a vocabulary with nothing prepared yet
	var group sync.WaitGroup
	for g := range 3 * schemas {
		group.Go(func() {
			sets, err := follow(together, g%schemas)
			if err != nil {
				t.Error(err)
			} else if !slices.EqualFunc(sets, alone[g%schemas], slices.Equal) {
				t.Errorf("schema %d allows other tokens in company", g%schemas)
			}
		})
	}
	group.Wait()
}
