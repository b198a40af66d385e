package pattern

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/charset"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// A pattern is parsed by recursive descent: alternatives, sequences, terms with their quantifiers. For example, ^(?!ab)\d{2} becomes
//
//	one after the other
//		at the beginning of the text
//		ahead, negative: ab
//		repeat, 2 to 2 times: a character of 0-9

// ECMA returns the texts in which a pattern matches somewhere. The pattern is one of ECMA-262 with the flag u, as JSON Schema has them,
// with some of the laxity of patterns without that flag (Annex B): needless backslashes before signs, brackets and braces that
// stand for themselves, octal escapes. Some constructs of other languages that can mean only one thing are understood too: (?i), (?m) and
// (?s) at the beginning, (?P<name>…), \A, \z, \Z. Look-aheads are supported, though in unbounded repetitions mostly those for one
// character. Look-behinds are supported if they look at one character. Back-references are not.
//
// An error is an *Error, or is regular.ErrTooComplex.
func ECMA(r *regular.Arena, a Alphabet, source string) (regular.Expr, error) {
	p := &ecma{source: source}
	tree, err := p.parse()
	if err != nil {
		return regular.None, err
	}
	c := newCompiler(r, a, source, tree)
	return c.somewhere(tree)
}

// ecma parses a pattern. Once err is set, all of its functions return as soon as they can.
type ecma struct {
	source string
	at     int
	depth  int
	groups int // that can be referred to, in the whole pattern
	fold   bool
	lines  bool // ^ and $ match at the ends of lines
	dotAll bool // . matches line terminators
	err    error
}

// lineTerminators are what . does not match.
func lineTerminators() charset.Set { return charset.Between('\n', '\n', '\r', '\r', 0x2028, 0x2029) }

func digits() charset.Set { return charset.Between('0', '9') }
func words() charset.Set  { return charset.Between('0', '9', 'A', 'Z', '_', '_', 'a', 'z') }

// spaces are what \s matches: WhiteSpace and LineTerminator.
func spaces() charset.Set {
	return charset.Between('\t', '\r', ' ', ' ', 0xA0, 0xA0, 0x1680, 0x1680, 0x2000, 0x200A, 0x2028, 0x2029, 0x202F, 0x202F, 0x205F, 0x205F, 0x3000, 0x3000, 0xFEFF, 0xFEFF)
}

func (p *ecma) parse() (*node, error) {
	if len(p.source) > maxLength {
		return nil, tooComplex(p.source)
	}
	if i := invalidUTF8(p.source); i >= 0 {
		p.fail(i, "a byte that is not UTF-8", false)
		return nil, p.err
	}
	p.countGroups()
	p.leadingFlags()
	tree := p.alternatives()
	if p.err == nil && p.at < len(p.source) {
		p.fail(p.at, "a ) without its (", false)
	}
	return tree, p.err
}

// invalidUTF8 returns the place of the first byte that is not UTF-8, or -1.
func invalidUTF8(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i, c := range text {
		if c == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return i
		}
	}
	return -1
}

// fail notes an error, unless there was one before.
func (p *ecma) fail(at int, construct string, unsupported bool) {
	if p.err == nil {
		p.err = &Error{Pattern: p.source, Construct: construct, Offset: at, Unsupported: unsupported}
	}
}

// more reports whether there is something left to parse.
func (p *ecma) more() bool { return p.err == nil && p.at < len(p.source) }

// peek reports whether the rest begins with text.
func (p *ecma) peek(text string) bool { return strings.HasPrefix(p.source[p.at:], text) }

// take is peek, and goes on behind text.
func (p *ecma) take(text string) bool {
	if p.peek(text) {
		p.at += len(text)
		return true
	}
	return false
}

// rune takes a character; there must be one.
func (p *ecma) rune() rune {
	c, size := utf8.DecodeRuneInString(p.source[p.at:])
	p.at += size
	return c
}

// countGroups counts the groups that capture.
func (p *ecma) countGroups() {
	class := false
	for i := 0; i < len(p.source); i++ {
		switch p.source[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '(':
			rest := p.source[i+1:]
			if !class && (!strings.HasPrefix(rest, "?") || strings.HasPrefix(rest, "?<") && !strings.HasPrefix(rest, "?<=") && !strings.HasPrefix(rest, "?<!") || strings.HasPrefix(rest, "?P<")) {
				p.groups++
			}
		}
	}
}

