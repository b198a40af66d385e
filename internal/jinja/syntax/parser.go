// Package syntax reads a template to a tree: the lexer cuts the template into tokens, the parser makes nodes of them. It knows no meaning:
// [Parse] asks its caller which filters and tests there are.
//
// "Hi {{ name|upper }}" becomes
//
//	Text{"Hi "}, &Output{Of: &Suffixed{Of: Variable{"name"}, Steps: {&Filter{"upper"}}}}
package syntax

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// Bounds on a template. Those of published models stay an order of magnitude below each.
const (
	MaxSource  = 1 << 20 // bytes
	maxTokens  = 1 << 17
	MaxName    = 256 // bytes
	MaxNesting = 64  // of blocks, and of brackets and operators within a tag
)

// Parse reads a template; isFilter and isTest report which filters and tests there are.
func Parse(source string, isFilter, isTest func(name string) bool) (*Tree, error) {
	if len(source) > MaxSource {
		return nil, fmt.Errorf("%d bytes long; at most %d are allowed", len(source), MaxSource)
	}
	p := &parser{lexer: newLexer(source), blocks: statementParsers(), uses: map[string]bool{}, reads: map[string]bool{}, isFilter: isFilter, isTest: isTest}
	if err := p.advance(); err != nil {
		return nil, err
	}
	body, err := p.statements(token{})
	if err != nil {
		return nil, err
	}
	return &Tree{body, p.uses, p.reads}, nil
}

// A parser reads a template's tokens by recursive descent, with Jinja's rules of precedence.
type parser struct {
	lexer  *lexer
	token  token // the current one
	ahead  token // the one after it, if looked is set
	looked bool
	count  int // tokens read
	depth  int // how many blocks and operands enclose the current token
	loops  int // how many loops enclose the current statement, within its macro

	// An unknown filter or test is a mistake in the template, unless it may never be evaluated: in the branches of an if, since templates
	// ask "x is filter" first. soft says that the parser is within such a branch; firstUnknown is the error for the first unknown filter or
	// test in one.
	soft         bool
	firstUnknown error

	isFilter, isTest func(name string) bool

	blocks   map[string]func(p *parser, t token) (Statement, error) // statementParsers
	uses     map[string]bool                                        // names of variables and attributes, and strings, in the template
	reads    map[string]bool                                        // names of variables in the template
	captured []map[string]bool                                      // for each macro that the parser is within: names of variables in it
}

func (p *parser) fail(line int, format string, args ...any) error {
	return &syntaxError{line, fmt.Sprintf(format, args...)}
}

func (p *parser) unexpected(want string) error {
	return p.fail(p.token.line, "expected %s, near %s", want, p.token.describe())
}

// advance makes the next token the current one.
func (p *parser) advance() error {
	if p.looked {
		p.token, p.looked = p.ahead, false
		return nil
	}
	if p.count++; p.count > maxTokens {
		return p.fail(p.token.line, "more than %d tokens", maxTokens)
	}
	var err error
	p.token, err = p.lexer.next()
	return err
}

// peek returns the token after the current one.
func (p *parser) peek() (token, error) {
	if !p.looked {
		current := p.token
		if err := p.advance(); err != nil {
			return token{}, err
		}
		p.ahead, p.token, p.looked = p.token, current, true
	}
	return p.ahead, nil
}

func (p *parser) isOperator(value string) bool {
	return p.token.kind == operator && p.token.value == value
}

func (p *parser) isName(values ...string) bool {
	return p.token.kind == name && slices.Contains(values, p.token.value)
}

// skip consumes the current token when it is this operator, or this name.
func (p *parser) skip(kind tokenKind, value string) (bool, error) {
	if p.token.kind != kind || p.token.value != value {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) expect(kind tokenKind, value, want string) (token, error) {
	t := p.token
	if t.kind != kind || value != "" && t.value != value {
		return t, p.unexpected(want)
	}
	return t, p.advance()
}

// enter adds one to the depth, and refuses too many. After a call that succeeds the caller subtracts it again.
func (p *parser) enter() error {
	if p.depth++; p.depth > 2*MaxNesting {
		return p.fail(p.token.line, "nested deeper than %d", 2*MaxNesting)
	}
	return nil
}

// statements reads up to a block that begins with one of ends, and leaves the block's name as the current token. Without ends it reads up
// to the end of the template. open is the line of the block around the statements.
func (p *parser) statements(open token, ends ...string) ([]Statement, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	var list []Statement
	for {
		t := p.token
		switch t.kind {
		case endOfTemplate:
			if len(ends) > 0 {
				return nil, p.fail(open.line, "{%% %s %%} without its %s", open.value, ends[len(ends)-1])
			}
			return list, nil
		case data:
			list = append(list, &Text{texts.Own(t.value)})
			if err := p.advance(); err != nil {
				return nil, err
			}
		case variableBegin:
			if err := p.advance(); err != nil {
				return nil, err
			}
			of, err := p.tuple(false)
			if err != nil {
				return nil, err
			}
			if _, err := p.expect(variableEnd, "", "}}"); err != nil {
				return nil, err
			}
			list = append(list, &Output{of, t.line})
		case blockBegin:
			if err := p.advance(); err != nil {
				return nil, err
			}
			if p.token.kind != name {
				return nil, p.unexpected("the name of a statement")
			}
			if slices.Contains(ends, p.token.value) {
				return list, nil
			}
			s, err := p.statement()
			if err != nil {
				return nil, err
			}
			if p.token.kind != blockEnd {
				return nil, p.unexpected("%}")
			}
			if err := p.advance(); err != nil {
				return nil, err
			}
			list = append(list, s)
		default:
			return nil, p.unexpected("text or a tag")
		}
	}
}

// body reads the end of a block's head, the block's body, and the name that ends it, which the caller may look at.
func (p *parser) body(open token, ends ...string) ([]Statement, error) {
	if _, err := p.expect(blockEnd, "", "%}"); err != nil {
		return nil, err
	}
	return p.statements(open, ends...)
}

// wholeBody is body for a block with one end, which is consumed.
func (p *parser) wholeBody(open token, end string) ([]Statement, error) {
	body, err := p.body(open, end)
	if err != nil {
		return nil, err
	}
	return body, p.advance()
}

// statement reads one statement up to its block's end. The current token is its name.
func (p *parser) statement() (Statement, error) {
	t := p.token
	parse, ok := p.blocks[t.value]
	if !ok {
		return nil, p.fail(t.line, "{%% %s %%} is not supported in a chat template", t.value)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	soft := p.soft
	p.soft = t.value == "if" || soft && t.value == "set"
	s, err := parse(p, t)
	p.soft = soft
	return s, err
}

// refer notes that the template reads a variable.
func (p *parser) refer(name string) {
	p.uses[name], p.reads[name] = true, true
	if n := len(p.captured); n > 0 {
		p.captured[n-1][name] = true
	}
}
