package jsonschema

import (
	"cmp"
	"context"
	"net/url"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/regular"
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

// compiler compiles one schema.
type compiler struct {
	o     Options
	l     *jsonexpr.Language
	r     *regular.Arena
	g     *grammar.Grammar
	lossy bool

	source    *source
	schemas   map[schemaKey]*schema
	unread    []*schema
	list      []*schema // by id
	always    *schema
	singles   map[*value]*schema // of only
	here      *schema            // what is being compiled, as far as known
	depth     int                // calls that are within each other: see deeper
	whole     *resource
	inner     map[schemaKey]*resource // of the schemas below whole
	uris      map[string]int          // the resource.id of each
	indexed   bool
	resources map[string]*resource
	anchors   map[anchorKey]anchor
	dynamic   map[string]int // how many $dynamicAnchor there are with a name
	patterns  map[string]compiled
	verdicts  map[question]verdict             // of valid
	listings  map[**schema]map[int32][]*schema // of listing, by the first schema of a list
	writings  map[*value]regular.Expr
	attempts

	nodes        map[string]*node
	order        []*node // in the order in which they came into being
	undefined    []*node // whose rules are still to be made
	key          []byte
	work         int
	effort       int // of the arena that is spent already
	zeroFraction bool
	quote        regular.Expr
	plain        regular.Expr    // all plain decimals; None: not asked for
	open, shut   [2]regular.Expr // of arrays and of objects, with the white space inside
}

// attempts is what one attempt at a lossy schema finds out for the next one: a schema that something was left out of may have been
// taken for a whole one before.
type attempts struct {
	loose map[spot]bool
	noted map[UnsupportedError]bool
	left  *[]*UnsupportedError
}

// spot is a schema of the text, in any attempt.
type spot struct{ v, root *value }

// Bounds of a compilation.
const (
	maxWork   = 20_000 // alternatives of arrays and objects that are looked at
	maxNodes  = 50_000
	maxEffort = 12_000_000 // expressions that are looked at
)

// Compile adds the rules of a schema to g, whose arena is l.Arena, and returns the symbol of its values, and in lossy mode what was
// left out. An error of the budget's context ends it.
func Compile(text []byte, l *jsonexpr.Language, g *grammar.Grammar, o Options) (symbol grammar.Symbol, left []*UnsupportedError, err error) {
	if o.Budget == nil {
		o.Budget = NewBudget(context.Background())
	}
	source, err := parse(text)
	if err != nil {
		return symbol, nil, err
	}
	seen := attempts{map[spot]bool{}, map[UnsupportedError]bool{}, &left}
	for {
		known := len(seen.loose)
		symbol, err = newCompiler(source, l, g, o, seen).run()
		if err != nil || len(seen.loose) == known || known > maxLeft {
			return symbol, left, err
		}
	}
}

func newCompiler(source *source, l *jsonexpr.Language, g *grammar.Grammar, o Options, seen attempts) *compiler {
	c := &compiler{
		o: o, l: l, r: l.Arena, g: g, lossy: o.Lossy, source: source, attempts: seen,
		schemas: map[schemaKey]*schema{}, inner: map[schemaKey]*resource{}, uris: map[string]int{}, resources: map[string]*resource{},
		anchors: map[anchorKey]anchor{}, dynamic: map[string]int{}, singles: map[*value]*schema{}, patterns: map[string]compiled{},
		verdicts: map[question]verdict{}, writings: map[*value]regular.Expr{}, listings: map[**schema]map[int32][]*schema{},
		nodes: map[string]*node{}, effort: l.Arena.Effort(),
		quote: l.Arena.Literal(`"`),
	}
	r := c.r
	for i, signs := range [...]string{"[]", "{}"} {
		c.open[i], c.shut[i] = r.Concat(r.Literal(signs[:1]), l.Space), r.Concat(l.Space, r.Literal(signs[1:]))
	}
	return c
}

// run compiles.
func (c *compiler) run() (symbol grammar.Symbol, err error) {
	defer func() {
		e := recover()
		f, ok := e.(failure)
		if e != nil && !ok {
			panic(e)
		}
		o := c.o.Budget
		if err = f.err; c.r.Err() != nil && o.ctx.Err() == nil { // then nothing that was found out is right
			err = c.outgrown()
		}
	}()
	v := c.source.root
	draft, base := draftOf(v, draft2020), &url.URL{}
	if id := draft.identity(v); id != "" {
		if u, err := url.Parse(id); err == nil {
			u.Fragment, u.RawFragment = "", ""
			base = u
		}
	}
	c.whole = c.newResource(base, v, nil, draft)
	c.always = c.add(&schema{in: c.whole}, func(s *schema) { s.trivial = true })
	top := c.read(v, c.whole, nil)
	c.readAll()
	root := c.node(is(top))
	c.reach(root)
	c.findProductive()
	if !root.productive {
		c.fail("no value satisfies the schema")
	}
	symbol = c.symbol(root)
	c.define()
	return symbol, nil
}

// outgrown returns the error that the expressions of the schema that is being compiled are too many.
func (c *compiler) outgrown() error {
	s := cmp.Or(c.here, c.always)
	return &UnsupportedError{s.telling("pattern"), s.path.String(), "the patterns, formats, bounds and listed values here are too complex together"}
}
