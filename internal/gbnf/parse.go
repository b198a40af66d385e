package gbnf

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/charset"
	"github.com/antigravity-go/antigravity/internal/pattern"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// The parser makes a tree of each rule by recursive descent: alternatives, sequences, parts with their repetitions. Of
//
//	root ::= "[" item ("," item)* "]"
//	item ::= [a-z]+ # a name
//
// the tree of root is a sequence of four parts: a text, the rule item, a repetition of the sequence in parentheses, and a text. Rules may
// be used before they are defined: a rule gets its number when its name is first met. A line break ends a rule, except within parentheses
// and after ::= and |.

// parser reads a grammar.
type parser struct {
	source string
	at     int // the next byte
	arena  *regular.Arena
	token  func(string) (string, error)
	rules  []rule
	names  map[string]int // numbers of rules
	owner  int            // the rule that is read
	nested int            // open parentheses
}

// parse reads all rules.
func (p *parser) parse() error {
	for p.space(true); p.at < len(p.source); p.space(true) {
		begin := p.at
		name := p.name()
		if name == "" {
			return p.unexpected("the name of a rule")
		}
		if len(name) > maxName {
			return p.errorAt(begin, "a name of %d bytes: want at most %d", len(name), maxName)
		}
		p.space(false)
		if !p.take("::=") {
			return p.unexpected("::= behind the name %s", name)
		}
		number := p.number(name, begin)
		r := &p.rules[number]
		if r.body != nil {
			return p.errorAt(begin, "the rule %s is defined twice", name)
		}
		r.at, p.owner = begin, number
		p.space(true)
		body, err := p.alternatives()
		if err != nil {
			return err
		}
		p.rules[number].body = body
		if p.at < len(p.source) && p.source[p.at] != '\n' && p.source[p.at] != '\r' {
			return p.unexpected("a part of the rule %s, or a line break", name)
		}
	}
	return nil
}

// unexpected returns an error that says what the parser wants instead of the next character.
func (p *parser) unexpected(want string, args ...any) error {
	found := "the end"
	if p.at < len(p.source) {
		c, _ := utf8.DecodeRuneInString(p.source[p.at:])
		found = strconv.QuoteRune(c)
	}
	return p.errorAt(p.at, "found "+strings.ReplaceAll(found, "%", "%%")+", want "+want, args...)
}

// space skips blanks, tabs and comments, and line breaks too if breaks is true.
func (p *parser) space(breaks bool) {
	for ; p.at < len(p.source); p.at++ {
		switch c := p.source[p.at]; {
		case c == '#':
			n := strings.IndexAny(p.source[p.at:], "\r\n")
			if n < 0 {
				p.at = len(p.source)
				return
			}
			p.at += n - 1
		case c == ' ' || c == '\t' || breaks && (c == '\r' || c == '\n'):
		default:
			return
		}
	}
}

