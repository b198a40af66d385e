package tokenmask

import (
	"sync"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/internal/grammar"
)

// Language is the texts of a grammar, in tokens of a vocabulary. It is safe for concurrent use: matchers of the same language take
// turns.
type Language struct {
	vocabulary *Vocabulary
	grammar    *grammar.Grammar
	encode     func(text string) []int32

	mu         sync.Mutex
	machine    *grammar.Machine
	masks      *masks
	generation int // counts the machines: states of an earlier one mean nothing to this one
	limit      int // what the two of them may come to, in bytes, before they are forgotten

	bytes atomic.Int64 // what they took when a matcher asked last
}

// usualBytes bounds the memory, in bytes, for the states that texts came to. Beyond it everything is forgotten, and matchers find their way
// again from the beginning of their texts. If a single text needs more than half as much, the bound grows, but never beyond maxBytes.
const (
	usualBytes = 24 << 20
	maxBytes   = 64 << 20
)

// NewLanguage returns the language of a grammar, which must not change any more. encode turns text into the tokens that the tokenizer
// writes it with, in the midst of a text. An error says that nothing belongs to the language, or that it is too complex.
func NewLanguage(v *Vocabulary, g *grammar.Grammar, encode func(text string) []int32) (*Language, error) {
	l := &Language{vocabulary: v, grammar: g, encode: encode, limit: usualBytes}
	if err := g.Arena.Err(); err != nil {
		return nil, err
	}
	l.forget()
	if err := l.machine.Err(); err != nil {
		return nil, err
	}
	if l.machine.Start() == grammar.Dead {
		return nil, errNothing
	}
	return l, nil
}

// forget begins anew with an empty memory.
func (l *Language) forget() {
	l.machine = grammar.NewMachine(l.grammar)
	l.masks = newMasks(l.vocabulary, l.machine.Arena())
	l.generation++
	l.bytes.Store(int64(l.size()))
}

// Bytes returns about how much memory the language takes, without what all languages of a vocabulary share. It does not wait for
// matchers.
func (l *Language) Bytes() int { return int(l.bytes.Load()) + l.grammar.Arena.Bytes() }

func (l *Language) size() int { return l.machine.Bytes() + l.masks.size }

// Start returns the matcher of a new text.
func (l *Language) Start() *Matcher {
	return &Matcher{language: l}
}
