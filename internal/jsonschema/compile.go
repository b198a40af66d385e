package jsonschema

import (
	"context"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsontext"
)

// Options says how a schema is compiled.
type Options struct {
	// Lossy makes a constraint of what can be promised and lists the rest. Without it, what cannot be promised is an error.
	Lossy bool
	// AnyOrder allows the properties of an object in any order, where there are not too many.
	AnyOrder bool
	// Budget is the work that the compilation may take, of its own if it is nil.
	Budget *Budget
}

// Compile adds the rules of a schema to g, whose arena is l.Arena, and returns the symbol of its values, and in lossy mode what was
// left out. An error of the budget's context ends it.
func Compile(text []byte, l *jsontext.Language, g *grammar.Grammar, o Options) (symbol grammar.Symbol, left []*UnsupportedError, err error) {
	if o.Budget == nil {
		o.Budget = NewBudget(context.Background())
	}
	source, err := parse(text)
	if err != nil {
		return symbol, nil, err
	}
	ledger := NewLedger(o.Lossy)
	for {
		symbol, err = attempt(source, l, g, o, ledger)
		if err != nil || ledger.Settled() {
			return symbol, ledger.Left, err
		}
	}
}

// attempt compiles, given what earlier attempts left out.
func attempt(source *source, l *jsontext.Language, g *grammar.Grammar, o Options, ledger *Ledger) (symbol grammar.Symbol, err error) {
	meter := newMeter(o.Budget, l.Arena)
	defer meter.catch(&err)
	sets := newSets(meter, l)
	emitter := newEmitter(sets, source, g, o.AnyOrder)
	all, top := readSchemas(source.root, meter, ledger)
	root := normalise(top, all, sets, source)
	return emitter.emit(root), nil
}
