package grammar

import "github.com/antigravity-go/antigravity/internal/regular"

// Move returns the state that is s in another machine of the same grammar. The work depends on the state alone, and not on the text that led
// to it. The other machine does not change, and may have failed since it returned s.
func (m *Machine) Move(other *Machine, s State) State {
	if s == Dead {
		return Dead
	}
	v := mover{m, other, regular.Mover{To: m.arena, From: other.arena, Shared: m.shared, Moved: map[regular.Expr]regular.Expr{}}, map[Set]Set{ground: ground}}
	from := other.at(s)
	threads := make([]Thread, len(from.threads))
	for i, t := range from.threads {
		threads[i] = Thread{v.exprs.Expr(t.Rest), v.set(t.Then)}
	}
	m.threads, m.accepts = append(m.threads[:0], threads...), from.accepts
	return m.build()
}

// mover copies the parts of a state. Each set is copied once.
type mover struct {
	to, from *Machine
	exprs    regular.Mover
	sets     map[Set]Set
}

func (v *mover) set(s Set) Set {
	if moved, ok := v.sets[s]; ok {
		return moved
	}
	var stacks []int32
	for _, i := range v.from.sets[s] { // their symbols are the grammar's, so that their order stays
		from := v.from.stacks[i]
		stacks = append(stacks, v.to.sets[v.to.single(stack{from.symbol, v.set(from.below)})][0])
	}
	moved := v.to.set(stacks...)
	v.sets[s] = moved
	return moved
}
