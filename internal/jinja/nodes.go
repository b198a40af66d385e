package jinja

// expression is a node of the tree that has a value.
type expression interface {
	eval(e *evaluator) (Value, error)
}

// statement is a node that writes, assigns or repeats.
type statement interface {
	exec(e *evaluator) (flow, error)
}

// flow says how a statement ended.
type flow uint8

const (
	onward flow = iota
	breaking
	continuing
)

// Expressions. Chains of operators of one level are one node, so that the tree is no deeper than the brackets are.
type (
	constant struct{ value Value }
	variable struct {
		name string
		line int
	}
	listNode struct {
		items []expression
		tuple bool
	}
	dictNode    struct{ keys, values []expression }
	conditional struct{ test, then, otherwise expression } // otherwise is nil when there is none
	logic       struct {
		terms []expression
		until bool // true for "or": the first term with this truth is the value
	}
	negation   struct{ of expression }
	comparison struct {
		first expression
		line  int
		rest  []operation
	}
	arithmetic struct { // +, -; *, /, //, %; **
		first expression
		line  int
		rest  []operation
	}
	operation struct {
		operator string
		operand  expression
	}
	concatenation struct {
		terms []expression
		line  int
	}
	signed struct {
		of    expression
		line  int
		minus bool
	}
	suffixed struct {
		of    expression
		steps []step
	}
)

// A step is what follows an operand: an attribute, an item, a call, a filter or a test.
type step interface {
	apply(e *evaluator, v Value) (Value, error)
}

type (
	attributeStep struct {
		name string
		line int
	}
	itemStep struct {
		key  expression
		line int
	}
	sliceStep struct {
		from, to, by expression // nil: left out
		line         int
	}
	callStep struct {
		with arguments
		line int
	}
	methodStep struct {
		name string
		with arguments
		line int
	}
	filterStep struct {
		name string
		do   *builtin // nil: there is no such filter, in a branch that may never be taken
		with arguments
		line int
	}
	testStep struct {
		name    string
		do      *builtin
		with    arguments
		negated bool
		line    int
	}
)

// arguments are those of a call, as expressions.
type arguments struct {
	values []expression
	named  []namedExpression
	star   expression // *values, or nil
	stars  expression // **named, or nil
}

type namedExpression struct {
	name string
	expression
}

// Statements.
type (
	text   struct{ value Text }
	output struct {
		of   expression
		line int
	}
	ifNode struct {
		tests    []expression
		branches [][]statement // one more than tests when there is an else
		line     int
	}
	forNode struct {
		target          target
		over            expression
		filter          expression // or nil
		body, otherwise []statement
		recursive       bool
		line            int
	}
	jump    struct{ how flow }
	setNode struct {
		target target
		value  expression // nil: the body is captured
		body   []statement
		steps  []step // filters on the captured body
		line   int
	}
	withNode struct {
		targets []target
		values  []expression
		body    []statement
		line    int
	}
	scopeNode  struct{ body []statement } // generation
	filterNode struct {
		steps []step
		body  []statement
		line  int
	}
	macroNode struct {
		name     string
		params   []string
		defaults []expression // of the last parameters
		body     []statement
		varargs  bool // the body reads varargs, kwargs, caller
		kwargs   bool
		caller   bool
		line     int
	}
	callNode struct {
		caller *macroNode
		of     expression
		line   int
	}
)

// target is what a value is assigned to: a variable, a namespace's attribute, or several of these.
type target struct {
	name      string
	attribute string // or ""
	several   []target
}
