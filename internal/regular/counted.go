package regular

// Counted returns the bounds of the first counted repetition in the sequence e: for a{2,9}b it returns 2 and 9. ok is false if e has no
// counted repetition. It skips repetitions of repetitions, since they are not the same expression without their bounds.
func (r *Arena) Counted(e Expr) (least, most int, ok bool) {
	switch n := r.nodes[e]; n.kind {
	case repeat:
		return int(n.b), int(n.c), r.counts(&n)
	case concat:
		if least, most, ok := r.Counted(Expr(n.a)); ok {
			return least, most, true
		}
		return r.Counted(Expr(n.b))
	}
	return 0, 0, false
}

// counts reports whether n is a repetition that Counted can return.
func (r *Arena) counts(n *node) bool {
	return n.kind == repeat && n.c != Unbounded && r.nodes[n.a].kind != repeat
}

// Recount returns e with other bounds for the repetition that Counted found.
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

// Again returns the bytes that continue the repetition that Counted found, or lead to it, rather than the part after it. clear is false if
// the next byte alone does not decide this: then one text can be read with different numbers of repetitions, as aaa can by a{2,9}(aa)?.
func (r *Arena) Again(e Expr) (again Class, clear bool) {
	head, rest := e, Empty
	if n := r.nodes[e]; n.kind == concat {
		head, rest = Expr(n.a), Expr(n.b)
	}
	first, then := r.First(head), Class{}
	n := r.nodes[head]
	if r.counts(&n) {
		return first, first.And(r.First(rest)) == (Class{})
	}
	if !n.nullable {
		return first, true
	}
	then, clear = r.Again(rest)
	return first.Or(then), clear && first.And(r.First(rest)) == (Class{})
}
