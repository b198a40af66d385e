package regular

// Limited is an expression that bounds how often something is repeated while other conditions hold, and what follows it: of
//
//	([a-z]+(-[a-z]+)* & .{2,40})"
//
// Inside is [a-z]+(-[a-z]+)* & .{2,}, Unit is a dot, Most 40, and Behind the quote.
type Limited struct {
	Inside Expr // without the upper bound
	Unit   Expr // the repeated part
	Most   int  // up to how often
	Behind Expr // what follows
}

// Limited takes e apart, if it is such an expression. Of several bounds it takes the highest.
func (r *Arena) Limited(e Expr) (l Limited, ok bool) {
	head := e
	l.Behind = Empty
	if n := r.nodes[e]; n.kind == concat {
		head, l.Behind = Expr(n.a), Expr(n.b)
	}
	n := r.nodes[head]
	if n.kind != and {
		return l, false
	}
	at, least := -1, 0
	for i, e := range r.lists[n.a : n.a+n.b] {
		if m := r.nodes[e]; r.counts(&m) && (at < 0 || int(m.c) > l.Most) {
			at, least, l.Unit, l.Most = i, int(m.b), Expr(m.a), int(m.c)
		}
	}
	if at < 0 {
		return l, false
	}
	open := r.Repeat(l.Unit, least, Unbounded)
	begin := len(r.scratch)
	r.scratch = append(r.scratch, r.lists[n.a:n.a+n.b]...)
	r.scratch[begin+at] = open
	l.Inside = r.join(and, r.scratch[begin:])
	r.scratch = r.scratch[:begin]
	return l, true
}

// Single returns the byte that e is or begins with, if e is a text.
func (r *Arena) Single(e Expr) (b byte, ok bool) {
	n := &r.nodes[e]
	if n.kind == concat {
		n = &r.nodes[n.a]
	}
	switch n.kind {
	case literal:
		return r.text[n.a], true
	case class:
		c := &r.classes[n.a]
		return c.Lowest(), c.Len() == 1
	}
	return 0, false
}
