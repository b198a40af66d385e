//go:build opencl && (amd64 || arm64)

package opencl_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

// lowercase is a Constraint: tokens of lower-case letters and spaces, after four of them two that are forced, and so on up to length.
type lowercase struct {
	allowed []uint64
	forced  []llama.Token
	length  int
	n       int
}

func newLowercase(t *llama.Tokenizer) *lowercase {
	set := llama.NewTokenSet(t.VocabSize())
	for i := range set.Size() {
		text := t.AppendBytes(nil, llama.Token(i))
		if len(text) > 0 && strings.Trim(string(text), " abcdefghijklmnopqrstuvwxyz") == "" {
			set.Add(llama.Token(i))
		}
	}
	return &lowercase{allowed: set.Words(), forced: t.EncodeContinuation(" and")[:1], length: 24}
}

func (l *lowercase) Start() llama.Matcher { return l.Clone() }

func (l *lowercase) Clone() llama.Matcher {
	c := *l
	return &c
}

func (l *lowercase) Allowed(set *llama.TokenSet) error {
	if set.SetEnd(l.n >= l.length); l.n < l.length {
		copy(set.Words(), l.allowed)
	}
	return nil
}

func (l *lowercase) Accept(t llama.Token) error {
	if l.allowed[t/64]>>(t%64)&1 == 0 {
		return errors.New("not in lower case")
	}
	l.n++
	return nil
}

func (l *lowercase) Forced(dst []llama.Token) []llama.Token {
	if l.n%6 == 4 {
		dst = append(dst, l.forced[0], l.forced[0])
	}
	return dst
}

// TestConstrainedAnswers chooses on the device among what a constraint allows, in every way, and compares with the CPU.
func TestConstrainedAnswers(t *testing.T) {
	d, here := load(t, device(t)), load(t, nil)
	c := newLowercase(here.Tokenizer())
	prompt := here.Tokenizer().EncodeSpecial("Once upon a time", true)
	for name, p := range map[string]llama.Params{
		"greedy": {}, "top-k": {Temperature: 1.5, TopK: 20, Seed: 3}, "top-p": {Temperature: 0.8, TopP: 0.9, Seed: 4}, "flat": {Temperature: 3, Seed: 5},
		"many": {Temperature: 1, TopK: 500, Seed: 6}, "nearly greedy": {Temperature: 0.001}, "a penalty": {RepeatPenalty: 1.2},
	} {
		p.Constraint = c
		var answers [2]llama.Piece
		for i, m := range []*llama.Model{d, here} {
			s := session(t, m, nil)
			var err error
			if answers[i], err = llama.Collect(s.Generate(context.Background(), prompt, p)); err != nil {
				t.Fatal(err)
			}
		}
		got, want := answers[0], answers[1]
		if !slices.Equal(got.Tokens, want.Tokens) || got.Stop != llama.EndOfTurn || got.Stats.ForcedTokens != 8 {
			t.Errorf("%s: %q (%v), %d tokens forced; on the CPU %q", name, got.Text, got.Stop, got.Stats.ForcedTokens, want.Text)
		}
	}
}
