package grammar

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// A state is built from all threads of the one before: each thread's rest takes the byte, and if the rest may then be complete, the symbols
// below it are expanded. For example, with the rules
//
//	list = "[" item "]"
//	item = [0-9]+ | list
//
// the states of the text "[[1" are
//
//	text    threads: the rest that is read, and the stack below it
//	        "["       item, "]", end
//	[       [0-9]+    "]", end
//	        "["       item, "]", "]", end
//	[[1     [0-9]*    "]", "]", end
//	        "]"       "]", end
//
// After "[[1" the number may go on or be complete, so that there are two threads. A text is complete if nothing but the end must follow.

// State is a state of a Machine: all of a text that matters for its continuation.
type State int32

// Dead is the state of texts that no text of the grammar begins with.
const Dead State = 0

// Set is a set of stacks: the symbols that must follow, in each of several ways.
type Set int32

// Thread is one way in which the text so far can be read: Rest must be completed next, and then one of the stacks.
type Thread struct {
	Rest regular.Expr // neither None nor Empty
	Then Set
}

// stack is a symbol and the stacks that may lie below it.
type stack struct {
	symbol Symbol
	below  Set
}

// Machine holds the states of a grammar that were reached. One goroutine at a time uses it.
//
// Invariants: threads of a state are in ascending order of Rest, each Rest once; stacks of a set are in ascending order of their
// symbols, each symbol once. Equal stacks, sets and states have the same number.
type Machine struct {
	arena  *regular.Arena
	shared int // how many expressions are the grammar's
	rules  []Rule
	start  Symbol
	begun  State

	stacks   []stack
	stackIDs map[stack]int32
	sets     [][]int32 // the numbers of the set's stacks
	setIDs   map[string]Set
	after    []State // of each set: the state in which one of its stacks is all that is left; Dead: not yet asked for

	states   [][]state // in chunks, so that they stay in their places when there are more; see at
	count    int       // of states
	stateIDs map[string]State

	parts    int   // threads of all states and stacks of all sets
	together []Set // memory of build
	effort   int   // symbols and stacks that may still be looked at until Begin

	threads []Thread // of the state that is being built
	pushed  map[expansion]struct{}
	popped  map[Set]struct{}
	accepts bool
	depth   int
	key     []byte
	err     error
}

// state is the content of a State, and the states known to follow it: next are those after the bytes in alive, in the order of the bytes;
// after other bytes in known the state is Dead.
type state struct {
	threads      []Thread
	accepts      bool
	only         int16 // the byte that must follow, or one of the constants
	known, alive regular.Class
	next         []State
}

// ground is the set of the stack that only the end is on.
const ground Set = 0

// chunk is how many states have their memory together.
const chunk = 64

// at returns the content of a state.
func (m *Machine) at(s State) *state { return &m.states[s/chunk][s%chunk] }

// add adds a state.
func (m *Machine) add(content state) State {
	if m.count%chunk == 0 {
		m.states = append(m.states, make([]state, 0, chunk))
	}
	last := &m.states[len(m.states)-1]
	*last = append(*last, content)
	m.count++
	return State(m.count - 1)
}

// rank returns how many bytes below b are in c.
func rank(c *regular.Class, b byte) (n int) {
	for _, w := range c[:b/64] {
		n += bits.OnesCount64(w)
	}
	return n + bits.OnesCount64(c[b/64]&(1<<(b%64)-1))
}

// The values of only if no single byte is known to have to follow.
const (
	notAsked = iota - 2
	several  // several bytes may follow, or no byte, or the text may be complete
)

// expansion is a symbol that is expanded while a state is built.
type expansion struct {
	symbol Symbol
	below  Set
}

// Bounds of a machine: more expansions for one byte, or more ways to read a text, are not followed.
const (
	maxPushes  = 100_000
	maxThreads = 20_000
	maxDepth   = 10_000
)

// Bounds of the work between two calls of Begin, each of less than half a second: symbols and stacks, and expressions.
const (
	maxEffort      = 4_000_000
	maxArenaEffort = 12_000_000
)

// NewMachine returns a machine for a grammar, which it does not change.
func NewMachine(g *Grammar) *Machine {
	m := &Machine{
		arena: g.Arena.Clone(), shared: g.Arena.Len(), rules: g.rules, start: g.Start,
		stackIDs: map[stack]int32{}, setIDs: map[string]Set{}, stateIDs: map[string]State{},
		pushed: map[expansion]struct{}{}, popped: map[Set]struct{}{},
	}
	m.add(state{}) // Dead
	m.Begin()
	m.single(stack{symbol: Symbol{rule: bottom}})
	m.push(g.Start, ground)
	m.begun = m.build()
	return m
}

