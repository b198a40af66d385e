package regular

// Alive reports whether any string belongs to e.
func (r *Arena) Alive(e Expr) bool {
	n := &r.nodes[e]
	if n.alive != unknown {
		return n.alive == has
	}
	if r.err != nil {
		return false
	}
	alive := e != None && (n.plain || n.nullable)
	if !alive {
		switch n.kind {
		case concat:
			a, b := Expr(n.a), Expr(n.b)
			alive = r.Alive(a) && r.Alive(b)
		case or:
			for i := n.a; i < n.a+n.b && !alive; i++ {
				alive = r.Alive(r.lists[i])
				n = &r.nodes[e]
			}
		case repeat:
			alive = r.Alive(Expr(n.a))
		default:
			return r.search(e)
		}
	}
	r.nodes[e].alive = hasNot
	if alive {
		r.nodes[e].alive = has
	}
	return alive
}

// search walks through the states that are reached from e until it finds one that is known to have strings. For a while it takes
// the state that was found last and the one that was found first in turn: the one order finds long strings soon, the other short ones.
func (r *Arena) search(e Expr) bool {
	r.startEffort()
	enough := r.enough          // rows that are added on the way begin anew
	seen := map[Expr]Expr{e: e} // each state, and the one that it was reached from
	todo := append(r.stack[:0:0], e)
	for turn := 0; len(todo) > 0; turn++ {
		s := todo[len(todo)-1]
		if turn%2 == 0 || turn > shortSearch {
			todo = todo[:len(todo)-1]
		} else {
			s, todo = todo[0], todo[1:]
		}
		if r.nodes[s].row == 0 {
			r.addRow(s)
		}
		p := r.parts[r.nodes[s].part-1]
		for i := range p.count {
			d := r.derivative(s, p.first[i])
			if r.err != nil {
				return false
			}
			if d == None {
				continue
			}
			n := &r.nodes[d]
			if n.alive == hasNot {
				continue
			}
			if n.alive == has || n.nullable || n.plain {
				for n.alive = has; ; s = seen[s] {
					r.nodes[s].alive = has
					if s == e {
						return true
					}
				}
			}
			if _, ok := seen[d]; !ok {
				seen[d] = s
				todo = append(todo, d)
			}
		}
		if len(seen) > r.bounds.Search || r.effort > enough {
			r.fail()
			return false
		}
	}
	for s := range seen {
		r.nodes[s].alive = hasNot
	}
	return false
}

// shortSearch is how many states search looks at in both orders.
const shortSearch = 400
