package syntax

import (
	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// The nodes of a parsed template. For example
//
//	Hi {{ user.name | upper }}!
//
// is the statements Text "Hi ", Output and Text "!". The output's expression is a Suffixed of the Variable user with two steps: the
// Attribute name and the Filter upper.

// Tree is a parsed template. It is not changed any more. Its nodes know the line of the template that they begin on, for messages.
type Tree struct {
	Body  []Statement
	Uses  map[string]bool // names of variables and attributes, and strings, in the template
	Reads map[string]bool // names of variables in the template
}

// Expression is a node that has a value: one of the pointers and structs from Constant to Suffixed.
type Expression any

// Statement is a node that writes, assigns or repeats: one of the pointers and structs from Text to CallBlock.
type Statement any

// Step stands behind an operand: a pointer to one of the structs from Attribute to Test.
type Step any

// Expressions. Chains of operators of one level are one node, so that the tree is no deeper than the brackets are.
type (
	// Constant is a literal.
	Constant struct{ Value values.Value }
	// Variable is a variable's name.
	Variable struct {
		Name string
		Line int
	}
	// List is [a, b], or a tuple.
	List struct {
		Items []Expression
		Tuple bool
	}
	// Dict is {a: b}.
	Dict struct{ Keys, Values []Expression }
	// Conditional is "a if b else c"; Otherwise is nil if there is no else.
	Conditional struct{ Test, Then, Otherwise Expression }
	// Logic is "a or b" and "a and b": the first term with the truth Until is the value.
	Logic struct {
		Terms []Expression
		Until bool // true for "or"
	}
	// Not is "not a".
	Not struct{ Of Expression }
	// Comparison is "a < b < c".
	Comparison struct {
		First Expression
		Line  int
		Rest  []Operation
	}
	// Arithmetic is operators of one level: + and -; *, /, // and %; **.
	Arithmetic struct {
		First Expression
		Line  int
		Rest  []Operation
	}
	// Operation is an operator with its right operand.
	Operation struct {
		Operator string
		Operand  Expression
	}
	// Concatenation is "a ~ b".
	Concatenation struct {
		Terms []Expression
		Line  int
	}
	// Signed is "-a" and "+a".
	Signed struct {
		Of    Expression
		Line  int
		Minus bool
	}
	// Suffixed is an operand with the steps behind it.
	Suffixed struct {
		Of    Expression
		Steps []Step
	}
)

// Steps.
type (
	// Attribute is ".name".
	Attribute struct {
		Name string
		Line int
	}
	// Item is "[key]".
	Item struct {
		Key  Expression
		Line int
	}
	// Slice is "[from:to:by]"; nil is left out.
	Slice struct {
		From, To, By Expression
		Line         int
	}
	// Call is "(a, b=1)".
	Call struct {
		With Arguments
		Line int
	}
	// Method is ".name(a, b=1)".
	Method struct {
		Name string
		With Arguments
		Line int
	}
	// Filter is "| name(a)", perhaps of no filter, in a branch that may never be taken.
	Filter struct {
		Name string
		With Arguments
		Line int
	}
	// Test is "is name(a)", perhaps of no test, in a branch that may never be taken.
	Test struct {
		Name    string
		With    Arguments
		Negated bool
		Line    int
	}
)

// Arguments are those of a call, as expressions.
type Arguments struct {
	Values []Expression
	Named  []NamedExpression
	Star   Expression // *values, or nil
	Stars  Expression // **named, or nil
}

// NamedExpression is an argument with its name.
type NamedExpression struct {
	Name  string
	Value Expression
}

// Statements.
type (
	// Text is text between tags.
	Text struct{ Value texts.Text }
	// Output is {{ a }}.
	Output struct {
		Of   Expression
		Line int
	}
	// If has one branch more than tests if there is an else.
	If struct {
		Tests    []Expression
		Branches [][]Statement
		Line     int
	}
	// For is a loop; Filter is nil if there is no "if" in its head.
	For struct {
		Target          Target
		Over            Expression
		Filter          Expression
		Body, Otherwise []Statement
		Recursive       bool
		Line            int
	}
	// Jump is {% break %} if Stop is set, and {% continue %} otherwise.
	Jump struct{ Stop bool }
	// Set assigns a value or, if that is nil, what the body writes, filtered by the steps.
	Set struct {
		Target Target
		Value  Expression
		Body   []Statement
		Steps  []Step
		Line   int
	}
	// With assigns values in a scope of their own.
	With struct {
		Targets []Target
		Values  []Expression
		Body    []Statement
		Line    int
	}
	// Scope is {% generation %}: statements in a scope of their own.
	Scope struct{ Body []Statement }
	// FilterBlock writes what its body writes, filtered.
	FilterBlock struct {
		Steps []Step
		Body  []Statement
		Line  int
	}
	// Macro defines a macro. Defaults are those of the last parameters.
	Macro struct {
		Name     string
		Params   []string
		Defaults []Expression
		Body     []Statement
		Varargs  bool // the body reads varargs
		Kwargs   bool // the body reads kwargs
		Caller   bool // the body reads caller
	}
	// CallBlock calls a macro with a macro of its own, Caller.
	CallBlock struct {
		Caller *Macro
		Of     Expression
		Line   int
	}
)

// Target is what a value is assigned to: a variable, a namespace's attribute, or several of these.
type Target struct {
	Name      string
	Attribute string // or ""
	Several   []Target
}
