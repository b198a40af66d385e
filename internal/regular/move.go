package regular

import "slices"

// Mover copies expressions from one arena to another. Both began as copies of the same one, and those that this one had have the same
// numbers in both.
type Mover struct {
	To, From *Arena
	Shared   int           // how many expressions that one had
	Moved    map[Expr]Expr // those that were copied
}

// Expr returns the expression of To that is e in From.
func (m *Mover) Expr(e Expr) Expr {
	if int(e) < m.Shared {
		return e
	}
	if moved, ok := m.Moved[e]; ok {
		return moved
	}
	r, n := m.To, m.From.nodes[e]
	n.row, n.part, n.loose, n.slack = 0, 0, 0, 0
	if n.alive == hasNot { // or From failed while it searched
		n.alive = unknown
	}
	var moved Expr
	switch n.kind {
	case class:
		moved = r.Class(m.From.classes[n.a])
	case literal:
		moved = r.Literal(string(m.From.text[n.a : n.a+n.b]))
	case or, and:
		list := make([]Expr, n.b)
		for i := range list {
			list[i] = m.Expr(m.From.lists[int(n.a)+i])
		}
		slices.Sort(list)
		n.a = int32(len(r.lists))
		r.lists = append(r.lists, list...)
		if moved = r.intern(n); r.nodes[moved].a != n.a || r.nodes[moved].kind != n.kind {
			r.lists = r.lists[:n.a]
		}
	case concat:
		n.a, n.b = int32(m.Expr(Expr(n.a))), int32(m.Expr(Expr(n.b)))
		moved = r.intern(n)
	case not, repeat:
		n.a = int32(m.Expr(Expr(n.a)))
		moved = r.intern(n)
	default:
		moved = r.intern(n)
	}
	m.Moved[e] = moved
	return moved
}
