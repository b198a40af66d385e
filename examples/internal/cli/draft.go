package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/llama"
)

// Draft is the choice of what proposes the next tokens of an answer.
type Draft struct {
	Name string // lookup, or a smaller model's path or name; "": nothing
}

// lookup is the name of llama.PromptLookup.
const lookup = "lookup"

// Flags defines the flags.
func (d *Draft) Flags(f *Flags) {
	f.Group("Drafts", func() {
		f.StringVar(&d.Name, "draft", "", "`name` of what proposes the next tokens, which makes answers quicker and changes nothing else: lookup, for "+
			"answers that repeat much of the conversation, or the path of a smaller model with the same vocabulary; none: nothing")
	})
}

// Lookup reports whether it is llama.PromptLookup, which needs no model.
func (d *Draft) Lookup() bool { return d.Name == lookup }

// Open returns the Drafter for a model's answers, nil without -draft. capacity is that of the model's sessions. A smaller model runs on the
// same device as chosen, from which model was loaded. The function that Open returns closes the smaller model.
func (d *Draft) Open(ctx context.Context, chosen *Model, model *llama.Model, capacity int, stderr io.Writer) (llama.Drafter, func() error, error) {
	switch d.Name {
	case "":
		return nil, func() error { return nil }, nil
	case lookup:
		return llama.PromptLookup(llama.LookupOptions{}), func() error { return nil }, nil
	}
	choice := Model{Path: d.Name, Backend: chosen.Backend, Threads: chosen.Threads, Verbose: chosen.Verbose}
	small, closeSmall, err := choice.Load(ctx, stderr)
	if err != nil {
		return nil, nil, fmt.Errorf("-draft %s: %w", d.Name, err)
	}
	if !sameVocabulary(small.Tokenizer(), model.Tokenizer()) {
		return nil, nil, errors.Join(Usagef("-draft %s: the vocabulary must be that of %s", d.Name, chosen.Name()), closeSmall())
	}
	drafter, err := llama.NewDraftModel(small, &llama.SessionOptions{Capacity: min(capacity, small.Config().ContextLength)})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("-draft %s: %w", d.Name, err), closeSmall())
	}
	return drafter, closeSmall, nil
}

// sameVocabulary reports whether all tokens have the same texts.
func sameVocabulary(a, b *llama.Tokenizer) bool {
	if a.VocabSize() != b.VocabSize() {
		return false
	}
	for t := range llama.Token(a.VocabSize()) {
		if a.Text(t) != b.Text(t) {
			return false
		}
	}
	return true
}

// Drafted says how many of the proposed tokens that were computed an answer went on with; "" if there is no drafter.
func Drafted(d llama.Drafter, drafted, accepted int) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d proposed tokens accepted", accepted, drafted)
}
