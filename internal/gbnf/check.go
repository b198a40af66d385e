package gbnf

import (
	"slices"
	"strings"
)

// check returns an error if the rules as a whole are wrong, and the number of the root otherwise.
func (p *parser) check() (root int, err error) {
	root, ok := p.names["root"]
	if !ok || p.rules[root].body == nil {
		return 0, p.errorAt(len(p.source), "there is no rule root: it says what the whole text is")
	}
	for i := range p.rules {
		if r := &p.rules[i]; r.body == nil {
			return 0, p.errorAt(r.at, "the rule %s is not defined", r.name)
		}
	}
	if len(p.rules) > maxRules {
		return 0, p.errorAt(len(p.source), "there are %d rules: want at most %d", len(p.rules), maxRules)
	}
	p.reach(root)
	p.spread(func(n *node) *bool { return &n.productive }, func(n *node) bool { return n.kind == text })
	p.spread(func(n *node) *bool { return &n.nullable }, func(n *node) bool { return n.kind == text && p.arena.Nullable(n.expr) })
	for i := range p.rules {
		if r := &p.rules[i]; r.reached && !r.body.productive {
			return 0, p.errorAt(r.at, "the rule %s can never end: each of its alternatives needs a rule that needs it again", r.name)
		}
	}
	return root, p.leftRecursion()
}

// reach marks the rules that are used.
func (p *parser) reach(root int) {
	todo := []int{root}
	p.rules[root].reached = true
	for len(todo) > 0 {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		nodes := []*node{p.rules[r].body}
		for len(nodes) > 0 {
			n := nodes[len(nodes)-1]
			nodes = append(nodes[:len(nodes)-1], n.parts...)
			if n.kind == ref && !p.rules[n.rule].reached {
				p.rules[n.rule].reached = true
				todo = append(todo, n.rule)
			}
		}
	}
}

// spread sets a mark of all nodes that have the property. Texts have it if leaf says so; sequences, if all parts have it; choices, if one
// part has it; repetitions, if their part has it or need not be there; uses, if the rule has it.
func (p *parser) spread(mark func(*node) *bool, leaf func(*node) bool) {
	var marked []*node
	set := func(n *node) {
		if m := mark(n); !*m {
			*m = true
			marked = append(marked, n)
		}
	}
	for i := range p.rules {
		nodes := []*node{p.rules[i].body}
		for len(nodes) > 0 {
			n := nodes[len(nodes)-1]
			nodes = append(nodes[:len(nodes)-1], n.parts...)
			n.missing = len(n.parts)
			if n.kind == repeat && n.least == 0 || n.kind == sequence && n.missing == 0 || leaf(n) {
				set(n)
			}
		}
	}
	for len(marked) > 0 {
		n := marked[len(marked)-1]
		marked = marked[:len(marked)-1]
		switch up := n.parent; {
		case up == nil:
			for _, use := range p.rules[n.owner].refs {
				set(use)
			}
		case up.kind == sequence:
			if up.missing--; up.missing == 0 {
				set(up)
			}
		default:
			set(up)
		}
	}
}

// begins appends to dst the uses of rules with which texts of n may begin.
func (n *node) begins(dst []*node) []*node {
	if n.kind == ref {
		return append(dst, n)
	}
	for _, part := range n.parts {
		if dst = part.begins(dst); n.kind == sequence && !part.nullable {
			break
		}
	}
	return dst
}

// leftRecursion returns an error if a rule may begin with itself.
func (p *parser) leftRecursion() error {
	const (
		fresh = iota
		open  // on the path
		done
	)
	state := make([]uint8, len(p.rules))
	type step struct {
		rule int
		uses []*node // not yet followed
	}
	for i := range p.rules {
		if state[i] != fresh || !p.rules[i].reached {
			continue
		}
		state[i] = open
		path := []step{{i, p.rules[i].body.begins(nil)}}
		for len(path) > 0 {
			top := &path[len(path)-1]
			if len(top.uses) == 0 {
				state[top.rule] = done
				path = path[:len(path)-1]
				continue
			}
			use := top.uses[0]
			top.uses = top.uses[1:]
			switch state[use.rule] {
			case fresh:
				state[use.rule] = open
				path = append(path, step{use.rule, p.rules[use.rule].body.begins(nil)})
			case open:
				from := slices.IndexFunc(path, func(s step) bool { return s.rule == use.rule })
				var names []string
				for _, s := range path[from:] {
					names = append(names, p.rules[s.rule].name)
				}
				if len(names) > 10 {
					names = append(names[:9], "…", names[len(names)-1])
				}
				names = append(names, p.rules[use.rule].name)
				return p.errorAt(use.at, "left recursion, %s: a rule must not begin with itself; write the repetition with * or +", strings.Join(names, " → "))
			}
		}
	}
	return nil
}
