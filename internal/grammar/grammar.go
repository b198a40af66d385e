// Package grammar follows texts through grammars, byte by byte.
//
// A Grammar is made of rules; a rule has alternatives, and an alternative is a sequence of symbols: regular expressions, which
// take bytes, and rules with an argument. An argument counts what a rule has left to do (elements of an array, say), so that
// bounds do not multiply the rules; alternatives are asked for when a text comes to them, so that what no text reaches costs
// nothing.
//
// A Machine holds the states that texts come to. A state is the set of all ways in which the text so far can be read: each way is
// the rest of the expression that is being read and a stack of the symbols that must follow. Stacks with a common top share it,
// as in a graph-structured stack (Tomita 1985), so that even ambiguous grammars have small states. Equal states are one state, and
// what leads from one to the next is remembered: on a path that was walked before, a byte costs one lookup.
package grammar

import "github.com/antigravity-go/antigravity/internal/regular"

// RuleID names a rule of a grammar.
type RuleID int32

// Symbol is a part of a sequence: a regular expression, or a rule with an argument.
type Symbol struct {
	rule RuleID // terminal for an expression
	arg  int64  // the rule's argument, or the expression
}

const (
	terminal RuleID = -1
	bottom   RuleID = -2 // stands below the first symbol of every text
)

// Text returns the symbol of an expression, which takes bytes.
func Text(e regular.Expr) Symbol { return Symbol{terminal, int64(e)} }

// Expr returns the expression of a symbol that Text returned, and whether it is one.
func (s Symbol) Expr() (regular.Expr, bool) { return regular.Expr(s.arg), s.rule == terminal }

// Call returns the symbol of a rule.
func Call(rule RuleID, arg int64) Symbol { return Symbol{rule, arg} }

// Rule gives the alternatives of a nonterminal. It is immutable and used from several goroutines.
type Rule interface {
	// Expand calls yield with each alternative for an argument: the sequence of symbols that may stand for the rule. An empty
	// sequence is the empty text. yield does not keep its argument.
	//
	// Every alternative must be able to end: a text that can never be completed would leave a matcher without a token. A rule must not come
	// back to itself, with the same or a growing argument, before a byte was read: left recursion fails with ErrTooComplex.
	Expand(arg int64, yield func(sequence ...Symbol))
}

// Alternatives is a Rule without an argument.
type Alternatives [][]Symbol

// Expand gives the alternatives.
func (a Alternatives) Expand(_ int64, yield func(...Symbol)) {
	for _, sequence := range a {
		yield(sequence...)
	}
}

// Grammar is a set of rules. Once it is complete, it is immutable and may be shared.
type Grammar struct {
	Arena *regular.Arena // holds the expressions of the rules; a Machine works on a copy
	Start Symbol
	rules []Rule
}

// New returns a grammar without rules. Its expressions are in arena.
func New(arena *regular.Arena) *Grammar { return &Grammar{Arena: arena, Start: Text(regular.None)} }

// Add adds a rule, which may be nil until Define.
func (g *Grammar) Add(r Rule) RuleID {
	g.rules = append(g.rules, r)
	return RuleID(len(g.rules) - 1)
}

// Define says what a rule is that was added before.
func (g *Grammar) Define(id RuleID, r Rule) { g.rules[id] = r }

// Len returns the number of rules.
func (g *Grammar) Len() int { return len(g.rules) }
