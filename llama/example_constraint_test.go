package llama_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// lipogram is a Constraint that does without a letter. As nothing that was said changes what may come next, it is its own Matcher.
type lipogram struct{ tokens *llama.TokenSet }

// newLipogram finds the tokens without the letter.
func newLipogram(t *llama.Tokenizer, letter byte) lipogram {
	l := lipogram{llama.NewTokenSet(t.VocabSize())}
	for token := range llama.Token(t.VocabSize()) {
		if !t.Special(token) && !bytes.ContainsRune(bytes.ToLower(t.AppendBytes(nil, token)), rune(letter)) {
			l.tokens.Add(token)
		}
	}
	return l
}

func (l lipogram) Start() llama.Matcher                   { return l }
func (l lipogram) Clone() llama.Matcher                   { return l }
func (l lipogram) Accept(llama.Token) error               { return nil }
func (l lipogram) Forced(dst []llama.Token) []llama.Token { return dst }
func (l lipogram) Allowed(set *llama.TokenSet) error {
	copy(set.Words(), l.tokens.Words())
	set.SetEnd(true) // anywhere
	return nil
}

// A Constraint says what may come next, token by token. Package constrain makes them of schemas and grammars; here is one by hand, in
// the tradition of books without the letter e.
func ExampleConstraint() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	prompt := model.Tokenizer().EncodeSpecial("Once upon a time", true)
	answer, err := llama.Collect(session.Generate(context.Background(), prompt, llama.Params{
		Stop: []string{"."}, Constraint: newLipogram(model.Tokenizer(), 'e'),
	}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	// Output: a shy crow and Hana
}