// take skips s if it comes next.
func (p *parser) take(s string) bool {
	if !strings.HasPrefix(p.source[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

// name reads the name of a rule. It returns "" if no name comes next.
func (p *parser) name() string {
	begin := p.at
	for p.at < len(p.source) {
		c := p.source[p.at]
		if c != '-' && c != '_' && !('0' <= c && c <= '9') && !('a' <= c|0x20 && c|0x20 <= 'z') {
			break
		}
		p.at++
	}
	return p.source[begin:p.at]
}

// number returns the number of the rule with a name, which is met at a place.
func (p *parser) number(name string, at int) int {
	n, ok := p.names[name]
	if !ok {
		n = len(p.rules)
		p.names[name] = n
		p.rules = append(p.rules, rule{name: name, at: at})
	}
	return n
}

// add gives a node its parts.
func (p *parser) add(n *node, parts ...*node) *node {
	n.owner, n.parts = p.owner, parts
	for _, part := range parts {
		part.parent = n
	}
	return n
}

// alternatives reads sequences with | between them.
func (p *parser) alternatives() (*node, error) {
	begin := p.at
	var all []*node
	for {
		n, err := p.sequence()
		if err != nil {
			return nil, err
		}
		if all = append(all, n); !p.take("|") {
			break
		}
		p.space(true)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return p.add(&node{kind: choice, at: begin}, all...), nil
}

// sequence reads parts until something else comes.
func (p *parser) sequence() (*node, error) {
	n := &node{kind: sequence, at: p.at}
	var parts []*node
	for p.at < len(p.source) {
		part, err := p.part()
		if err != nil {
			return nil, err
		}
		if part == nil {
			break
		}
		p.space(p.nested > 0)
		if part, err = p.repeated(part); err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return p.add(n, parts...), nil
}

// part reads one part without repetition. It returns nil if no part comes next.
func (p *parser) part() (*node, error) {
	begin := p.at
	switch c := p.source[p.at]; c {
	case '"':
		return p.literal()
	case '[':
		return p.class()
	case '<', '!':
		return p.special()
	case '.':
		p.at++
		return p.set(begin, charset.Set(nil).Not())
	case '(':
		if p.nested++; p.nested > maxNested {
			return nil, p.errorAt(begin, "more than %d parentheses in each other", maxNested)
		}
		p.at++
		p.space(true)
		n, err := p.alternatives()
		if err != nil {
			return nil, err
		}
		if !p.take(")") {
			return nil, p.unexpected("a part, | or )")
		}
		p.nested--
		return n, nil
	case '*', '+', '?', '{':
		return nil, p.errorAt(begin, "%c has nothing to repeat before it", c)
	}
	name := p.name()
	if name == "" {
		return nil, nil
	}
	if len(name) > maxName {
		return nil, p.errorAt(begin, "a name of %d bytes: want at most %d", len(name), maxName)
	}
	n := p.add(&node{kind: ref, at: begin, rule: p.number(name, begin)})
	p.rules[n.rule].refs = append(p.rules[n.rule].refs, n)
	return n, nil
}

// repeated reads the repetitions behind a part.
func (p *parser) repeated(n *node) (*node, error) {
	for times := 0; p.at < len(p.source); times++ {
		begin, least, most := p.at, 0, regular.Unbounded
		switch p.source[p.at] {
		case '*':
		case '+':
			least = 1
		case '?':
			most = 1
		case '{':
			var err error
			p.at++
			if least, most, err = p.counts(); err != nil {
				return nil, err
			}
			p.at--
		default:
			return n, nil
		}
		if times == maxRepeated {
			return nil, p.errorAt(begin, "more than %d repetitions of repetitions", maxRepeated)
		}
		p.at++
		p.space(p.nested > 0)
		n = p.add(&node{kind: repeat, at: begin, least: least, most: most}, n)
	}
	return n, nil
}

// counts reads the numbers between { and }, and the }.
func (p *parser) counts() (least, most int, err error) {
	if least, err = p.count(); err != nil {
		return 0, 0, err
	}
	most = least
	if p.take(",") {
		p.space(p.nested > 0)
		most = regular.Unbounded
		if p.at < len(p.source) && p.source[p.at] != '}' {
			begin := p.at
			if most, err = p.count(); err != nil {
				return 0, 0, err
			}
			if most < least {
				return 0, 0, p.errorAt(begin, "at least %d repetitions and at most %d: want the smaller number first", least, most)
			}
		}
	}
	if !p.take("}") {
		return 0, 0, p.unexpected("}")
	}
	return least, most, nil
}

// count reads a number and the space around it.
func (p *parser) count() (int, error) {
	p.space(p.nested > 0)
	begin := p.at
	for p.at < len(p.source) && '0' <= p.source[p.at] && p.source[p.at] <= '9' {
		p.at++
	}
	if p.at == begin {
		return 0, p.unexpected("a number of repetitions")
	}
	n, err := strconv.Atoi(p.source[begin:p.at])
	if err != nil || n > maxCount {
		return 0, p.errorAt(begin, "%.20s repetitions: want at most %d", p.source[begin:p.at], maxCount)
	}
	p.space(p.nested > 0)
	return n, nil
}

// literal reads a text in quotes.
func (p *parser) literal() (*node, error) {
	begin := p.at
	p.at++
	var b strings.Builder
	for !p.take(`"`) {
		if p.at == len(p.source) {
			return nil, p.errorAt(begin, `the text has no " at its end`)
		}
		c, err := p.character()
		if err != nil {
			return nil, err
		}
		b.WriteRune(c)
	}
	return p.add(&node{kind: text, at: begin, expr: p.arena.Literal(b.String()), cost: 1}), nil
}

// class reads a set of characters.
func (p *parser) class() (*node, error) {
	begin := p.at
	p.at++
	negated := p.take("^")
	var spans []charset.Span
	for !p.take("]") {
		if p.at == len(p.source) {
			return nil, p.errorAt(begin, "the set has no ] at its end")
		}
		first := p.at
		low, err := p.character()
		if err != nil {
			return nil, err
		}
		high := low
		if rest := p.source[p.at:]; strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "-]") {
			p.at++
			if p.at == len(p.source) {
				return nil, p.errorAt(begin, "the set has no ] at its end")
			}
			if high, err = p.character(); err != nil {
				return nil, err
			}
		}
		if high < low {
			return nil, p.errorAt(first, "the range from %q to %q ends before it begins", low, high)
		}
		spans = append(spans, charset.Span{Low: low, High: high})
	}
	set := charset.Of(spans...)
	if negated {
		set = set.Not()
	}
	return p.set(begin, set)
}

// set returns the node of one character of a set.
func (p *parser) set(at int, set charset.Set) (*node, error) {
	size := 0
	for _, s := range set {
		size += int(s.High-s.Low) + 1
	}
	e := pattern.Raw.Set(p.arena, set)
	if e == regular.None {
		return nil, p.errorAt(at, "no character is in the set")
	}
	return p.add(&node{kind: text, at: at, expr: e, cost: 1 + 4*len(set), many: size >= manyCharacters}), nil
}

// character reads a character of a text or of a set.
func (p *parser) character() (rune, error) {
	begin := p.at
	if !p.take(`\`) {
		c, n := utf8.DecodeRuneInString(p.source[p.at:])
		if c == utf8.RuneError && n == 1 {
			return 0, p.errorAt(begin, "the byte %#x is not UTF-8", p.source[begin])
		}
		p.at += n
		return c, nil
	}
	if p.at == len(p.source) {
		return 0, p.unexpected("a character behind the backslash")
	}
	c := p.source[p.at]
	p.at++
	switch c {
	case 'n':
		return '\n', nil
	case 't':
		return '\t', nil
	case 'r':
		return '\r', nil
	case '\\', '"', '[', ']', '-', '^':
		return rune(c), nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 {
		p.at = begin
		return 0, p.errorAt(begin, `unknown escape: want \n \r \t \\ \" \[ \] \- \^ \xXX \uXXXX or \UXXXXXXXX`)
	}
	hex := p.source[p.at:min(p.at+digits, len(p.source))]
	v, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || len(hex) < digits || strings.ContainsAny(hex, "+_") {
		return 0, p.errorAt(begin, `the escape \%c wants %d hexadecimal digits`, c, digits)
	}
	if v > unicode.MaxRune || !utf8.ValidRune(rune(v)) {
		return 0, p.errorAt(begin, `\%c%s is no character of Unicode`, c, hex)
	}
	p.at += digits
	return rune(v), nil
}

// special reads a token: <name> or <[number]>, or with ! any text but that of the token.
func (p *parser) special() (*node, error) {
	begin := p.at
	negated := p.take("!")
	first := p.at
	end := strings.IndexAny(p.source[p.at:], ">\r\n")
	if !p.take("<") || end < 0 || p.source[first+end] != '>' {
		return nil, p.errorAt(begin, "want a token here: <name> or <[number]>")
	}
	p.at = first + end + 1
	written := p.source[first:p.at]
	if p.token == nil {
		return nil, p.errorAt(begin, "the token %s: tokens are not supported here", written)
	}
	mark, err := p.token(written)
	if err != nil {
		return nil, p.errorAt(begin, "the token %s: %s", written, err)
	}
	if !negated {
		return p.add(&node{kind: text, at: begin, expr: p.arena.Literal(mark), cost: 1}), nil
	}
	// How many tokens a text has is not known here. Any number of other tokens is any text, but a single other token cannot be expressed.
	if p.space(p.nested > 0); p.at < len(p.source) && (p.source[p.at] == '*' || p.source[p.at] == '+') {
		return p.set(begin, charset.Set(nil).Not())
	}
	return nil, p.errorAt(begin, "!%s: any token but this one is supported only with * or + behind it", written)
}
