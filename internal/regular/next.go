package regular

// The derivative of an expression by a byte is the expression for the rest of its strings that begin with the byte. It follows from the
// derivatives of the parts. For example, with e = (ab|cd)*:
//
//	Next(e, 'a') = b(ab|cd)*
//	Next(b(ab|cd)*, 'b') = e
//	Next(e, 'c') = d(ab|cd)*
//	Next(e, 'b') = None
//
// So e is an automaton with three states, and Next is a table of it that is filled as it is asked. Bytes that lead to the same state for
// certain are one part of a partition, and share an entry: those of e are a, c, and all others.

// notYet marks a transition that nobody has asked for.
const notYet Expr = -1

// partition says which bytes lead from a state to the same next state for certain.
type partition struct {
	of    [256]uint8 // the part that a byte belongs to
	first [256]uint8 // a byte of each part; only the first count are used
	count int
	bytes []Class // of each part
}

// Next returns the derivative of e by byte b: the rest of those strings of e that begin with b. It is None if no string of e begins with b,
// and otherwise has at least one string.
func (r *Arena) Next(e Expr, b byte) Expr {
	if n := &r.nodes[e]; n.row != 0 {
		if d := r.rows[int(n.row-1)+int(r.parts[n.part-1].of[b])]; d != notYet {
			return d
		}
	}
	return r.next(e, b)
}

// next computes Next for an expression and a byte that are not in the table yet.
func (r *Arena) next(e Expr, b byte) Expr {
	n := &r.nodes[e]
	switch n.kind {
	case none, empty:
		return None
	case class:
		if r.classes[n.a].Has(b) {
			return Empty
		}
		return None
	case literal:
		if r.text[n.a] == b {
			return r.tail(e)
		}
		return None
	}
	if r.err != nil {
		return None
	}
	if n.row == 0 {
		r.addRow(e)
		n = &r.nodes[e]
	}
	at := int(n.row-1) + int(r.parts[n.part-1].of[b])
	r.startEffort()
	d := r.derivative(e, b)
	if !r.Alive(d) {
		d = None
	}
	if r.err == nil {
		r.rows[at] = d
	}
	return d
}

// Matches reports whether a text belongs to e.
func (r *Arena) Matches(e Expr, text string) bool {
	for i := 0; i < len(text) && e != None; i++ {
		e = r.Next(e, text[i])
	}
	return r.Nullable(e)
}

// First returns the bytes that strings of e begin with.
func (r *Arena) First(e Expr) (c Class) {
	n := &r.nodes[e]
	switch n.kind {
	case none, empty:
		return c
	case class:
		return r.classes[n.a]
	case literal:
		return ClassOf(r.text[n.a])
	}
	if r.err != nil {
		return c
	}
	if n.row == 0 {
		r.addRow(e)
	}
	p := r.parts[r.nodes[e].part-1]
	for i := range p.count {
		if r.Next(e, p.first[i]) != None {
			c = c.Or(p.bytes[i])
		}
	}
	return c
}

// Reach asks for every state that is reached from e, so that copies of the arena have them already.
func (r *Arena) Reach(e Expr) {
	seen, todo := map[Expr]bool{e: true}, []Expr{e}
	for len(todo) > 0 && r.err == nil {
		s := todo[0]
		todo = todo[1:]
		for _, b := range r.First(s).Bytes(nil) {
			if n := r.Next(s, b); !seen[n] {
				seen[n] = true
				todo = append(todo, n)
			}
		}
	}
}

// addRow makes room for the transitions of e.
func (r *Arena) addRow(e Expr) {
	if r.Bytes() > r.bounds.Bytes {
		r.fail() // and go on: the callers need a row to look at
	}
	r.startEffort()
	id := r.partOf(e)
	n := &r.nodes[e]
	n.row, n.part = int32(len(r.rows)+1), id // partOf does not note a part that it was too tired to find
	for range r.parts[id-1].count {
		r.rows = append(r.rows, notYet)
	}
}

// fewOperands is up to how many operands of a union or intersection are taken one by one by partOf.
const fewOperands = 16

// partOf returns 1 + the number of a partition such that the bytes of a part lead from e to the same state. Counts make no difference
// to it, so that the many states of a counted repetition get theirs from the few that these are made of.
func (r *Arena) partOf(e Expr) int32 {
	n := r.nodes[e]
	if n.part != 0 {
		return n.part
	}
	if r.overEffort() {
		return r.addPart(&partition{count: 1})
	}
	id := int32(0)
	switch {
	case n.kind == concat && !r.nodes[n.a].nullable:
		id = r.partOf(Expr(n.a))
	case n.kind == concat:
		id = r.common(r.partOf(Expr(n.a)), r.partOf(Expr(n.b)))
	case (n.kind == or || n.kind == and) && n.b <= fewOperands:
		id = r.partOf(r.lists[n.a])
		for i := int32(1); i < n.b; i++ {
			id = r.common(id, r.partOf(r.lists[n.a+i]))
		}
	case n.kind == not || n.kind == repeat:
		id = r.partOf(Expr(n.a))
	default:
		p := partition{count: 1}
		singles := Class{}
		r.split(e, &p, &singles)
		for _, b := range singles.Bytes(nil) {
			p.refine(ClassOf(b))
		}
		id = r.addPart(&p)
	}
	r.nodes[e].part = id
	return id
}

