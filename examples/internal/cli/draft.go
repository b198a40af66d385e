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
	Name   string // a word that Simple knows, or a smaller model's path or name; "": the program's default
	Always bool   // the default is what suits every model, and not nothing
}

// The names of Drafters that need no other model: llama.PromptLookup and llama.SelfDraft.
const (
	lookup = "lookup"
	own    = "own"
)

// Flags defines the flags.
func (d *Draft) Flags(f *Flags) {
	unless := "nothing, as none does"
	if d.Always {
		unless = "lookup and own, whichever promises more; none: nothing"
	}
	f.Group("Drafts", func() {
		f.StringVar(&d.Name, "draft", "", "`name` of what proposes the next tokens, which makes answers quicker and changes nothing else: lookup, for "+
			"answers that repeat much of the conversation, own, for a model with a head that predicts further tokens, or the path of a smaller model "+
			"with the same vocabulary; not given: "+unless)
	})
}

// Simple returns the Drafter if it needs no other model, nil for nothing; ok is false if it does.
func (d *Draft) Simple() (drafter llama.Drafter, ok bool) {
	switch d.Name {
	case "":
		if d.Always {
			drafter = llama.MultiDrafter(llama.SelfDraft(), llama.PromptLookup(llama.LookupOptions{}))
		}
	case none:
	case lookup:
		drafter = llama.PromptLookup(llama.LookupOptions{})
	case own:
		drafter = llama.SelfDraft()
	default:
		return nil, false
	}
	return drafter, true
}

// Open returns the Drafter for a model's answers, nil without -draft. capacity is that of the model's sessions. A smaller model runs on the
// same device as chosen, from which model was loaded. The function that Open returns closes the smaller model.
func (d *Draft) Open(ctx context.Context, chosen *Model, model *llama.Model, capacity int, stderr io.Writer) (llama.Drafter, func() error, error) {
	if drafter, ok := d.Simple(); ok {
		if d.Name == own && !model.DraftsItself() {
			return nil, nil, Usagef("-draft own: %s has no head that predicts further tokens", chosen.Name())
		}
		return drafter, func() error { return nil }, nil
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
