package split

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/charset"
)

// Compile turns the program of an expression into a table. The program is in several places at once. A state is the list of these places,
// in the order in which backtracking would try them, so that the table finds the match that backtracking finds. For example, the states of
// a|ab are
//
//	state   places                  after a        after any other character
//	dead    nothing                 dead           dead
//	first   before a, before ab     third          dead
//	third   match, before b         dead, matched  dead, matched
//
// In the third state the match stands first. So "before b" is not tried, and of "ab" only "a" matches. With ab|a the places stand in the
// other order: a match has ended there, too, but b still leads on.

// The bounds on a table of states: its entries, and the steps that computing it may take.
const (
	maxEntries = 1 << 18
	maxSteps   = 1 << 23
)

// An Expression is a regular expression, as a table of states. It is immutable and safe for concurrent use.
//
// In a state, and with a character of a class, the table reports whether a match has ended before the character, and which state is next. A
// match that backtracking would prefer ends later, if at all: so the last end that the table reports counts.
type Expression struct {
	ascii   [utf8.RuneSelf]uint8 // the classes of characters: expressions do not distinguish the characters of a class
	pages   [][pageLen]uint8     // the classes of pageLen characters each, pages with the same content once
	index   []uint16             // by character / pageLen: the page
	classes int                  // their number, without endClass

	table  []uint32 // by state*stride + class: the next state times two, plus one if a match has ended before the character
	stride int      // classes + 1: the last class of a state is the end of the text
}

const pageLen = 256

// The surrogates are no characters: no set has them.
const surrogateMin, surrogateMax = 0xD800, 0xDFFF

// dead is the state that nothing leads out of; every expression begins in state first.
const (
	dead  = 0
	first = 1
)

// Compile returns an expression. The error wraps ErrUnsupported.
func Compile(text string) (*Expression, error) {
	tree, err := parse(text)
	if err != nil {
		return nil, err
	}
	p, ok := assemble(tree)
	if !ok {
		return nil, fmt.Errorf("%w: %.80q is too long when its quantifiers are written out, or has more than %d classes", ErrUnsupported, text, maxSets)
	}
	e := &Expression{}
	members, ok := e.classify(p.sets)
	if !ok {
		return nil, fmt.Errorf("%w: %.80q tells too many kinds of characters apart", ErrUnsupported, text)
	}
	d := determiner{program: p, members: members, e: e, known: map[string]uint32{}, seen: make([]int, len(p.insts))}
	if !d.run() {
		return nil, fmt.Errorf("%w: %.80q needs too many states", ErrUnsupported, text)
	}
	for class := range e.stride {
		if e.table[first*e.stride+class]&1 != 0 {
			return nil, fmt.Errorf("%w: %.80q matches an empty text", ErrUnsupported, text)
		}
	}
	return e, nil
}

// classify fills ascii, pages, index and classes. members has, for each class, the sets that it belongs to, as bits. ok is false if there
// are too many classes.
func (e *Expression) classify(sets []charset.Set) (members []uint64, ok bool) {
	borders := []rune{0}
	for _, s := range sets {
		for _, span := range s {
			borders = append(borders, span.Low, span.High+1)
		}
	}
	slices.Sort(borders)
	borders = slices.Compact(borders)
	for len(borders) > 0 && borders[len(borders)-1] > unicode.MaxRune {
		borders = borders[:len(borders)-1]
	}
	known := map[uint64]uint8{}
	classes := make([]uint8, 0, unicode.MaxRune+1)
	for i, low := range borders {
		if low == surrogateMin {
			low = surrogateMax + 1 // no text has a surrogate: they are of the class of the next character
		}
		signature := uint64(0)
		for k, s := range sets {
			if s.Has(low) {
				signature |= 1 << k
			}
		}
		class, ok := known[signature]
		if !ok {
			if len(members) == 255 {
				return nil, false
			}
			class = uint8(len(members))
			known[signature] = class
			members = append(members, signature)
		}
		next := rune(unicode.MaxRune + 1)
		if i+1 < len(borders) {
			next = borders[i+1]
		}
		for len(classes) < int(next) {
			classes = append(classes, class)
		}
	}
	pages := map[[pageLen]uint8]uint16{}
	for at := 0; at < len(classes); at += pageLen {
		page := [pageLen]uint8(classes[at:])
		n, ok := pages[page]
		if !ok {
			n = uint16(len(e.pages))
			pages[page] = n
			e.pages = append(e.pages, page)
		}
		e.index = append(e.index, n)
	}
	copy(e.ascii[:], classes)
	e.classes, e.stride = len(members), len(members)+1
	return members, true
}

