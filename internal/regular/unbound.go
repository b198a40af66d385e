package regular

// Unbound returns e with its first counted repetition, if it is a part of the sequence that e is, replaced by one without bounds:
// of a{2,9}b it returns a*b, 2 and 9. ok is false where there is none. Whatever goes on in e for most bytes goes on in what is
// returned, and the other way round; it may end there sooner.
func (r *Arena) Unbound(e Expr) (unbound Expr, least, most int, ok bool) {
	switch n := r.nodes[e]; n.kind {
	case repeat:
		if n.c != Unbounded {
			return r.Star(Expr(n.a)), int(n.b), int(n.c), true
		}
	case concat:
		if u, least, most, ok := r.Unbound(Expr(n.a)); ok {
			return r.concat(u, Expr(n.b)), least, most, true
		}
		if u, least, most, ok := r.Unbound(Expr(n.b)); ok {
			return r.concat(Expr(n.a), u), least, most, true
		}
	}
	return e, 0, 0, false
}
