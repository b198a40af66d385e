package tokenmask

import (
	"sync"

	"github.com/antigravity-go/antigravity/internal/grammar"
)

// Language is the texts of a grammar, in tokens of a vocabulary. It is safe for concurrent use: matchers of the same language take
// turns.
type Language struct {
	vocabulary *Vocabulary
	grammar    *grammar.Grammar

	mu         sync.Mutex
	machine    *grammar.Machine
	masks      *masks
	generation int // counts the machines: states of an earlier one mean nothing to this one
	limit      int // what the two of them may come to, in bytes, before they are forgotten
}

// usualBytes bounds the memory, in bytes, for the states that texts came to. Beyond it everything is forgotten, and matchers find their way
// again from the beginning of their texts. If a single text needs more than half as much, the bound grows, but never beyond maxBytes.
const (
	usualBytes = 24 << 20
	maxBytes   = 64 << 20
)

// NewLanguage returns the language of a grammar, which must not change any more. An error says that nothing belongs to it, or that it is too complex.
func NewLanguage(v *Vocabulary, g *grammar.Grammar) (*Language, error) {
	l := &Language{vocabulary: v, grammar: g, limit: usualBytes}
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
}

// Bytes returns about how much memory the language takes, without what all languages of a vocabulary share.
func (l *Language) Bytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size() + l.grammar.Arena.Bytes()
}

func (l *Language) size() int { return l.machine.Bytes() + l.masks.size }

// Start returns the matcher of a new text.
func (l *Language) Start() *Matcher {
	return &Matcher{language: l}
}