// leadingFlags takes (?i) and the like at the beginning, which other languages have there for the whole pattern.
func (p *ecma) leadingFlags() {
	end := strings.IndexByte(p.source, ')')
	if !strings.HasPrefix(p.source, "(?") || end < 3 || strings.Trim(p.source[2:end], "imsu") != "" {
		return
	}
	p.at = end + 1
	p.setFlags(p.source[2:end], true)
}

// setFlags sets or clears flags.
func (p *ecma) setFlags(flags string, on bool) {
	for _, f := range flags {
		switch f {
		case 'i':
			p.fold = on
		case 'm':
			p.lines = on
		case 's':
			p.dotAll = on
		}
	}
}

// alternatives parses up to a ) or the end.
func (p *ecma) alternatives() *node {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.at, fmt.Sprintf("more than %d groups inside of each other", maxDepth), true)
	}
	defer func() { p.depth-- }()
	var ways []*node
	for p.err == nil {
		var parts []*node
		for p.more() && !p.peek("|") && !p.peek(")") {
			if run := p.run(); run != "" {
				parts = append(parts, &node{op: opText, text: run})
				continue
			}
			parts = append(parts, p.term())
		}
		ways = append(ways, sequence(parts))
		if p.err != nil || !p.take("|") {
			break
		}
	}
	return choice(ways)
}

// term parses an atom or an assertion with the quantifiers behind it.
func (p *ecma) term() *node {
	begin := p.at
	var n *node
	quantifiable := true
	switch c := p.rune(); c {
	case '^':
		n, quantifiable = assertion(opBegin, nil), false
		if p.lines {
			n = assertion(opLineBegin, lineTerminators())
		}
	case '$':
		n, quantifiable = assertion(opEnd, nil), false
		if p.lines {
			n = assertion(opLineEnd, lineTerminators())
		}
	case '.':
		n = &node{op: opSet, set: lineTerminators().Not()}
		if p.dotAll {
			n.set = charset.All()
		}
	case '(':
		n, quantifiable = p.group(begin)
	case '[':
		n = character(p.class(begin))
	case '\\':
		n = p.escape(begin)
		quantifiable = !n.asserts
	case '*', '+', '?':
		p.fail(begin, "a quantifier "+string(c)+" with nothing before it to repeat", false)
		return nothing()
	case '{':
		if _, _, ok := p.counts(); ok {
			p.fail(begin, "a quantifier with nothing before it to repeat", false)
			return nothing()
		}
		n = p.literal(c)
	default:
		n = p.literal(c)
	}
	if p.err != nil || !p.more() {
		return n
	}
	begin = p.at
	least, most, ok := p.quantifier()
	switch {
	case !ok:
		return n
	case !quantifiable:
		p.fail(begin, "a quantifier behind an assertion", false)
	case most >= 0 && least > most:
		p.fail(begin, fmt.Sprintf("a quantifier from %d to %d, which is less,", least, most), false)
	}
	p.take("?") // a lazy quantifier has the same language
	if p.more() && (p.peek("+") || p.peek("*") || p.peek("?")) {
		what := "a quantifier behind a quantifier"
		if p.peek("+") {
			what = "a possessive quantifier, as other languages have,"
		}
		p.fail(p.at, what, false)
	}
	return repetition(n, least, most)
}

// run takes ASCII characters that stand for themselves and are not repeated.
func (p *ecma) run() string {
	if p.fold {
		return ""
	}
	begin := p.at
	for p.at < len(p.source) && p.source[p.at] < utf8.RuneSelf && !isSyntax(p.source[p.at]) {
		p.at++
	}
	if p.at > begin && p.at < len(p.source) && strings.IndexByte("*+?{", p.source[p.at]) >= 0 {
		p.at-- // the quantifier is the last one's
	}
	return p.source[begin:p.at]
}

// isSyntax reports whether a character stands for something else than itself.
func isSyntax(c byte) bool { return strings.IndexByte(`^$\\.*+?()[]{}|`, c) >= 0 }

// literal returns the node of a character that stands for itself.
func (p *ecma) literal(c rune) *node {
	set := charset.Between(c, c)
	if p.fold {
		set = set.Fold()
	}
	return character(set)
}

