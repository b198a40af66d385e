// Package mutate makes hostile JSON files for tests. It changes the values that a file holds and keeps it well-formed, as a
// rule, so that a mutant gets past the JSON parser to the code that has to check values.
package mutate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// One to four values of a document are changed, mostly to others of the same type, and the result is written again. For example, mutants of
// {"a": [1, "x"]} are
//
//	{"a":[1,"x","x"]}      the list has an element twice
//	{"a":[-1,"x"]}         the number has another sign
//	{"a":null}             a value without parts is in the place of the list
//	{"x":[1,"x"]}          the member has another string of the document as its name
//
// Numbers may become limits of integers and floats, strings empty or long ones, and lists up to 256 elements longer.

// JSON returns a mutant of a document: the types, orders, numbers, flags and lengths of some of its parts are changed, and
// members come twice or in another order. A generator with the same seed makes the same mutant.
func JSON(rng *rand.Rand, document string) string {
	d := json.NewDecoder(strings.NewReader(document))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err) // the document is a test's own
	}
	m := &mutator{Rand: rng}
	m.collect(v)
	for range 1 + rng.IntN(4) {
		m.target, m.seen = rng.IntN(max(m.nodes, 1)), 0
		v = m.walk(v)
	}
	m.write(v)
	text := m.out.String()
	if len(text) > 0 && m.oneIn(20) { // sometimes change a byte too
		b := []byte(text)
		b[m.IntN(len(b))] = byte(m.IntN(256))
		text = string(b)
	}
	return text
}

// mutator makes one mutant. Its nodes are the values of the document, of any depth.
type mutator struct {
	*rand.Rand
	nodes   int      // how many the document has
	strings []string // all strings of the document, and names of members
	values  []any    // all nodes of the document
	target  int      // the number of the node to change, in the order of walk
	seen    int      // how many nodes walk has come to
	out     strings.Builder
}

// oneIn is true once in n times.
func (m *mutator) oneIn(n int) bool { return m.IntN(n) == 0 }

// collect counts the nodes, and remembers strings and values, which mutants have in other places too.
func (m *mutator) collect(v any) {
	m.nodes++
	m.values = append(m.values, v)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			m.strings = append(m.strings, name)
			m.collect(v[name])
		}
	case []any:
		for _, element := range v {
			m.collect(element)
		}
	case string:
		m.strings = append(m.strings, v)
	}
}

// walk returns a copy of v in which the target is changed.
func (m *mutator) walk(v any) any {
	m.seen++
	if m.seen-1 == m.target {
		return m.change(v)
	}
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			c[name] = m.walk(v[name])
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, element := range v {
			c[i] = m.walk(element)
		}
		return c
	}
	return v
}

// change returns another value than v, most often of the same type.
func (m *mutator) change(v any) any {
	switch m.IntN(12) {
	case 0:
		return m.leaf()
	case 1:
		return m.values[m.IntN(len(m.values))]
	case 2:
		return m.nest(v)
	}
	switch v := v.(type) {
	case map[string]any:
		return m.object(v)
	case []any:
		return m.list(v)
	case string:
		return m.text(v)
	case json.Number:
		return m.number(v)
	case bool:
		return !v
	}
	return m.leaf()
}

// leaf returns a value without parts.
func (m *mutator) leaf() any {
	switch m.IntN(7) {
	case 0:
		return nil
	case 1:
		return m.oneIn(2)
	case 2:
		return m.number("0")
	case 3:
		return map[string]any{}
	case 4:
		return []any{}
	}
	return m.text("")
}

// nest puts v into lists, objects or sequences of itself.
func (m *mutator) nest(v any) any {
	for range 1 + m.IntN(1<<m.IntN(9)) {
		switch m.IntN(3) {
		case 0:
			v = []any{v}
		case 1:
			v = map[string]any{m.name(): v}
		default:
			v = map[string]any{"type": "Sequence", "normalizers": []any{v}, "pretokenizers": []any{v}}
			if m.oneIn(4) {
				return v // v twice: with more levels the value would double with each
			}
			delete(v.(map[string]any), []string{"normalizers", "pretokenizers"}[m.IntN(2)])
		}
	}
	return v
}

func (m *mutator) name() string { return m.strings[m.IntN(len(m.strings))] }

