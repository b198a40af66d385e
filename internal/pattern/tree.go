package pattern

import (
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/charset"
)

// op is the kind of a node.
type op uint8

const (
	opSet       op = iota // one character of set
	opText                // text
	opSeq                 // subs, one after the other
	opAlt                 // one of subs
	opRepeat              // subs[0], from least to most times
	opBegin               // nothing, at the beginning of the text
	opEnd                 // nothing, at the end of the text
	opLineBegin           // nothing, at the beginning of the text or behind a character of set
	opLineEnd             // nothing, at the end of the text or before a character of set
	opBoundary            // nothing, between a character of set and another or an end of the text; if negative is set, elsewhere
	opAhead               // nothing, before subs[0]; if negative is set, elsewhere
	opBehind              // nothing, behind a character of set or, if edge is set, at the beginning; if negative is set, elsewhere
	opNext                // nothing, before a character of set or, if edge is set, at the end; if negative is set, elsewhere
)

// node is a part of a pattern, whatever its syntax was. Nodes do not change once they are built.
type node struct {
	op             op
	negative, edge bool
	asserts        bool // whether there is something below that says more than which characters follow
	looks          bool // whether there is an opAhead below
	set            charset.Set
	text           string
	subs           []*node
	least, most    int
	offset         int // of an opAhead in the pattern
}

// nothing matches the empty text.
func nothing() *node { return &node{op: opSeq} }

// above returns a node over subs.
func above(o op, subs ...*node) *node {
	n := &node{op: o, subs: subs, asserts: o == opAhead, looks: o == opAhead}
	for _, s := range subs {
		n.asserts, n.looks = n.asserts || s.asserts, n.looks || s.looks
	}
	return n
}

// assertion returns a node that takes no character.
func assertion(o op, set charset.Set) *node { return &node{op: o, asserts: true, set: set} }

// sequence returns subs one after the other, with neighbouring texts joined.
func sequence(subs []*node) *node {
	var out []*node
	for i := 0; i < len(subs); {
		j := i
		for j < len(subs) && subs[j].op == opText {
			j++
		}
		if j <= i+1 {
			out = append(out, subs[i])
			i++
			continue
		}
		var text strings.Builder
		for _, s := range subs[i:j] {
			text.WriteString(s.text)
		}
		out = append(out, &node{op: opText, text: text.String()})
		i = j
	}
	if len(out) == 1 {
		return out[0]
	}
	return above(opSeq, out...)
}

// choice returns one of subs.
func choice(subs []*node) *node {
	if len(subs) == 1 {
		return subs[0]
	}
	return above(opAlt, subs...)
}

// repetition returns least to most times n.
func repetition(n *node, least, most int) *node {
	r := above(opRepeat, n)
	r.least, r.most = least, most
	return r
}

// character returns one character of a set.
func character(set charset.Set) *node {
	if c, ok := set.Single(); ok {
		return &node{op: opText, text: string(c)}
	}
	return &node{op: opSet, set: set}
}

// any reports whether n is any one character.
func (n *node) any() bool { return n.op == opSet && slices.Equal(n.set, charset.All()) }
