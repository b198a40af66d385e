package gbnf

import (
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// kind is the kind of a node.
type kind uint8

const (
	text     kind = iota // expr
	ref                  // a rule
	sequence             // its parts, in order
	choice               // one of its parts
	repeat               // its only part, from least to most times
)

// node is a part of a rule.
type node struct {
	kind        kind
	at          int // its place in the source
	expr        regular.Expr
	cost        int  // of a text: about how many expressions it is made of
	many        bool // of a text: it takes one of many characters
	rule        int  // of a ref
	parts       []*node
	least, most int // most may be regular.Unbounded

	parent     *node // nil: the rule is body's
	owner      int   // the rule that it stands in
	missing    int   // while marks spread: parts without a mark
	nullable   bool  // the empty text belongs to it
	productive bool  // some text belongs to it
	facts      *facts
}

// rule is a rule of the grammar.
type rule struct {
	name    string
	at      int     // the place of its definition, or of its first use as long as it is not defined
	body    *node   // nil: not yet defined
	refs    []*node // the nodes that use it
	reached bool    // from root

	one   bool           // it is one expression, expr
	expr  regular.Expr   // as one expression
	added bool           // it is the grammar's rule id
	id    grammar.RuleID // if added
}

// facts are what the compiler has found out about a part.
type facts struct {
	solid bool // it may become one expression, or a part of one
	cost  int  // about how many expressions that takes
	own   int  // cost without that of the rules that are used
	many  bool // somewhere it takes one of many characters
	wide  bool // somewhere it takes any number, or a large one, of these
	open  bool // it may do so at the end of its texts
}

// closed reports whether texts have a loop over many characters, followed by an end that identifies them.
func (f *facts) closed() bool { return f.wide && !f.open }

// manyCharacters is from how many characters on a class counts as one of many.
const manyCharacters = 64
