package gbnf

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// Rules become expressions as far as possible, since the masks of expressions are remembered. The rules are taken in an order in which each
// comes after those that it needs (groups). A rule that uses itself only at its end is a loop:
//
//	ws   ::= [ ] ws | ""             becomes   [ ]* ""
//	list ::= item "," list | item    becomes   (item ",")* item
//
// If all parts of a rule are expressions, and it does not cost too much, the rule is one expression (compileGroup). All other rules become
// rules of package grammar: sequences of symbols, each an expression or a rule. In
//
//	value ::= [0-9]+ | "[" value "]"
//
// the parts [0-9]+, "[" and "]" are expressions, and value stays a rule, since it uses itself in the middle.

// Bounds of what becomes an expression. Costs count about how many expressions a text is made of.
const (
	freeCost   = 4_000  // of a rule with all that it uses, apart from its own text
	freeBudget = 50_000 // of all rules together, besides what the length of the source allows
	longLoop   = 16     // from how many repetitions on a loop over many characters makes a part wide
	maxEmpty   = 1_000  // repetitions of a part that nests and may be empty, if they have a bound
)

// compiler makes symbols of rules.
type compiler struct {
	g      *grammar.Grammar
	rules  []rule
	budget int   // the cost that may still be spent on expressions
	todo   []int // rules that have a symbol, and are to be defined
	err    error
	errAt  int
}

// symbol returns the symbol of the root, with everything that is used defined.
func (c *compiler) symbol(root int) grammar.Symbol {
	for _, group := range c.groups(root) {
		c.compileGroup(group)
	}
	s := c.use(root)
	for len(c.todo) > 0 && c.err == nil && c.g.Arena.Err() == nil {
		r := &c.rules[c.todo[len(c.todo)-1]]
		c.todo = c.todo[:len(c.todo)-1]
		c.g.Define(r.id, c.alternatives(r.body))
	}
	return s
}

// groups returns the rules that are used, those that need each other together, and each behind those that it needs (Tarjan 1972).
func (c *compiler) groups(root int) (groups [][]int) {
	number, low := make([]int, len(c.rules)), make([]int, len(c.rules)) // number 0: not yet visited
	var stack []int
	visited := 0
	var visit func(i int)
	visit = func(i int) {
		visited++
		number[i], low[i] = visited, visited
		stack = append(stack, i)
		c.rules[i].body.uses(func(j int) {
			switch {
			case number[j] == 0:
				visit(j)
				low[i] = min(low[i], low[j])
			case number[j] > 0:
				low[i] = min(low[i], number[j])
			}
		})
		if low[i] != number[i] {
			return
		}
		var group []int
		for {
			j := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			group = append(group, j)
			number[j] = -1
			if j == i {
				break
			}
		}
		groups = append(groups, group)
	}
	visit(root)
	return groups
}

// uses calls f with each rule that is used in n.
func (n *node) uses(f func(rule int)) {
	if n.kind == ref {
		f(n.rule)
	}
	for _, part := range n.parts {
		part.uses(f)
	}
}

// compileGroup finds out which rule of a group is one expression, and makes it. The rules that the group needs are settled.
func (c *compiler) compileGroup(group []int) {
	if len(group) > 1 {
		return
	}
	r, body := &c.rules[group[0]], c.rules[group[0]].body
	if again, last, ok := body.loop(group[0]); !ok {
		return
	} else if again != nil {
		// r ::= again r | last is any number of again, and then last.
		body = inOrder(&node{kind: repeat, parts: []*node{again}, most: regular.Unbounded, nullable: true}, last)
	}
	f := c.look(body)
	if !f.solid || f.cost > freeCost+2*f.own || f.cost > c.budget {
		return
	}
	c.budget -= f.cost
	r.one, r.expr, r.body = true, c.expr(body), body
}