// quantifier takes a quantifier if there is one.
func (p *ecma) quantifier() (least, most int, ok bool) {
	switch {
	case p.take("*"):
		return 0, regular.Unbounded, true
	case p.take("+"):
		return 1, regular.Unbounded, true
	case p.take("?"):
		return 0, 1, true
	case p.peek("{,"):
		begin := p.at
		p.at += 2
		if _, ok := p.number(); ok && p.peek("}") {
			p.fail(begin, "a quantifier without a lower bound (write {0,…})", false)
			return 0, 0, false
		}
		p.at = begin
		return 0, 0, false
	case p.take("{"):
		if least, most, ok = p.counts(); ok {
			return least, most, true
		}
		p.at--
	}
	return 0, 0, false
}

// counts takes the rest of a quantifier behind its {, or nothing.
func (p *ecma) counts() (least, most int, ok bool) {
	begin := p.at
	least, ok = p.number()
	most = least
	if ok && p.take(",") {
		if most, ok = p.number(); !ok {
			most, ok = regular.Unbounded, true
		}
	}
	if ok && p.take("}") {
		return least, most, true
	}
	p.at = begin
	return 0, 0, false
}

// number takes decimal digits; numbers above maxCount become maxCount.
func (p *ecma) number() (n int, ok bool) {
	for ; p.at < len(p.source) && '0' <= p.source[p.at] && p.source[p.at] <= '9'; p.at++ {
		n, ok = min(n*10+int(p.source[p.at]-'0'), maxCount), true
	}
	return n, ok
}

// group parses a group behind its (, and reports whether a quantifier may follow.
func (p *ecma) group(begin int) (n *node, quantifiable bool) {
	fold, lines, dotAll := p.fold, p.lines, p.dotAll
	defer func() { p.fold, p.lines, p.dotAll = fold, lines, dotAll }()
	quantifiable = true
	look := opSeq
	negative := false
	switch {
	case !p.peek("?"), p.take("?:"):
	case p.take("?="):
		look = opAhead
	case p.take("?!"):
		look, negative = opAhead, true
	case p.take("?<="):
		look, quantifiable = opBehind, false
	case p.take("?<!"):
		look, negative, quantifiable = opBehind, true, false
	case p.take("?<"), p.take("?P<"):
		name := p.at
		end := strings.IndexByte(p.source[p.at:], '>')
		if end <= 0 || strings.ContainsAny(p.source[name:name+end], "()[]{}?*+|^$. ") {
			p.fail(begin, "a group without a valid name between < and >", false)
			return nothing(), true
		}
		p.at += end + 1
	default:
		if !p.modifiers() {
			what := "a group (?"
			p.at++
			if p.at < len(p.source) {
				what += string(p.rune())
			}
			p.fail(begin, what+", which ECMA-262 does not have,", false)
			return nothing(), true
		}
	}
	n = p.alternatives()
	if p.err != nil {
		return nothing(), true
	}
	if !p.take(")") {
		p.fail(begin, "a ( without its )", false)
	}
	switch look {
	case opAhead:
		n = above(opAhead, n)
		n.negative, n.offset = negative, begin
	case opBehind:
		set, begins, ok := n.one(opBegin)
		if !ok {
			p.fail(begin, "a look-behind for more than one character", true)
			return nothing(), true
		}
		n = assertion(opBehind, set)
		n.negative, n.edge = negative, begins
	}
	return n, quantifiable
}

// modifiers takes the flags of a group, as in (?i-s:…), behind its (.
func (p *ecma) modifiers() bool {
	rest := p.source[p.at+1:]
	colon := strings.IndexByte(rest, ':')
	if colon <= 0 {
		return false
	}
	on, off, _ := strings.Cut(rest[:colon], "-")
	if strings.Trim(on+off, "ims") != "" || on+off == "" {
		return false
	}
	p.setFlags(on, true)
	p.setFlags(off, false)
	p.at += 1 + colon + 1
	return true
}

// one returns the set of characters that a look-around looks for, if it looks for one character or the edge of the text. edge is opBegin or
// opEnd.
func (n *node) one(edge op) (set charset.Set, atEdge, ok bool) {
	switch n.op {
	case opSet:
		return n.set, false, true
	case opText:
		if c, size := utf8.DecodeRuneInString(n.text); size == len(n.text) {
			return charset.Between(c, c), false, true
		}
	case edge:
		return nil, true, true
	case opAlt:
		for _, s := range n.subs {
			its, edges, ok := s.one(edge)
			if !ok {
				return nil, false, false
			}
			set, atEdge = set.Or(its), atEdge || edges
		}
		return set, atEdge, true
	}
	return nil, false, false
}