// determiner makes one state of the several places that a program is in at once.
type determiner struct {
	program
	members []uint64 // by class: the sets that it belongs to
	e       *Expression

	known    map[string]uint32 // by the places, in their order: the state
	placesOf [][]int32         // by state
	seen     []int             // by instruction: the step in which it was last visited
	step     int
	steps    int

	next    []int32 // the places after a step
	matched bool    // a match has ended before it
}

// run fills the table.
func (d *determiner) run() bool {
	d.stateOf(nil)
	d.stateOf([]int32{d.start})
	for state := 0; state < len(d.placesOf); state++ {
		if (state+1)*d.e.stride > maxEntries {
			return false
		}
		for class := range d.e.stride {
			d.step++
			d.next, d.matched = d.next[:0], false
			for _, place := range d.placesOf[state] {
				if !d.visit(place, class) {
					break
				}
			}
			if d.steps > maxSteps {
				return false
			}
			entry := d.stateOf(d.next) << 1
			if d.matched {
				entry |= 1
			}
			d.e.table = append(d.e.table, entry)
		}
	}
	return true
}

// visit follows an instruction if the next character is of a class, or if the text ends there. It returns false once a match has ended:
// later alternatives are not tried.
func (d *determiner) visit(place int32, class int) bool {
	d.steps++
	if d.seen[place] == d.step {
		return true
	}
	d.seen[place] = d.step
	i := &d.insts[place]
	has := class < d.e.classes && i.op <= instAhead && d.members[class]>>i.set&1 != 0
	switch i.op {
	case instMatch:
		d.matched = true
		return false
	case instBoth:
		return d.visit(i.out, class) && d.visit(i.other, class)
	case instAhead:
		return has == i.negative || d.visit(i.out, class)
	}
	if has && !slices.Contains(d.next, i.out) {
		d.next = append(d.next, i.out)
	}
	return true
}

// stateOf returns the state of places in their order.
func (d *determiner) stateOf(places []int32) uint32 {
	d.steps += len(places)
	key := make([]byte, 0, 4*len(places))
	for _, p := range places {
		key = binary.LittleEndian.AppendUint32(key, uint32(p))
	}
	state, ok := d.known[string(key)]
	if !ok {
		state = uint32(len(d.placesOf))
		d.known[string(key)] = state
		d.placesOf = append(d.placesOf, slices.Clone(places))
	}
	return state
}

// Matches yields the begin and the end of each match in a text, in order. No match is empty, and no match begins before the one before it
// ends. Iterating over all of them takes time linear in the text.
func (e *Expression) Matches(text string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		slack := 4*len(text) + 1<<12
		var memory fruitless
		for i := 0; i < len(text); {
			var end, read int
			if memory != nil {
				end = memory.match(e, text, i)
			} else {
				end, read = e.match(text, i)
				if slack -= read - max(end, i); slack < 0 {
					memory = fruitless{}
				}
			}
			if end < 0 {
				_, n := utf8.DecodeRuneInString(text[i:])
				i += n
				continue
			}
			if !yield(i, end) {
				return
			}
			i = end
		}
	}
}

// match returns the end of the match that begins at byte i of s, or -1 if there is no match. read is the first byte that it has not looked
// at.
func (e *Expression) match(s string, i int) (end, read int) {
	end = -1
	state := uint32(first)
	for i < len(s) {
		var class uint8
		n := 1
		if c := s[i]; c < utf8.RuneSelf {
			class = e.ascii[c]
		} else {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			class = e.pages[e.index[r/pageLen]][r%pageLen]
		}
		entry := e.table[int(state)*e.stride+int(class)]
		if entry&1 != 0 {
			end = i
		}
		if state = entry >> 1; state == dead {
			return end, i
		}
		i += n
	}
	if e.table[int(state)*e.stride+e.classes]&1 != 0 {
		end = i
	}
	return end, i
}

// fruitless remembers states and bytes from which no match ends any more, so that no search goes there again (T. Reps, "Maximal-Munch
// Tokenization in Linear Time", 1998). To save memory, it only remembers every few bytes.
type fruitless map[visit]struct{}

type visit struct {
	state uint32
	at    int
}

const every = 16

// match is Expression.match with a memory.
func (f fruitless) match(e *Expression, s string, i int) (end int) {
	end = -1
	state := uint32(first)
	var visits []visit // after the last end of a match
	for state != dead {
		class, n := e.classes, 0
		if i < len(s) {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			class = int(e.pages[e.index[r/pageLen]][r%pageLen])
		}
		entry := e.table[int(state)*e.stride+class]
		if entry&1 != 0 {
			end, visits = i, visits[:0]
		} else if i&(every-1) == 0 {
			v := visit{state, i}
			if _, ok := f[v]; ok {
				break
			}
			visits = append(visits, v)
		}
		if i == len(s) {
			break
		}
		state = entry >> 1
		i += n
	}
	for _, v := range visits {
		f[v] = struct{}{}
	}
	return end
}
