package tokenmask

import (
	"sync"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
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
	generation int              // counts the machines: states of an earlier one mean nothing to this one
	before     *grammar.Machine // the one of the generation before, from which states are moved; nil in the first
	limit      int              // what the two of them may come to, in bytes, before they are forgotten

	bytes atomic.Int64 // what they took when a matcher asked last
}

// usualBytes bounds the memory, in bytes, for the states that texts came to. Beyond it a new generation begins with an empty memory, into
// which a matcher moves its state: that takes no longer if its text is long. The generation before is kept for the other matchers. One
// that has rested for longer finds its way again from the beginning of its text. If a single state needs more than half as much, the bound
// grows, but never beyond maxBytes.
const (
	usualBytes = 12 << 20
	maxBytes   = 64 << 20
)

// NewLanguage returns the language of a grammar, which must not change any more. encode turns text into the tokens that the tokenizer
// writes it with, in the midst of a text. An error says that nothing belongs to the language, or that it is too complex.
func NewLanguage(v *Vocabulary, g *grammar.Grammar, encode func(text string) []int32) (*Language, error) {
	l := &Language{vocabulary: v, grammar: g, encode: encode, limit: usualBytes}
	if err := g.Arena.Err(); err != nil {
		return nil, err
	}
	l.forget(false)
	if err := l.machine.Err(); err != nil {
		return nil, err
	}
	if l.machine.Start() == grammar.Dead {
		return nil, errNothing
	}
	return l, nil
}

// forget begins a new generation. It has those masks of the one before that are of the grammar's expressions, unless that one failed.
func (l *Language) forget(failed bool) {
	masks := l.masks
	l.before = l.machine
	l.machine = grammar.NewMachine(l.grammar)
	l.masks = newMasks(l.vocabulary, l.machine.Arena())
	l.generation++
	if masks != nil && !failed {
		l.masks.take(masks, regular.Expr(l.grammar.Arena.Len()))
	}
	l.bytes.Store(int64(l.size() + l.rest()))
}

// rest returns about how much memory the generation before takes.
func (l *Language) rest() int {
	if l.before == nil {
		return 0
	}
	return l.before.Bytes()
}

// Bytes returns about how much memory the language takes, without what all languages of a vocabulary share. It does not wait for
// matchers.
func (l *Language) Bytes() int { return int(l.bytes.Load()) + l.grammar.Arena.Bytes() }

func (l *Language) size() int { return l.machine.Bytes() + l.masks.size }

// Start returns the matcher of a new text.
func (l *Language) Start() *Matcher {
	return &Matcher{language: l}
}