// loop splits the body of a rule that uses itself at its end: a text of the rule is one of again followed by a text of the rule, or one of
// last. again and last may be nil. ok is false if the rule uses itself elsewhere.
func (n *node) loop(rule int) (again, last *node, ok bool) {
	switch {
	case n.kind == ref && n.rule == rule:
		return inOrder(), nil, true
	case n.kind == choice:
		var agains, lasts []*node
		for _, part := range n.parts {
			again, last, ok := part.loop(rule)
			if !ok {
				return nil, nil, false
			}
			if again != nil {
				agains = append(agains, again)
			}
			if last != nil {
				lasts = append(lasts, last)
			}
		}
		if len(agains) == 0 {
			return nil, n, true
		}
		return oneOfThese(agains), oneOfThese(lasts), true
	case n.kind == sequence:
		for i, part := range n.parts {
			again, last, ok := part.loop(rule)
			if !ok || again != nil && i < len(n.parts)-1 {
				return nil, nil, false
			}
			if again == nil {
				continue
			}
			before := n.parts[:i:i]
			again = inOrder(append(before, again)...)
			if last != nil {
				last = inOrder(append(before, last)...)
			}
			return again, last, true
		}
	case n.kind == repeat:
		again, last, ok := n.parts[0].loop(rule)
		switch {
		case !ok || again != nil && n.most != 1:
			return nil, nil, false
		case again == nil:
			return nil, n, true
		case n.least == 0 && last != nil:
			last = oneOfThese([]*node{inOrder(), last})
		case n.least == 0:
			last = inOrder()
		}
		return again, last, true
	}
	return nil, n, true
}

// inOrder returns the sequence of parts.
func inOrder(parts ...*node) *node {
	n := &node{kind: sequence, parts: parts, nullable: true}
	for _, part := range parts {
		n.nullable = n.nullable && part.nullable
	}
	return n
}

// oneOfThese returns the choice among parts, or nil if parts is empty.
func oneOfThese(parts []*node) *node {
	if len(parts) == 0 {
		return nil
	}
	n := &node{kind: choice, parts: parts}
	for _, part := range parts {
		n.nullable = n.nullable || part.nullable
	}
	return n
}

// look returns the facts about n. The rules that n uses have been compiled.
func (c *compiler) look(n *node) *facts {
	if n.facts != nil {
		return n.facts
	}
	f := &facts{solid: true}
	n.facts = f
	switch n.kind {
	case text:
		f.cost, f.own, f.many = n.cost, n.cost, n.many
		return f
	case ref:
		f.own = 1
		if r := &c.rules[n.rule]; r.one {
			body := *c.look(r.body)
			f.solid, f.cost, f.many, f.wide, f.open = !body.closed(), body.cost, body.many, body.wide, body.open
		} else {
			f.solid = false
		}
		return f
	}
	f.cost, f.own = 1, 1
	for _, part := range n.parts {
		p := c.look(part)
		f.solid = f.solid && p.solid
		f.cost, f.own = min(f.cost+p.cost, 1<<30), f.own+p.own
		f.many, f.wide = f.many || p.many, f.wide || p.wide
		f.open = p.open || f.open && (n.kind == choice || part.nullable)
	}
	if n.kind == repeat && f.many && (n.most == regular.Unbounded || n.most >= longLoop) {
		f.wide, f.open = true, true
	}
	return f
}

// expr returns the expression of a solid part.
func (c *compiler) expr(n *node) regular.Expr {
	r := c.g.Arena
	switch n.kind {
	case text:
		return n.expr
	case ref:
		return c.rules[n.rule].expr
	case repeat:
		return r.Repeat(c.expr(n.parts[0]), n.least, n.most)
	}
	es := make([]regular.Expr, len(n.parts))
	for i, part := range n.parts {
		es[i] = c.expr(part)
	}
	if n.kind == choice {
		return r.Or(es...)
	}
	return r.Concat(es...)
}

// use returns the symbol of a rule, which is defined later if need be.
func (c *compiler) use(i int) grammar.Symbol {
	r := &c.rules[i]
	if r.one {
		return grammar.Text(r.expr)
	}
	if !r.added {
		r.added, r.id = true, c.g.Add(nil)
		c.todo = append(c.todo, i)
	}
	return grammar.Call(r.id, 0)
}

