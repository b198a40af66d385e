package jsonschema

import (
	"context"
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/emit"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/normal"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
)

// Budget is the work that compilations that belong together may take. One goroutine at a time uses a Budget.
type Budget = limits.Budget

// NewBudget returns a full Budget. Compilations that use it end when ctx does.
func NewBudget(ctx context.Context) *Budget { return limits.NewBudget(ctx) }

// UnsupportedError says that a constraint cannot promise what a keyword of a schema demands.
type UnsupportedError = limits.UnsupportedError

// MistakeError says that a part of the text is no schema, or one that no value can satisfy.
type MistakeError = limits.MistakeError

// Pointer returns the JSON pointer of a part of a document: the names on the way to it, from the outermost on.
func Pointer(names ...string) string {
	var at *document.Place
	for _, name := range names {
		at = at.At(name)
	}
	return at.String()
}

// TypeNames returns the types of values as schemas name them, in the order of the alphabet.
func TypeNames() []string { return read.TypeNames() }

// Options says how a schema is compiled.
type Options struct {
	// Lossy leaves the parts that cannot be promised, or that are wrong, out of the constraint, and lists them. Without it, such a part is an
	// error.
	Lossy bool
	// AnyOrder allows the properties of an object in any order, if there are not too many.
	AnyOrder bool
	// Spaces are the amounts of white space that a text may have: throughout one of them. Nil: the language's.
	Spaces []jsonexpr.Spaces
	// At is the JSON pointer, in the text, of the schema that is compiled: "" is the whole text. References and errors are about the text.
	At string
	// Types demands values of these types, as JSON Schema names them, beyond what the schema says; nil demands nothing.
	Types []string
	// Budget is the work that the compilation may take. If it is nil, the compilation has a Budget of its own.
	Budget *Budget
}

// Compile adds the rules of a schema to g, which must use l.Arena. It returns the symbol of the schema's values and, in lossy mode, the
// conditions that were left out. An error of the budget's context ends it.
func Compile(text []byte, l *jsonexpr.Language, g *grammar.Grammar, o Options) (symbol grammar.Symbol, left []*UnsupportedError, err error) {
	if o.Budget == nil {
		o.Budget = NewBudget(context.Background())
	}
	doc, err := document.Parse(text)
	if err != nil {
		return symbol, nil, err
	}
	a := &attempt{doc, l, g, o, read.Options{At: o.At, Types: read.TypesOf(o.Types)}}
	ledger := read.NewLedger(o.Lossy)
	for {
		symbol, err = a.compile(ledger)
		var mistake *limits.MistakeError
		if errors.As(err, &mistake) {
			if mistake.Reason == normal.NoValue {
				mistake = a.noValue(o.At)
				err = mistake
			}
			if wrong, _ := doc.Root.At(mistake.Path, nil); o.Lossy && ledger.Drop(wrong, mistake.Reason) {
				continue
			}
		}
		if err != nil || ledger.Settled() {
			return symbol, ledger.Left, err
		}
	}
}

// attempt is what attempts at one schema have in common.
type attempt struct {
	doc     *document.Document
	l       *jsonexpr.Language
	g       *grammar.Grammar
	options Options
	read    read.Options
}

// compile compiles the schema, given what earlier attempts left out.
func (a *attempt) compile(ledger *read.Ledger) (symbol grammar.Symbol, err error) {
	meter := limits.NewMeter(a.options.Budget, a.l.Arena)
	defer meter.Catch(&err)
	algebra := sets.New(meter, a.l)
	schemas, top := read.Read(a.doc.Root, a.read, meter, ledger)
	root := normal.Normalise(top, schemas, algebra, a.doc)
	if len(a.options.Spaces) == 0 {
		return emit.Rules(root, algebra, a.doc, a.g, a.options.AnyOrder), nil
	}
	var ways grammar.Alternatives
	for _, spaces := range a.options.Spaces {
		written := *algebra
		written.Language = a.l.Spaced(spaces)
		ways = append(ways, []grammar.Symbol{emit.Rules(root, &written, a.doc, a.g, a.options.AnyOrder)})
	}
	if len(ways) == 1 {
		return ways[0][0], nil
	}
	return grammar.Call(a.g.Add(ways), 0), nil
}

// noValue returns the error about the schema at a pointer, which no value satisfies. It names the innermost part that alone is why: a required
// property, say.
func (a *attempt) noValue(at string) *limits.MistakeError {
	for seen := map[string]bool{}; !seen[at]; { // a schema may demand itself
		seen[at] = true
		inner := ""
		for _, child := range document.Demanded(a.doc.Root, at) {
			part := attempt{a.doc, a.l, grammar.New(a.l.Arena), a.options, read.Options{At: child}}
			var mistake *limits.MistakeError
			if _, err := part.compile(read.NewLedger(a.options.Lossy)); errors.As(err, &mistake) && mistake.Reason == normal.NoValue {
				inner = child
				break
			}
		}
		if inner == "" {
			break
		}
		at = inner
	}
	if at == "" {
		return &limits.MistakeError{Reason: normal.NoValue}
	}
	return &limits.MistakeError{Path: at, Reason: fmt.Sprintf("%s at %q", normal.NoValue, at)}
}
