package pattern

import (
	"errors"
	"regexp/syntax"
	"strings"

	"github.com/antigravity-go/antigravity/internal/charset"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// RE2 returns the texts that a pattern of Go's package regexp matches as a whole. \b and \B are supported, as are all flags.
//
// An error is an *Error, or is regular.ErrTooComplex.
func RE2(r *regular.Arena, a Alphabet, source string) (regular.Expr, error) {
	if len(source) > maxLength {
		return regular.None, tooComplex(source)
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		e := &Error{Pattern: source, Construct: err.Error()}
		var where *syntax.Error
		if errors.As(err, &where) {
			e.Offset = max(strings.Index(source, where.Expr), 0)
			e.Mistake, e.Construct = where.Code.String(), where.Expr
		}
		return regular.None, e
	}
	tree := re2Tree(parsed)
	c := newCompiler(r, a, source, tree)
	return c.whole(tree)
}

// newline is what ends a line in Go's syntax.
func newline() charset.Set { return charset.Between('\n', '\n') }

// re2Tree returns the tree of a parsed pattern. Package syntax bounds its depth.
func re2Tree(x *syntax.Regexp) *node {
	subs := make([]*node, len(x.Sub))
	for i, s := range x.Sub {
		subs[i] = re2Tree(s)
	}
	switch x.Op {
	case syntax.OpEmptyMatch:
		return nothing()
	case syntax.OpLiteral:
		for _, c := range x.Rune {
			set := charset.Between(c, c)
			if x.Flags&syntax.FoldCase != 0 {
				set = set.Fold()
			}
			subs = append(subs, character(set))
		}
		return sequence(subs)
	case syntax.OpCharClass:
		var spans []charset.Span
		for i := 0; i < len(x.Rune); i += 2 {
			spans = append(spans, charset.Span{Low: x.Rune[i], High: x.Rune[i+1]})
		}
		return character(charset.Of(spans...))
	case syntax.OpAnyCharNotNL:
		return character(newline().Not())
	case syntax.OpAnyChar:
		return character(charset.All())
	case syntax.OpBeginLine:
		return assertion(opLineBegin, newline())
	case syntax.OpEndLine:
		return assertion(opLineEnd, newline())
	case syntax.OpBeginText:
		return assertion(opBegin, nil)
	case syntax.OpEndText:
		return assertion(opEnd, nil)
	case syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		n := assertion(opBoundary, words())
		n.negative = x.Op == syntax.OpNoWordBoundary
		return n
	case syntax.OpCapture:
		return subs[0]
	case syntax.OpStar:
		return repetition(subs[0], 0, regular.Unbounded)
	case syntax.OpPlus:
		return repetition(subs[0], 1, regular.Unbounded)
	case syntax.OpQuest:
		return repetition(subs[0], 0, 1)
	case syntax.OpRepeat:
		return repetition(subs[0], x.Min, x.Max) // -1 is no bound in both
	case syntax.OpConcat:
		return sequence(subs)
	}
	return choice(subs) // OpAlternate, or OpNoMatch without any
}