// addPart returns 1 + the number of a partition, which nobody changes any more.
func (r *Arena) addPart(p *partition) int32 {
	id, ok := r.partIDs[p.of]
	if !ok {
		p.bytes = make([]Class, p.count)
		for b := 255; b >= 0; b-- {
			p.first[p.of[b]] = uint8(b)
			p.bytes[p.of[b]].Add(uint8(b))
		}
		r.parts = append(r.parts, p)
		id = int32(len(r.parts))
		r.partIDs[p.of] = id
	}
	return id
}

// common returns 1 + the number of the coarsest partition that refines partitions a and b: two bytes share a part in it if they share one
// in both.
func (r *Arena) common(a, b int32) int32 {
	if a == b || r.parts[b-1].count == 1 {
		return a
	}
	if r.parts[a-1].count == 1 {
		return b
	}
	key := [2]int32{min(a, b), max(a, b)}
	if id, ok := r.commons[key]; ok {
		return id
	}
	r.effort += 10 // it takes as much time as that
	p, q := r.parts[a-1], r.parts[b-1]
	both := partition{}
	numbers := make([]uint16, p.count*q.count) // 1 + the part of the bytes that both parts have; 0: not yet found
	for c := range 256 {
		at := int(p.of[c])*q.count + int(q.of[c])
		if numbers[at] == 0 {
			both.count++
			numbers[at] = uint16(both.count)
		}
		both.of[c] = uint8(numbers[at] - 1)
	}
	id := r.addPart(&both)
	r.commons[key] = id
	return id
}

// split makes p fine enough that the bytes of a part lead from e to the same state. Single bytes, which literals begin with too, are
// only noted in singles.
func (r *Arena) split(e Expr, p *partition, singles *Class) {
	if r.overEffort() {
		return
	}
	switch n := &r.nodes[e]; n.kind {
	case class:
		if c := r.classes[n.a]; c.Len() > 1 {
			r.effort += 10 // it takes as much time as that
			p.refine(c)
		} else {
			*singles = singles.Or(c)
		}
	case literal:
		singles.Add(r.text[n.a])
	case concat:
		for ; n.kind == concat; n = &r.nodes[e] {
			r.split(Expr(n.a), p, singles)
			if !r.nodes[n.a].nullable {
				return
			}
			if e = Expr(n.b); r.overEffort() {
				return
			}
		}
		r.split(e, p, singles)
	case or, and:
		for _, e := range r.lists[n.a : n.a+n.b] {
			r.split(e, p, singles)
		}
	case whole, places:
		for _, b := range digit.Bytes(nil) {
			singles.Add(b)
		}
		singles.Add('.')
	case not, repeat:
		r.split(Expr(n.a), p, singles)
	}
}

// refine splits each part into the bytes that are in c and those that are not.
func (p *partition) refine(c Class) {
	if c.Len() == 1 {
		b := c.Bytes(nil)[0]
		part := p.of[b]
		for other, q := range p.of {
			if q == part && other != int(b) {
				p.of[b] = uint8(p.count)
				p.count++
				return
			}
		}
		return
	}
	var inside, outside [256]bool
	for b, part := range p.of {
		if c.Has(byte(b)) {
			inside[part] = true
		} else {
			outside[part] = true
		}
	}
	var moved [256]uint8 // the new part of the bytes inside, if there are bytes outside too
	for part := range p.count {
		if inside[part] && outside[part] {
			moved[part] = uint8(p.count)
			p.count++
		}
	}
	for b := range p.of {
		if m := moved[p.of[b]]; m != 0 && c.Has(byte(b)) {
			p.of[b] = m
		}
	}
}

// derivative returns the strings that, put behind b, belong to e.
func (r *Arena) derivative(e Expr, b byte) Expr {
	if r.overEffort() {
		return None
	}
	switch n := r.nodes[e]; n.kind {
	case class:
		if r.classes[n.a].Has(b) {
			return Empty
		}
	case literal:
		if r.text[n.a] == b {
			return r.tail(e)
		}
	case concat:
		// Parts that may be empty are gone through here rather than one inside of the other: a sequence of thousands of them
		// has one union rather than thousands.
		begin := len(r.scratch)
		for {
			if d := r.concat(r.derivative(Expr(n.a), b), Expr(n.b)); d != None {
				r.scratch = append(r.scratch, d)
			}
			if !r.nodes[n.a].nullable {
				break
			}
			if r.nodes[n.b].kind != concat {
				r.scratch = append(r.scratch, r.derivative(Expr(n.b), b))
				break
			}
			n = r.nodes[n.b]
		}
		d := r.join(or, r.scratch[begin:])
		r.scratch = r.scratch[:begin]
		return d
	case or, and:
		begin := len(r.scratch)
		for i := range n.b {
			d := r.derivative(r.lists[n.a+i], b)
			if n.kind == or && d == None {
				continue
			}
			r.scratch = append(r.scratch, d)
		}
		d := r.join(n.kind, r.scratch[begin:])
		r.scratch = r.scratch[:begin]
		return d
	case whole, places:
		return r.afterMultiples(n, b)
	case not:
		return r.Not(r.derivative(Expr(n.a), b))
	case repeat:
		most := int(n.c)
		if most != Unbounded {
			most--
		}
		return r.concat(r.derivative(Expr(n.a), b), r.Repeat(Expr(n.a), max(int(n.b)-1, 0), most))
	}
	return None
}
