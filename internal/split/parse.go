package split

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/charset"
)

// An expression becomes a tree by recursive descent: alternatives, sequences, atoms with their quantifiers. Classes, escapes and properties
// become sets of characters at once, so that there are only five kinds of nodes. For example, \s+(?!\S)|\p{L}+ becomes
//
//	one of, the first that leads to a match
//		one after another
//			repeat, at least 1: a character of \s
//			ahead, negative: a character of \S
//		repeat, at least 1: a character of \p{L}
//
// A possessive quantifier is written with the others: \d++ becomes \d+(?!\d).

// ErrUnsupported is wrapped by the error for an expression that this package cannot follow.
var ErrUnsupported = errors.New("unsupported expression")

// The bounds on an expression: its length in bytes, how often a quantifier repeats, and how deep groups and classes nest.
const (
	maxExpression = 8 << 10
	maxRepeat     = 1000
	maxDepth      = 50
)

// op is what a node of an expression's tree is.
type op uint8

const (
	opSet    op = iota // a character of set
	opAhead            // nothing, before a character of set; if negative, elsewhere. The end of the text is no character
	opConcat           // subs, one after another
	opAny              // one of subs, the first that leads to a match
	opRepeat           // subs[0], from least to most times (most < 0: any number), as many as possible, or as few (lazy)
)

type node struct {
	op             op
	set            charset.Set
	negative, lazy bool
	least, most    int
	subs           []*node
}

// parser reads an expression.
type parser struct {
	text  string
	pos   int
	depth int
	fold  bool // within (?i:…)
}

// errorf returns an error about the place in the expression.
func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s at byte %d of %.80q", ErrUnsupported, fmt.Sprintf(format, args...), p.pos, p.text)
}

// parse reads a whole expression.
func parse(text string) (*node, error) {
	p := &parser{text: text}
	switch {
	case text == "":
		return nil, p.errorf("nothing")
	case len(text) > maxExpression:
		return nil, p.errorf("more than %d bytes", maxExpression)
	case !utf8.ValidString(text):
		return nil, p.errorf("no UTF-8")
	}
	n, err := p.alternatives()
	if err == nil && p.pos < len(text) {
		err = p.errorf("a ) without its (")
	}
	return n, err
}

// peek reports whether s comes next.
func (p *parser) peek(s string) bool { return strings.HasPrefix(p.text[p.pos:], s) }

// take reads s, if it comes next.
func (p *parser) take(s string) bool {
	if p.peek(s) {
		p.pos += len(s)
		return true
	}
	return false
}

// next reads a character.
func (p *parser) next() (rune, error) {
	if p.pos == len(p.text) {
		return 0, p.errorf("the expression ends too early")
	}
	c, n := utf8.DecodeRuneInString(p.text[p.pos:])
	p.pos += n
	return c, nil
}

// enter notes that a group or a class begins.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return p.errorf("more than %d groups within one another", maxDepth)
	}
	return nil
}

// alternatives reads up to the end or the ) of a group.
func (p *parser) alternatives() (*node, error) {
	any := &node{op: opAny}
	for {
		n, err := p.sequence()
		if err != nil {
			return nil, err
		}
		any.subs = append(any.subs, n)
		if !p.take("|") {
			break
		}
	}
	if len(any.subs) == 1 {
		return any.subs[0], nil
	}
	return any, nil
}

func (p *parser) sequence() (*node, error) {
	concat := &node{op: opConcat}
	for p.pos < len(p.text) && !p.peek("|") && !p.peek(")") {
		n, err := p.atom()
		if err != nil {
			return nil, err
		}
		if n, err = p.quantified(n); err != nil {
			return nil, err
		}
		concat.subs = append(concat.subs, n)
	}
	return concat, nil
}

