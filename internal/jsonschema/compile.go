package jsonschema

import (
	"context"

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

// Options says how a schema is compiled.
type Options struct {
	// Lossy leaves the parts that cannot be promised out of the constraint, and lists them. Without it, such a part is an error. Keywords that
	// say nothing, such as "required": null, are no errors then; see Tidy.
	Lossy bool
	// AnyOrder allows the properties of an object in any order, if there are not too many.
	AnyOrder bool
	// Budget is the work that the compilation may take. If it is nil, the compilation has a Budget of its own.
	Budget *Budget
}

// Compile adds the rules of a schema to g, which must use l.Arena. It returns the symbol of the schema's values and, in lossy mode, the
// conditions that were left out. An error of the budget's context ends it.
func Compile(text []byte, l *jsonexpr.Language, g *grammar.Grammar, o Options) (symbol grammar.Symbol, left []*UnsupportedError, err error) {
	if o.Budget == nil {
		o.Budget = NewBudget(context.Background())
	}
	if o.Lossy {
		text = Tidy(text)
	}
	doc, err := document.Parse(text)
	if err != nil {
		return symbol, nil, err
	}
	ledger := read.NewLedger(o.Lossy)
	for {
		symbol, err = attempt(doc, l, g, o, ledger)
		if err != nil || ledger.Settled() {
			return symbol, ledger.Left, err
		}
	}
}

// attempt compiles a schema, given what earlier attempts left out.
func attempt(doc *document.Document, l *jsonexpr.Language, g *grammar.Grammar, o Options, ledger *read.Ledger) (symbol grammar.Symbol, err error) {
	meter := limits.NewMeter(o.Budget, l.Arena)
	defer meter.Catch(&err)
	algebra := sets.New(meter, l)
	schemas, top := read.Read(doc.Root, meter, ledger)
	root := normal.Normalise(top, schemas, algebra, doc)
	return emit.Rules(root, algebra, doc, g, o.AnyOrder), nil
}