// object removes, adds, moves or exchanges members.
func (m *mutator) object(v map[string]any) any {
	c := maps.Clone(v)
	names := slices.Sorted(maps.Keys(c))
	if len(names) == 0 || m.oneIn(4) {
		c[m.name()] = m.values[m.IntN(len(m.values))]
		return c
	}
	a, b := names[m.IntN(len(names))], names[m.IntN(len(names))]
	switch m.IntN(4) {
	case 0:
		delete(c, a)
	case 1:
		c[m.name()] = c[a]
		delete(c, a)
	case 2:
		c[a], c[b] = c[b], c[a]
	default:
		c[m.text(a)] = c[a]
	}
	return c
}

// list reorders, cuts or lengthens a list.
func (m *mutator) list(v []any) any {
	c := slices.Clone(v)
	if len(c) == 0 {
		return append(c, m.values[m.IntN(len(m.values))])
	}
	i := m.IntN(len(c))
	switch m.IntN(5) {
	case 0:
		m.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	case 1:
		c = slices.Delete(c, i, i+1)
	case 2:
		c = slices.Insert(c, i, slices.Repeat([]any{c[i]}, 1<<m.IntN(9))...)
	case 3:
		c = c[:i]
	default:
		c = slices.Insert(c, i, m.values[m.IntN(len(m.values))])
	}
	return c
}

// text changes a string.
func (m *mutator) text(s string) string {
	switch m.IntN(8) {
	case 0:
		return ""
	case 1:
		return strings.Repeat(s+"a", 1<<m.IntN(12))
	case 2:
		return m.name()
	case 3:
		return s + m.name()
	case 4:
		return s[:m.IntN(len(s)+1)]
	case 5:
		return []string{" ", "▁", "<0x41>", "\x00", "\u0301", "\uFFFD", "😀", "Ġ", "\n", "##", "(a{99}){99}", "AAAA", "<|eot_id|>"}[m.IntN(13)]
	case 6:
		return s + string(rune(m.IntN(0x3000)))
	}
	r := []rune(s)
	m.Shuffle(len(r), func(i, j int) { r[i], r[j] = r[j], r[i] })
	return string(r)
}

// number changes a number; the constants are limits of integers and floats, and of sizes that readers check.
func (m *mutator) number(n json.Number) json.Number {
	switch m.IntN(6) {
	case 0:
		return json.Number(fmt.Sprint(m.IntN(40) - 2))
	case 1:
		return "-" + json.Number(strings.TrimPrefix(string(n), "-"))
	case 2:
		return json.Number(fmt.Sprint(1<<m.IntN(63) - m.IntN(3)))
	case 3:
		return n + "e9"
	case 4:
		return n + ".5"
	}
	return []json.Number{"0", "1", "16777215", "16777216", "2147483647", "2147483648", "4294967295", "4294967296", "9223372036854775807",
		"18446744073709551616", "1e308", "-1e308", "1e-400", "65536", "131072", "70000"}[m.IntN(16)]
}

// write writes a value: members in any order, sometimes twice, strings with escapes or without.
func (m *mutator) write(v any) {
	switch v := v.(type) {
	case map[string]any:
		m.out.WriteByte('{')
		names := slices.Sorted(maps.Keys(v))
		if m.oneIn(2) {
			m.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		}
		if len(names) > 0 && m.oneIn(200) {
			names = append(names, names[0])
		}
		for i, name := range names {
			if i > 0 {
				m.out.WriteByte(',')
			}
			m.string(name)
			m.out.WriteByte(':')
			m.write(v[name])
		}
		m.out.WriteByte('}')
	case []any:
		m.out.WriteByte('[')
		for i, element := range v {
			if i > 0 {
				m.out.WriteByte(',')
			}
			m.write(element)
		}
		m.out.WriteByte(']')
	case string:
		m.string(v)
	case json.Number:
		m.out.WriteString(string(v))
	default:
		fmt.Fprint(&m.out, map[any]string{nil: "null", true: "true", false: "false"}[v])
	}
}

func (m *mutator) string(s string) {
	if m.oneIn(50) {
		m.out.WriteByte('"')
		for _, r := range s {
			if r > 0xFFFF {
				r = 0xFFFD
			}
			fmt.Fprintf(&m.out, `\u%04x`, r)
		}
		m.out.WriteByte('"')
		return
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // every string can be written
	}
	m.out.Write(text)
}