// atom reads what a quantifier may follow.
func (p *parser) atom() (*node, error) {
	switch {
	case p.take("(?:"):
		return p.group(p.fold)
	case p.take("(?i:"):
		return p.group(true)
	case p.take("(?-i:"):
		return p.group(false)
	case p.take("(?!"):
		return p.ahead(true)
	case p.take("(?="):
		return p.ahead(false)
	case p.peek("(?"):
		return nil, p.errorf("a group of this kind")
	case p.take("("):
		return p.group(p.fold)
	case p.take("["):
		set, err := p.class()
		if err != nil {
			return nil, err
		}
		return p.one(set)
	case p.take("."):
		return p.one(notNewline())
	case p.take("$"): // Oniguruma's is the end of a line
		return &node{op: opAhead, set: notNewline(), negative: true}, nil
	case p.take(`\z`):
		return &node{op: opAhead, set: charset.All(), negative: true}, nil
	case p.take(`\`):
		set, err := p.escape()
		if err != nil {
			return nil, err
		}
		return p.one(set)
	}
	if strings.IndexByte("*+?^", p.text[p.pos]) >= 0 {
		return nil, p.errorf("a %c here", p.text[p.pos])
	}
	c, err := p.next()
	if err != nil {
		return nil, err
	}
	return p.one(just(c))
}

// notNewline returns all characters that end no line.
func notNewline() charset.Set { return charset.Between('\n', '\n').Not() }

// maxFolded bounds the sets that are matched in either case.
const maxFolded = 1 << 10

// one returns the node of a character of some spans.
func (p *parser) one(spans []charset.Span) (*node, error) {
	set := charset.Of(spans...)
	if p.fold {
		if set.Len() > maxFolded {
			return nil, p.errorf("a class of more than %d characters in either case", maxFolded)
		}
		set = set.Fold()
	}
	return &node{op: opSet, set: set}, nil
}

// group reads the rest of a group.
func (p *parser) group(fold bool) (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	outside := p.fold
	p.fold = fold
	n, err := p.alternatives()
	if err == nil && !p.take(")") {
		err = p.errorf("a ( without its )")
	}
	p.fold = outside
	p.depth--
	return n, err
}

// ahead reads the rest of a look ahead, which is implemented for one character.
func (p *parser) ahead(negative bool) (*node, error) {
	n, err := p.group(p.fold)
	for err == nil && len(n.subs) == 1 && n.op == opConcat {
		n = n.subs[0]
	}
	if err == nil && n.op != opSet {
		err = p.errorf("a look ahead at more than one character")
	}
	if err != nil {
		return nil, err
	}
	return &node{op: opAhead, set: n.set, negative: negative}, nil
}

// quantified reads the quantifiers that follow a node.
func (p *parser) quantified(n *node) (*node, error) {
	for {
		r := &node{op: opRepeat, subs: []*node{n}, most: -1}
		braces := false
		switch {
		case p.take("*"):
		case p.take("+"):
			r.least = 1
		case p.take("?"):
			r.most = 1
		case p.peek("{"):
			braces = true
			if err := p.braces(r); err != nil {
				return nil, err
			}
		default:
			return n, nil
		}
		if n.empty() {
			return nil, p.errorf("a quantifier after what may match an empty text")
		}
		next := r
		switch {
		case p.take("?"):
			r.lazy = true
		case !braces && p.take("+"): // possessive; after braces, Oniguruma reads another quantifier
			var err error
			if next, err = p.possessive(r); err != nil {
				return nil, err
			}
		}
		n = next
	}
}

// empty reports whether a node may match an empty text.
func (n *node) empty() bool {
	switch n.op {
	case opSet:
		return false
	case opConcat:
		return !slices.ContainsFunc(n.subs, func(sub *node) bool { return !sub.empty() })
	case opAny:
		return slices.ContainsFunc(n.subs, (*node).empty)
	case opRepeat:
		return n.least == 0
	}
	return true
}

// possessive returns a repetition that gives nothing back. For a class that is one after which no further character of the class
// comes, or which the most there may be have come of.
func (p *parser) possessive(r *node) (*node, error) {
	sub := r.subs[0]
	if sub.op != opSet {
		return nil, p.errorf("a possessive quantifier after more than one character")
	}
	end := &node{op: opAhead, set: sub.set, negative: true}
	if r.most != 1 {
		return &node{op: opConcat, subs: []*node{r, end}}, nil
	}
	return &node{op: opAny, subs: []*node{sub, end}}, nil
}

// braces reads {n}, {n,}, {n,m} or {,m}.
func (p *parser) braces(r *node) error {
	inside, _, ok := strings.Cut(p.text[p.pos+1:], "}")
	least, most, two := strings.Cut(inside, ",")
	number := func(s string, empty int) int {
		if s == "" {
			return empty
		}
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil || n > maxRepeat {
			ok = false
		}
		return int(n)
	}
	ok = ok && inside != "" && inside != ","
	r.least = number(least, 0)
	r.most = r.least
	if two {
		r.most = number(most, -1)
	}
	if !ok || r.most >= 0 && r.most < r.least || r.most == 0 {
		return p.errorf("a quantifier that is not {n}, {n,} or {n,m} with numbers up to %d", maxRepeat)
	}
	p.pos += len(inside) + 2
	return nil
}

// class reads the rest of a class behind its [.
func (p *parser) class() (charset.Set, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	negative := p.take("^")
	whole := charset.All() // the intersection's parts so far
	var part []charset.Span
	for first := true; ; first = false {
		switch {
		case first && p.peek("]"):
			return nil, p.errorf("an empty class, or one that begins with ]")
		case p.take("]"):
			set := whole.And(charset.Of(part...))
			if negative {
				set = set.Not()
			}
			p.depth--
			return set, nil
		case p.peek("[:"):
			return nil, p.errorf("a POSIX class")
		case p.take("["):
			set, err := p.class()
			if err != nil {
				return nil, err
			}
			part = append(part, set...)
		case p.take("&&"):
			whole, part = whole.And(charset.Of(part...)), nil
		default:
			item, err := p.classRange()
			if err != nil {
				return nil, err
			}
			part = append(part, item...)
		}
	}
}

// just returns the span of one character.
func just(c rune) []charset.Span { return []charset.Span{{Low: c, High: c}} }

// classRange reads a character of a class, a range of them, or a class with a name.
func (p *parser) classRange() ([]charset.Span, error) {
	low, err := p.classItem()
	if err != nil || len(low) != 1 || low[0].Low != low[0].High {
		return low, err
	}
	if !p.peek("-") || p.peek("-]") || p.peek("-[") || p.peek("-&&") {
		return low, nil
	}
	p.pos++
	high, err := p.classItem()
	if err != nil {
		return nil, err
	}
	if len(high) != 1 || high[0].Low != high[0].High || high[0].Low < low[0].Low {
		return nil, p.errorf("a range that does not end with a later character")
	}
	return []charset.Span{{Low: low[0].Low, High: high[0].Low}}, nil
}

func (p *parser) classItem() ([]charset.Span, error) {
	if p.take(`\`) {
		return p.escape()
	}
	c, err := p.next()
	return just(c), err
}

// controls are the characters that have an escape of their own.
var controls = map[rune]rune{'n': '\n', 'r': '\r', 't': '\t', 'f': '\f', 'v': '\v', 'a': '\a', 'e': 0x1B}

// escape reads the rest of an escape, behind its backslash.
func (p *parser) escape() ([]charset.Span, error) {
	c, err := p.next()
	if err != nil {
		return nil, err
	}
	if control, ok := controls[c]; ok {
		return just(control), nil
	}
	switch {
	case c == 'p' || c == 'P':
		return p.property(c == 'P')
	case c == 'x' && p.take("{"):
		return p.hex(strings.IndexByte(p.text[p.pos:], '}'), 1)
	case c == 'x':
		return p.hex(2, 0)
	case c == 'u':
		return p.hex(4, 0)
	case c >= utf8.RuneSelf || !isASCIIWord(byte(c)):
		return just(c), nil
	}
	lower := byte(c) | 0x20
	set, ok := ofShorthand(lower)
	if !ok {
		return nil, p.errorf(`the escape \%c`, c)
	}
	if byte(c) != lower {
		set = set.Not()
	}
	return set, nil
}

// isASCIIWord reports whether an escape of the byte may mean something else than the byte.
func isASCIIWord(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

// hex reads a character's number of some digits, and as many bytes after it.
func (p *parser) hex(digits, after int) ([]charset.Span, error) {
	if digits < 1 || digits > 8 || p.pos+digits+after > len(p.text) {
		return nil, p.errorf("a character without its number")
	}
	n, err := strconv.ParseUint(p.text[p.pos:p.pos+digits], 16, 32)
	if err != nil || n > unicode.MaxRune {
		return nil, p.errorf("a character without its number")
	}
	p.pos += digits + after
	return just(rune(n)), nil
}

// property reads the {name} of a property, or {^name} for all other characters.
func (p *parser) property(negative bool) ([]charset.Span, error) {
	name, _, ok := strings.Cut(p.text[p.pos:], "}")
	if !ok || name == "" || name[0] != '{' {
		return nil, p.errorf(`a \p without {property}`)
	}
	end := p.pos + len(name) + 1
	name = name[1:]
	if strings.HasPrefix(name, "^") {
		name, negative = name[1:], !negative
	}
	set, ok := ofProperty(name)
	if !ok {
		return nil, p.errorf("the property %.20q", name)
	}
	p.pos = end
	if negative {
		set = set.Not()
	}
	return set, nil
}