// affordable reports whether a part may become an expression, or join one that costs more already.
func (c *compiler) affordable(n *node, more int) bool {
	f := c.look(n)
	return f.solid && f.cost+more <= min(c.budget, freeCost+2*f.own)
}

// symbols returns the sequence of symbols of a part.
func (c *compiler) symbols(n *node) []grammar.Symbol {
	switch {
	case n.kind == ref:
		return []grammar.Symbol{c.use(n.rule)}
	case n.kind == text:
		return []grammar.Symbol{grammar.Text(n.expr)}
	case c.affordable(n, 0):
		c.budget -= c.look(n).cost
		return []grammar.Symbol{grammar.Text(c.expr(n))}
	case n.kind == sequence:
		return c.sequence(n)
	case n.kind == choice:
		return []grammar.Symbol{grammar.Call(c.g.Add(c.alternatives(n)), 0)}
	}
	if n.parts[0].nullable && n.most > maxEmpty && c.err == nil {
		c.err, c.errAt = fmt.Errorf("%d repetitions of what may be empty: want at most %d, or no bound", n.most, maxEmpty), n.at
	}
	rule := &repetition{body: c.symbols(n.parts[0]), least: n.least, most: n.most}
	if n.parts[0].nullable {
		rule.least = 0
	}
	rule.self = c.g.Add(rule)
	return []grammar.Symbol{grammar.Call(rule.self, 0)}
}

// sequence returns the symbols of a sequence that is not one expression. Neighbouring parts become one expression if loops over many
// characters stay the same expression everywhere: such a loop takes the parts after it with it, up to the first that must be there.
func (c *compiler) sequence(n *node) (symbols []grammar.Symbol) {
	var run []*node
	var together facts
	flush := func() {
		if len(run) > 0 {
			c.budget -= together.cost
			symbols = append(symbols, grammar.Text(c.expr(inOrder(run...))))
			run, together = nil, facts{}
		}
	}
	for _, part := range n.parts {
		if !c.affordable(part, together.cost) {
			flush()
		}
		if !c.affordable(part, 0) {
			symbols = append(symbols, c.symbols(part)...)
			continue
		}
		f := c.look(part)
		if len(run) > 0 && !together.open && (together.wide || f.wide) {
			flush()
		}
		run = append(run, part)
		together.cost += f.cost
		together.wide = together.wide || f.wide
		together.open = f.open || together.open && part.nullable
	}
	flush()
	return symbols
}

// alternatives returns the rule of a part. Alternatives without a loop over many characters become one expression.
func (c *compiler) alternatives(n *node) grammar.Alternatives {
	if n.kind != choice {
		return grammar.Alternatives{c.symbols(n)}
	}
	var all grammar.Alternatives
	var short []regular.Expr
	for _, part := range n.parts {
		if c.affordable(part, 0) && !c.look(part).wide {
			c.budget -= c.look(part).cost
			short = append(short, c.expr(part))
			continue
		}
		all = append(all, c.symbols(part))
	}
	if len(short) > 0 {
		all = append(all, []grammar.Symbol{grammar.Text(c.g.Arena.Or(short...))})
	}
	return all
}

// repetition is the rule of a part that is repeated. Its argument counts the repetitions so far, up to most, or up to least if there is no
// upper bound.
type repetition struct {
	self        grammar.RuleID
	body        []grammar.Symbol
	least, most int
}

// Expand gives the end, and one more time.
func (r *repetition) Expand(times int64, yield func(...grammar.Symbol)) {
	if int(times) >= r.least {
		yield()
	}
	next := times + 1
	if r.most == regular.Unbounded {
		next = min(next, int64(r.least))
	} else if int(times) >= r.most {
		return
	}
	yield(append(r.body[:len(r.body):len(r.body)], grammar.Call(r.self, next))...)
}
