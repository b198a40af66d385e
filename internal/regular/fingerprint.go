package regular

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// Fingerprint stands for what an expression is made of, in any arena that began as a copy of the same one. Different expressions have
// different fingerprints, but for one chance in 2¹²⁸ that nobody can bring about: they depend on numbers that the process drew.
type Fingerprint [16]byte

// Fingerprint returns the fingerprint of e.
func (r *Arena) Fingerprint(e Expr) Fingerprint {
	if int(e) < len(r.prints) && r.prints[e] != (Fingerprint{}) {
		return r.prints[e]
	}
	n := r.nodes[e]
	text := []byte{byte(n.kind)}
	number := func(v int32) { text = binary.LittleEndian.AppendUint32(text, uint32(v)) }
	operand := func(e Expr) {
		p := r.Fingerprint(e)
		text = append(text, p[:]...)
	}
	switch n.kind {
	case class:
		for _, w := range r.classes[n.a] {
			text = binary.LittleEndian.AppendUint64(text, w)
		}
	case literal:
		text = append(text, r.text[n.a:n.a+n.b]...)
	case concat:
		operand(Expr(n.a))
		operand(Expr(n.b))
	case or, and: // operands are in the order of their numbers, which are others in another arena
		prints := make([]Fingerprint, n.b)
		for i := range prints {
			prints[i] = r.Fingerprint(r.lists[int(n.a)+i])
		}
		slices.SortFunc(prints, func(p, q Fingerprint) int { return bytes.Compare(p[:], q[:]) })
		for _, p := range prints {
			text = append(text, p[:]...)
		}
	case not:
		operand(Expr(n.a))
	case repeat:
		operand(Expr(n.a))
		number(n.b)
		number(n.c)
	default:
		number(n.a)
		number(n.b)
		number(n.c)
	}
	var p Fingerprint
	binary.LittleEndian.PutUint64(p[:8], maphash.Bytes(r.seed, text))
	binary.LittleEndian.PutUint64(p[8:], maphash.Bytes(r.other, text))
	if len(r.prints) < len(r.nodes) {
		r.prints = append(r.prints, make([]Fingerprint, len(r.nodes)-len(r.prints))...)
	}
	r.prints[e] = p
	return p
}
