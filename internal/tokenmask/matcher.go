package tokenmask

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// A matcher gets the state of the text from the grammar's machine, and the tokens that fit from the masks of the state's expressions.
// Tokens that end an expression in their middle are walked on through the grammar, byte by byte (Allowed). A token that is accepted moves
// the state by its bytes (Accept). For example, in a list of strings after ["ab the one thread's rest is "characters, then a quote", and
//
//	token   allowed
//	cd      yes: the mask of the rest has it, since it stays inside the string
//	c"      yes: it completes the rest
//	"]      yes: it goes on after the rest, with the end of the list
//	"}      no: after the rest neither a comma nor the end of the list comes

// Matcher follows one text through a language. One goroutine at a time uses it.
//
// Invariant: state is that of text in the machine of the language's generation of that number.
type Matcher struct {
	language   *Language
	text       []byte
	state      grammar.State
	generation int
	forced     []byte // memory of Forced
}

// Why a text cannot go on.
var (
	ErrStuck   = errors.New("no token can come next, and the text is not complete")
	ErrRefused = errors.New("cannot come next") // a token that is given to Accept
)

var errNothing = errors.New("no text is allowed")

// Clone returns a matcher that goes on from here on its own.
func (m *Matcher) Clone() *Matcher {
	c := *m
	c.text, c.forced = slices.Clone(m.text), nil
	return &c
}

// Text returns the bytes of the text so far. The slice is the matcher's.
func (m *Matcher) Text() []byte { return m.text }

// locked calls do while the language is this goroutine's, with state up to date. If the language has grown too large for its memory, a
// new generation of it begins, and do is called once more.
func (m *Matcher) locked(do func(machine *grammar.Machine) error) error {
	l := m.language
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size() > l.limit {
		m.move() // for the generation before is lost
		l.forget(false)
		if m.find(); l.size() > l.limit/2 {
			l.limit = 2 * l.size()
		}
		if l.limit > maxBytes {
			l.limit = usualBytes
			return fmt.Errorf("%w: too much must be remembered of the text so far", regular.ErrTooComplex)
		}
	}
	for again := false; ; again = true {
		m.find()
		l.machine.Begin()
		err := do(l.machine)
		l.bytes.Store(int64(l.size() + l.rest()))
		failed := l.machine.Err()
		if failed == nil {
			return err
		}
		if l.forget(true); again {
			return failed
		}
	}
}

// find brings state up to date.
func (m *Matcher) find() {
	l := m.language
	if m.generation == l.generation || m.move() {
		return
	}
	m.state, m.generation = l.machine.Start(), l.generation
	for _, b := range m.text {
		l.machine.Begin()
		m.state = l.machine.Next(m.state, b)
	}
	if l.machine.Err() != nil {
		m.generation = 0 // the state is not that of the text
	}
}

// move brings a state of the generation before up to date, and reports whether it did.
func (m *Matcher) move() bool {
	l := m.language
	if m.generation == 0 || m.generation != l.generation-1 {
		return false
	}
	l.machine.Begin()
	state := l.machine.Move(l.before, m.state)
	if l.machine.Err() != nil {
		return false
	}
	m.state, m.generation = state, l.generation
	return true
}

// Allowed sets words, one bit for each entry of the vocabulary, to the tokens that may come next. end reports whether the text may end
// here. At least one token is allowed, or end is true.
func (m *Matcher) Allowed(words []uint64) (end bool, err error) {
	v := m.language.vocabulary
	if want := (v.size + 63) / 64; len(words) < want {
		return false, fmt.Errorf("the set has room for %d tokens, the vocabulary has %d", 64*len(words), v.size)
	}
	err = m.locked(func(machine *grammar.Machine) error {
		clear(words)
		end = machine.Accepts(m.state)
		for _, t := range machine.Threads(m.state) {
			m.language.masks.allow(t.Rest, machine, t.Then, words)
		}
		if !end && !slices.ContainsFunc(words, func(w uint64) bool { return w != 0 }) {
			return ErrStuck
		}
		return nil
	})
	return end, err
}

// Accept notes that the text goes on with a token. A token that is not allowed is an error and changes nothing.
func (m *Matcher) Accept(id int32) error {
	text := m.language.vocabulary.Bytes(id)
	if text == nil {
		return fmt.Errorf("token %d is none of the vocabulary's texts", id)
	}
	return m.locked(func(machine *grammar.Machine) error {
		s := m.state
		for _, b := range text {
			s = machine.Next(s, b)
		}
		if s == grammar.Dead {
			return fmt.Errorf("token %d, %q, %w", id, text, ErrRefused)
		}
		if machine.Err() == nil {
			m.state, m.text = s, append(m.text, text...)
		}
		return nil
	})
}

// maxForced is up to how many bytes are looked ahead for.
const maxForced = 64

// Forced appends to dst the tokens of the text that has no alternative here, as the tokenizer writes that text, and returns dst. It leaves
// out the last of them if a longer token that begins with it could come in its place.
func (m *Matcher) Forced(dst []int32) []int32 {
	began := len(dst)
	err := m.locked(func(machine *grammar.Machine) error {
		dst = dst[:began]
		s := m.state
		m.forced = m.forced[:0]
		for len(m.forced) < maxForced {
			b, ok := machine.Only(s)
			if !ok {
				break
			}
			m.forced = append(m.forced, b)
			s = machine.Next(s, b)
		}
		dst = m.write(dst, machine, s)
		return nil
	})
	if err != nil {
		return dst[:began]
	}
	return dst
}

// write appends the tokens of the forced text, which leads to state s.
func (m *Matcher) write(dst []int32, machine *grammar.Machine, s grammar.State) []int32 {
	v, text := m.language.vocabulary, m.forced
	for len(text) > 0 {
		mark := slices.Index(text, Marker)
		if mark == 0 {
			if len(text) < 4 {
				break
			}
			dst = append(dst, int32(text[1])<<16|int32(text[2])<<8|int32(text[3]))
			text = text[4:]
			continue
		}
		plain := text
		if mark > 0 {
			plain = text[:mark]
		} else {
			for len(plain) > 0 { // a character that the text has no more than the beginning of is not written yet
				if r, n := utf8.DecodeLastRune(plain); r != utf8.RuneError || n != 1 {
					break
				}
				plain = plain[:len(plain)-1]
			}
			if !utf8.Valid(plain) { // it begins in the midst of a character
				break
			}
		}
		for _, t := range m.language.encode(string(plain)) {
			if known := v.Bytes(t); len(known) == 0 || len(known) > len(text) || string(known) != string(text[:len(known)]) {
				return dst // the tokenizer writes it in a way that the constraint does not follow
			}
			if mark < 0 && m.longer(machine, s, text) {
				return dst
			}
			dst = append(dst, t)
			text = text[len(v.Bytes(t)):]
		}
		if mark < 0 {
			break
		}
	}
	return dst
}

// longer reports whether there is a token that begins with text and may go on from state s, which text leads to.
func (m *Matcher) longer(machine *grammar.Machine, s grammar.State, text []byte) bool {
	v := m.language.vocabulary
	t, node := v.whole, int32(0)
	for _, b := range text {
		if node = t.child(node, b); node == 0 {
			return false
		}
	}
	for i := node + 1; i < t.end[node]; {
		// Only the first byte is looked at: a continuation that begins with it is nearly always a token.
		if machine.Next(s, t.labels[i]) != grammar.Dead {
			return true
		}
		i = t.end[i]
	}
	return false
}
