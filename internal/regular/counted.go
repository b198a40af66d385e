package regular

// Counted returns the bounds of the first counted repetition that is a part of the sequence that e is: of a{2,9}b it returns 2 and 9.
// ok is false where there is none.
func (r *Arena) Counted(e Expr) (least, most int, ok bool) {
	switch n := r.nodes[e]; n.kind {
	case repeat:
		return int(n.b), int(n.c), n.c != Unbounded
	case concat:
		if least, most, ok := r.Counted(Expr(n.a)); ok {
			return least, most, true
		}
		return r.Counted(Expr(n.b))
	}
	return 0, 0, false
}

// Repeats tells whether e has a repetition anywhere whose upper bound is one of these.
func (r *Arena) Repeats(e Expr, least, most int) bool {
	switch n := r.nodes[e]; n.kind {
	case concat:
		return r.Repeats(Expr(n.a), least, most) || r.Repeats(Expr(n.b), least, most)
	case or, and:
		for i := range n.b {
			if r.Repeats(r.lists[n.a+i], least, most) {
				return true
			}
		}
	case not:
		return r.Repeats(Expr(n.a), least, most)
	case repeat:
		return least <= int(n.c) && int(n.c) <= most || r.Repeats(Expr(n.a), least, most)
	}
	return false
}

// Recount returns e with other bounds for the repetition that Counted tells of.
func (r *Arena) Recount(e Expr, least, most int) Expr {
	switch n := r.nodes[e]; n.kind {
	case repeat:
		return r.Repeat(Expr(n.a), least, most)
	case concat:
		if _, _, ok := r.Counted(Expr(n.a)); ok {
			return r.concat(r.Recount(Expr(n.a), least, most), Expr(n.b))
		}
		return r.concat(Expr(n.a), r.Recount(Expr(n.b), least, most))
	}
	return e
}