// Arena returns the machine's expressions.
func (m *Machine) Arena() *regular.Arena { return m.arena }

// Err returns an error if the machine met more than it may hold. What the machine returned since must not be used then.
func (m *Machine) Err() error {
	if m.err != nil {
		return m.err
	}
	return m.arena.Err()
}

// Begin starts a new question: all calls until the next Begin share one bounded effort.
func (m *Machine) Begin() {
	m.effort = maxEffort
	m.arena.Allow(maxArenaEffort)
}

// addEffort counts symbols or stacks that are looked at.
func (m *Machine) addEffort(n int) {
	if m.effort -= n; m.effort < 0 {
		m.fail()
	}
}

// Start returns the state of the empty text.
func (m *Machine) Start() State { return m.begun }

// Accepts reports whether a text that led to state s is complete.
func (m *Machine) Accepts(s State) bool { return m.at(s).accepts }

// Threads returns the ways in which a text that came to s can be read. The slice is the machine's.
func (m *Machine) Threads(s State) []Thread { return m.at(s).threads }

// Len returns the number of states, and Bytes about how much memory the machine takes.
func (m *Machine) Len() int { return m.count }

// Bytes returns about how much memory the machine takes.
func (m *Machine) Bytes() int {
	const stateBytes, stackBytes, setBytes, partBytes = 320, 60, 160, 18
	return m.arena.Bytes() + m.count*stateBytes + len(m.stacks)*stackBytes + len(m.sets)*setBytes + m.parts*partBytes
}

// Next returns the state after byte b, Dead if b cannot follow.
func (m *Machine) Next(s State, b byte) State {
	if from := m.at(s); from.alive.Has(b) {
		return from.next[rank(&from.alive, b)]
	} else if from.known.Has(b) {
		return Dead
	}
	for _, t := range m.at(s).threads {
		rest := m.arena.Next(t.Rest, b)
		if rest == regular.None {
			continue
		}
		if rest != regular.Empty {
			m.threads = append(m.threads, Thread{rest, t.Then})
		}
		if m.arena.Nullable(rest) {
			m.pop(t.Then)
		}
	}
	n := m.build()
	if m.Err() == nil {
		from := m.at(s)
		from.known.Add(b)
		if n != Dead {
			from.next = slices.Insert(from.next, rank(&from.alive, b), n)
			from.alive.Add(b)
		}
	}
	return n
}

// After returns the state in which one of the stacks is all that must follow.
func (m *Machine) After(set Set) State {
	if s := m.after[set]; s != Dead {
		return s
	}
	m.pop(set)
	s := m.build()
	if m.Err() == nil {
		m.after[set] = s
	}
	return s
}

// First returns the bytes that may follow.
func (m *Machine) First(s State) (c regular.Class) {
	for _, t := range m.at(s).threads {
		c = c.Or(m.arena.First(t.Rest))
	}
	return c
}

// Only returns the byte that must follow, if only one can and the text is not complete.
func (m *Machine) Only(s State) (b byte, ok bool) {
	st := m.at(s)
	if st.only == notAsked {
		only := int16(several)
		if c := m.First(s); c.Len() == 1 && !st.accepts {
			only = int16(c.Bytes(nil)[0])
		}
		m.at(s).only = only
		return byte(only), only >= 0
	}
	return byte(st.only), st.only >= 0
}

// push adds to the state that is being built the beginnings of a symbol that stands on the stacks below.
func (m *Machine) push(s Symbol, below Set) {
	if s.rule == terminal {
		e := regular.Expr(s.arg)
		if e == regular.None {
			return
		}
		if e != regular.Empty {
			m.threads = append(m.threads, Thread{e, below})
		}
		if m.arena.Nullable(e) {
			m.pop(below)
		}
		return
	}
	if s.rule == bottom {
		m.accepts = true
		return
	}
	at := expansion{s, below}
	if _, ok := m.pushed[at]; ok || m.err != nil {
		return
	}
	m.pushed[at] = struct{}{}
	m.addEffort(1)
	if m.depth++; len(m.pushed) > maxPushes || len(m.threads) > maxThreads || m.depth > maxDepth {
		m.fail()
	}
	m.rules[s.rule].Expand(s.arg, func(sequence ...Symbol) {
		if m.err != nil {
			return
		}
		if len(sequence) == 0 {
			m.pop(below)
			return
		}
		then := below
		for i := len(sequence) - 1; i > 0; i-- {
			then = m.single(stack{sequence[i], then})
		}
		m.push(sequence[0], then)
	})
	m.depth--
}

