package jsonschema

import (
	"context"
	"net/url"
	"strings"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsontext"
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
	l     *jsontext.Language
	r     *regular.Arena
	g     *grammar.Grammar
	lossy bool

	schemas   map[schemaKey]*schema
	list      []*schema // by id
	always    *schema
	singles   map[*value]*schema // of only
	here      *schema            // what is being compiled, as far as known
	whole     *resource
	refAlone  bool // what stands beside $ref is ignored, as in draft 7 and before
	indexed   bool
	resources map[string]*resource
	anchors   map[string]anchor
	dynamic   map[string]int // how many $dynamicAnchor there are with a name
	patterns  map[string]compiled
	loose     map[string]bool // paths of schemas that something is left out of
	left      []*UnsupportedError

	nodes        map[string]*node
	order        []*node // in the order in which they came into being
	key          []byte
	work         int
	zeroFraction bool
	quote        regular.Expr
	open, shut   [2]regular.Expr // of arrays and of objects, with the white space inside
}

// Bounds of a compilation.
const (
	maxWork   = 20_000 // alternatives of arrays and objects that are looked at
	maxNodes  = 50_000
	maxEffort = 12_000_000 // expressions that are looked at
)

// Compile adds the rules of a schema to g, whose arena is l.Arena, and returns the symbol of its values, and in lossy mode what was
// left out.
func Compile(source []byte, l *jsontext.Language, g *grammar.Grammar, o Options) (symbol grammar.Symbol, left []*UnsupportedError, err error) {
	v, err := parse(source)
	if err != nil {
		return symbol, nil, err
	}
	if o.Budget == nil {
		o.Budget = NewBudget(context.Background())
	}
	loose := map[string]bool{}
	for {
		c := newCompiler(v, l, g, o, loose)
		known := len(loose)
		symbol, err = c.run()
		for _, s := range c.list {
			if s.inexact {
				loose[s.path] = true
			}
		}
		if err != nil || len(loose) == known || known > maxLeft {
			return symbol, c.left, err
		}
	}
}

func newCompiler(v *value, l *jsontext.Language, g *grammar.Grammar, o Options, loose map[string]bool) *compiler {
	c := &compiler{
		o: o, l: l, r: l.Arena, g: g, lossy: o.Lossy, loose: loose,
		schemas: map[schemaKey]*schema{}, resources: map[string]*resource{}, anchors: map[string]anchor{}, dynamic: map[string]int{}, singles: map[*value]*schema{}, patterns: map[string]compiled{},
		nodes: map[string]*node{},
		quote: l.Arena.Literal(`"`),
	}
	r := c.r
	for i, signs := range [...]string{"[]", "{}"} {
		c.open[i], c.shut[i] = r.Concat(r.Literal(signs[:1]), l.Space), r.Concat(l.Space, r.Literal(signs[1:]))
	}
	base := &url.URL{}
	if id := identity(v); id != "" {
		if u, err := url.Parse(id); err == nil {
			u.Fragment, u.RawFragment = "", ""
			base = u
		}
	}
	c.whole = &resource{base: base, root: v}
	if draft := v.get("$schema"); draft != nil {
		for _, old := range []string{"draft-03", "draft-04", "draft-05", "draft-06", "draft-07"} {
			c.refAlone = c.refAlone || strings.Contains(draft.text, old)
		}
	}
	c.always = c.add(&schema{in: c.whole}, func(s *schema) { s.trivial = true })
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
		if err = f.err; c.r.Err() != nil { // then nothing that was found out is right
			err = c.outgrown()
		}
	}()
	root := c.node(is(c.read(c.whole.root, c.whole, "")))
	c.reach(root)
	c.findProductive()
	if !root.productive {
		c.fail("no value satisfies the schema")
	}
	return c.symbol(root), nil
}

// outgrown returns the error that the expressions of the schema that is being compiled are too many.
func (c *compiler) outgrown() error {
	e := &UnsupportedError{Keyword: "pattern", Reason: "the patterns, formats, bounds and listed values here are too complex together"}
	if s := c.here; s != nil {
		switch e.Path = s.path; {
		case s.hasPattern:
		case s.format != "":
			e.Keyword = "format"
		case s.number != nil:
			e.Keyword = "multipleOf"
		case s.enums != nil:
			e.Keyword = "enum"
		case s.byPattern != nil:
			e.Keyword = "patternProperties"
		}
	}
	return e
}
