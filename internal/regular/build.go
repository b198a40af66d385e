package regular

import "slices"

// Expressions are simplified as they are built, so that expressions of the same language are often the same number: fewer states, and
// recursion ends. For example,
//
//	Or(a, [bc], Or(d, a)) = [a-d]       operands are flattened, sorted and taken once, and classes become one class
//	And([ab], [cd]) = None              an empty class is the empty language
//	Concat(None, e) = None, Concat(Empty, e) = e, Not(Not(e)) = e

// Class returns the strings of one byte that belong to c.
func (r *Arena) Class(c Class) Expr {
	if c == (Class{}) {
		return None
	}
	n := len(r.classes)
	r.classes = append(r.classes, c)
	e := r.intern(node{kind: class, plain: true, alive: has, a: int32(n)})
	if int(r.nodes[e].a) != n || r.nodes[e].kind != class {
		r.classes = r.classes[:n]
	}
	return e
}

// Literal returns one string.
func (r *Arena) Literal(s string) Expr {
	switch len(s) {
	case 0:
		return Empty
	case 1:
		return r.Class(ClassOf(s[0]))
	}
	n := len(r.text)
	r.text = append(r.text, s...)
	e := r.intern(node{kind: literal, plain: true, alive: has, a: int32(n), b: int32(len(s))})
	if int(r.nodes[e].a) != n || r.nodes[e].kind != literal {
		r.text = r.text[:n]
	}
	return e
}

// tail returns the literal e without its first byte. It shares the text.
func (r *Arena) tail(e Expr) Expr {
	n := r.nodes[e]
	if n.b == 2 {
		return r.Class(ClassOf(r.text[n.a+1]))
	}
	return r.intern(node{kind: literal, plain: true, alive: has, a: n.a + 1, b: n.b - 1})
}

// Concat returns the strings that are made of one of each expression, in order.
func (r *Arena) Concat(es ...Expr) Expr {
	all := Empty
	for i := len(es) - 1; i >= 0; i-- {
		all = r.concat(es[i], all)
	}
	return all
}

func (r *Arena) concat(a, b Expr) Expr {
	switch {
	case a == None || b == None:
		return None
	case a == Empty:
		return b
	case b == Empty:
		return a
	case b == All && r.nodes[a].nullable:
		return All
	}
	if n := r.nodes[a]; n.kind == concat {
		return r.concat(Expr(n.a), r.concat(Expr(n.b), b))
	}
	x, y := &r.nodes[a], &r.nodes[b]
	return r.intern(node{kind: concat, nullable: x.nullable && y.nullable, plain: x.plain && y.plain, a: int32(a), b: int32(b)})
}

// Or returns the strings of any of the expressions.
func (r *Arena) Or(es ...Expr) Expr { return r.join(or, es) }

// And returns the strings that belong to all of the expressions.
func (r *Arena) And(es ...Expr) Expr { return r.join(and, es) }

// join is Or and And. The one's neutral element is the other's absorbing one.
func (r *Arena) join(k kind, es []Expr) Expr {
	neutral, absorbing := None, All
	if k == and {
		neutral, absorbing = All, None
	}
	begin := len(r.scratch) // joins nest: the operands of this one come behind those of the ones around it
	defer func() { r.scratch = r.scratch[:begin] }()
	var merged Class
	classes := 0
	add := func(e Expr) bool {
		if n := r.nodes[e]; n.kind == class {
			if c := r.classes[n.a]; classes == 0 {
				merged = c
			} else if k == or {
				merged = merged.Or(c)
			} else {
				merged = merged.And(c)
			}
			classes++
			return true
		}
		if e != neutral {
			r.scratch = append(r.scratch, e)
		}
		return e != absorbing
	}
	for _, e := range es {
		if n := r.nodes[e]; n.kind == k {
			for _, e := range r.lists[n.a : n.a+n.b] {
				if !add(e) {
					return absorbing
				}
			}
		} else if !add(e) {
			return absorbing
		}
	}
	if classes > 0 {
		c := r.Class(merged)
		if c == absorbing { // no byte is in all of the classes
			return absorbing
		}
		r.scratch = append(r.scratch, c)
	}
	list := r.scratch[begin:]
	r.effort += len(list)
	slices.Sort(list)
	list = slices.Compact(list)
	if k == or && len(list) > 1 {
		list = r.absorb(list)
	}
	switch {
	case len(list) == 0:
		return neutral
	case len(list) == 1:
		return list[0]
	case len(list) > r.bounds.Operands:
		return r.fail()
	}
	if k == and {
		if e, ok := r.commonCount(list); ok {
			return e
		}
	}
	n := node{kind: k, nullable: k == and, plain: k == or, a: int32(len(r.lists)), b: int32(len(list))}
	for _, e := range list {
		x := &r.nodes[e]
		if k == or {
			n.nullable, n.plain = n.nullable || x.nullable, n.plain && x.plain
		} else {
			n.nullable = n.nullable && x.nullable
			if x.kind == not {
				if _, ok := slices.BinarySearch(list, Expr(x.a)); ok {
					return None
				}
			}
			if x.kind == empty { // nothing else, or nothing at all
				for _, e := range list {
					if !r.nodes[e].nullable {
						return None
					}
				}
				return Empty
			}
		}
	}
	r.lists = append(r.lists, list...)
	e := r.intern(n)
	if r.nodes[e].a != n.a || r.nodes[e].kind != k {
		r.lists = r.lists[:n.a]
	}
	return e
}