// pop adds to the state that is being built the symbols that may follow when the top of a thread is complete.
func (m *Machine) pop(set Set) {
	if _, ok := m.popped[set]; ok {
		return
	}
	m.popped[set] = struct{}{}
	m.addEffort(1 + len(m.sets[set]))
	for _, i := range m.sets[set] {
		m.push(m.stacks[i].symbol, m.stacks[i].below)
	}
}

// fail notes that the machine met more than it may hold.
func (m *Machine) fail() {
	m.err = fmt.Errorf("%w here: there are too many ways to read it", regular.ErrTooComplex)
}

// build ends the building of a state and returns it.
func (m *Machine) build() State {
	threads, accepts := m.threads, m.accepts
	m.threads, m.accepts, m.depth = m.threads[:0], false, 0
	clear(m.pushed)
	clear(m.popped)
	if len(threads) == 0 && !accepts || m.Err() != nil {
		return Dead
	}
	slices.SortFunc(threads, func(a, b Thread) int {
		if a.Rest != b.Rest {
			return int(a.Rest) - int(b.Rest)
		}
		return int(a.Then) - int(b.Then)
	})
	n := 0
	for i := 0; i < len(threads); n++ {
		rest, then := threads[i].Rest, m.together[:0]
		for ; i < len(threads) && threads[i].Rest == rest; i++ {
			then = append(then, threads[i].Then)
		}
		m.together = then
		threads[n] = Thread{rest, m.unite(then)}
	}
	threads = threads[:n]
	m.key = append(m.key[:0], 0)
	if accepts {
		m.key[0] = 1
	}
	for _, t := range threads {
		m.key = number(number(m.key, int32(t.Rest)), int32(t.Then))
	}
	if s, ok := m.stateIDs[string(m.key)]; ok {
		return s
	}
	m.parts += len(threads)
	s := m.add(state{threads: slices.Clone(threads), accepts: accepts, only: notAsked})
	m.stateIDs[string(m.key)] = s
	return s
}

// number appends the bytes of n.
func number(dst []byte, n int32) []byte {
	return append(dst, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

// single returns the set of one stack.
func (m *Machine) single(s stack) Set {
	id, ok := m.stackIDs[s]
	if !ok {
		id = int32(len(m.stacks))
		m.stacks = append(m.stacks, s)
		m.stackIDs[s] = id
	}
	return m.set(id)
}

// set returns the set of stacks with these numbers.
func (m *Machine) set(stacks ...int32) Set {
	m.key = m.key[:0]
	for _, i := range stacks {
		m.key = number(m.key, i)
	}
	if s, ok := m.setIDs[string(m.key)]; ok {
		return s
	}
	s := Set(len(m.sets))
	m.parts += len(stacks)
	m.sets, m.after = append(m.sets, slices.Clone(stacks)), append(m.after, Dead)
	m.setIDs[string(m.key)] = s
	return s
}

// unite returns the set of the stacks of all these sets. Stacks with the same symbol become one, which may stand on what any of them
// stands on.
func (m *Machine) unite(sets []Set) Set {
	sets = slices.Compact(sets)
	if len(sets) == 1 {
		return sets[0]
	}
	var all []int32
	for _, s := range sets {
		all = append(all, m.sets[s]...)
	}
	if m.addEffort(len(all)); m.err != nil {
		return sets[0]
	}
	slices.SortFunc(all, func(a, b int32) int {
		return cmp.Or(compare(m.stacks[a].symbol, m.stacks[b].symbol), cmp.Compare(m.stacks[a].below, m.stacks[b].below))
	})
	all = slices.Compact(all)
	n := 0
	for i := 0; i < len(all); n++ {
		one, symbol := all[i], m.stacks[all[i]].symbol
		var below []Set
		for ; i < len(all) && m.stacks[all[i]].symbol == symbol; i++ {
			below = append(below, m.stacks[all[i]].below)
		}
		if len(below) > 1 {
			one = m.sets[m.single(stack{symbol, m.unite(below)})][0]
		}
		all[n] = one
	}
	return m.set(all[:n]...)
}

// compare orders symbols.
func compare(a, b Symbol) int {
	if a.rule != b.rule {
		return int(a.rule) - int(b.rule)
	}
	return cmp.Compare(a.arg, b.arg)
}
