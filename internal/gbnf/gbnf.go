// Package gbnf compiles grammars in GBNF, the format of llama.cpp, into rules of internal/grammar.
//
// Rules that do not nest become regular expressions: rules that are not recursive, and rules that come back to themselves at their end
// only, as in ws ::= [ ] ws | "". The masks of expressions are remembered and shared. Rules that nest stay rules.
//
// A rule with a wide loop in it, as the letters of a string, and a delimiter behind it, is kept apart from the parts after it in the rules
// that use it: inside such a string, the expression is then the same wherever the string stands, and so is its mask.
package gbnf

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/grammar"
)

// Bounds of grammars.
const (
	maxSource   = 1 << 20   // bytes
	maxRules    = 20_000    // rules
	maxNested   = 500       // parentheses in each other
	maxName     = 200       // bytes of a rule's name
	maxCount    = 1_000_000 // repetitions
	maxRepeated = 4         // repetitions of the same part
)

// Error is a mistake in a grammar and its place. Lines and columns count from 1, columns in characters.
type Error struct {
	Line, Column int
	Problem      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

// Compile adds the rules of a grammar to g, and returns the symbol of its rule root. g and its arena are of no use after an error.
//
// token returns the bytes that stand in texts for a token, given as the grammar writes it: <think> or <[1000]>. It returns an error if
// there is no such token. If token is nil, the grammar may have no tokens.
func Compile(source string, g *grammar.Grammar, token func(written string) (string, error)) (grammar.Symbol, error) {
	if len(source) > maxSource {
		return grammar.Symbol{}, fmt.Errorf("the grammar has %d bytes: want at most %d", len(source), maxSource)
	}
	p := &parser{source: source, arena: g.Arena, token: token, names: map[string]int{}}
	if err := p.parse(); err != nil {
		return grammar.Symbol{}, err
	}
	root, err := p.check()
	if err != nil {
		return grammar.Symbol{}, err
	}
	c := &compiler{g: g, rules: p.rules, budget: 4*len(source) + freeBudget}
	symbol := c.symbol(root)
	if c.err != nil {
		return grammar.Symbol{}, p.errorAt(c.errAt, "%s", c.err)
	}
	return symbol, g.Arena.Err()
}

// errorAt returns an error at a place of the source.
func (p *parser) errorAt(at int, format string, args ...any) error {
	before := p.source[:min(at, len(p.source))]
	line := strings.LastIndexByte(before, '\n') + 1
	return &Error{1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[line:]), fmt.Sprintf(format, args...)}
}