// commonCount returns the intersection of two repetitions if one repeats single bytes of a class and the other can only read these bytes
// one by one. Example: of [a-z]+ and .{2,9} it returns [a-z]{2,9}.
func (r *Arena) commonCount(list []Expr) (Expr, bool) {
	if len(list) != 2 {
		return None, false
	}
	for i, e := range list {
		m, n := r.nodes[e], r.nodes[list[1-i]]
		if m.kind != repeat || n.kind != repeat || r.nodes[m.a].kind != class || !r.reads(Expr(n.a), r.classes[r.nodes[m.a].a]) {
			continue
		}
		most := int(m.c)
		if most == Unbounded || n.c != Unbounded && int(n.c) < most {
			most = int(n.c)
		}
		return r.Repeat(Expr(m.a), int(max(m.b, n.b)), most), true
	}
	return None, false
}

// reads reports whether each byte of c is a string of e, and no other string of e begins with it.
func (r *Arena) reads(e Expr, c Class) bool {
	n := r.nodes[e]
	switch n.kind {
	case class:
		d := r.classes[n.a]
		return c.And(d) == c
	case or:
		single := Class{}
		for _, e := range r.lists[n.a : n.a+n.b] {
			if m := r.nodes[e]; m.kind == class {
				single = r.classes[m.a]
			}
		}
		if c.And(single) != c {
			return false
		}
		for i := range n.b {
			if e := r.lists[n.a+i]; r.nodes[e].kind != class && r.First(e).And(c) != (Class{}) {
				return false
			}
		}
		return true
	}
	return false
}

// absorb drops operands of a union that another operand contains because its bounds are wider: with a{2,9}b in the union, it drops a{3,7}b.
// Otherwise a search for a{1000} anywhere would become a union of up to a thousand operands.
func (r *Arena) absorb(list []Expr) []Expr {
	type repetition struct {
		at          int
		what, then  Expr
		least, most int32
	}
	var few [8]repetition
	found := few[:0]
	for i, e := range list {
		n, then := &r.nodes[e], Empty
		if n.kind == concat {
			n, then = &r.nodes[n.a], Expr(n.b)
		}
		if n.kind != repeat {
			continue
		}
		x := repetition{i, Expr(n.a), then, n.b, n.c}
		if x.most == Unbounded || then == All { // of All, what repetitions are left are a part
			x.most = maxCount + 1
		}
		kept := found[:0]
		inside := false
		for _, y := range found {
			same := x.what == y.what && x.then == y.then
			inside = inside || same && y.least <= x.least && x.most <= y.most
			if !inside && same && x.least <= y.least && y.most <= x.most {
				list[y.at] = None
				continue
			}
			kept = append(kept, y)
		}
		found = kept
		if inside {
			list[i] = None
		} else if len(found) < cap(few) {
			found = append(found, x)
		}
	}
	return slices.DeleteFunc(list, func(e Expr) bool { return e == None })
}

// Not returns all strings that do not belong to e.
func (r *Arena) Not(e Expr) Expr {
	switch n := &r.nodes[e]; {
	case e == None:
		return All
	case n.kind == not:
		return Expr(n.a)
	}
	return r.intern(node{kind: not, nullable: !r.nodes[e].nullable, a: int32(e)})
}

// Minus returns the strings of a that do not belong to b.
func (r *Arena) Minus(a, b Expr) Expr { return r.And(a, r.Not(b)) }

// Repeat returns the strings that are made of least to most strings of e; most may be Unbounded.
func (r *Arena) Repeat(e Expr, least, most int) Expr {
	least, most = max(min(least, maxCount), 0), max(min(most, maxCount), Unbounded)
	n := r.nodes[e]
	switch {
	case most >= 0 && least > most:
		return None
	case most == 0 || e == Empty:
		return Empty
	case e == None && least > 0:
		return None
	case e == None:
		return Empty
	case least == 1 && most == 1:
		return e
	case n.kind == repeat && n.b == 0 && n.c == Unbounded:
		return e
	case n.kind == repeat && n.b <= 1 && least <= 1 && most == Unbounded: // (e?)*, (e+)*, (e{0,9})+
		return r.Repeat(Expr(n.a), int(n.b)*least, Unbounded)
	}
	if n.nullable {
		least = 0
	}
	return r.intern(node{kind: repeat, nullable: least == 0, plain: n.plain, a: int32(e), b: int32(least), c: int32(most)})
}

// maxCount bounds the counts of repetitions; nothing that is generated reaches it.
const maxCount = 1 << 30

// Optional returns the strings of e and the empty one.
func (r *Arena) Optional(e Expr) Expr { return r.Or(e, Empty) }

// Star returns the strings that are made of any number of strings of e.
func (r *Arena) Star(e Expr) Expr { return r.Repeat(e, 0, Unbounded) }
