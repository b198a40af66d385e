package bpe

import (
	"bytes"
	"fmt"
)

// A merge says that two adjacent tokens, left and right, become the token id. The merge of the lowest rank comes first.
type merge struct {
	left, right, id int32
	rank            uint32
}

// cutMerge finds the tokens of a merge written as "left right".
func (v *vocabulary) cutMerge(text []byte) (left, right int32, err error) {
	l, r, ok := bytes.Cut(text, []byte(" "))
	if !ok || bytes.ContainsRune(r, ' ') {
		return 0, 0, fmt.Errorf("%.40q; two tokens with a space between would be right", text)
	}
	if left, err = v.known(l); err != nil {
		return 0, 0, err
	}
	right, err = v.known(r)
	return left, right, err
}

// known returns the token of an exact text, or an error.
func (v *vocabulary) known(text []byte) (int32, error) {
	id, ok := v.id(text)
	if !ok {
		return 0, fmt.Errorf("%.40q is no token", text)
	}
	return id, nil
}

// merge returns the merge of two tokens into the token with their concatenated text or bytes.
func (v *vocabulary) merge(left, right int32, rank int) (merge, error) {
	m := merge{left: left, right: right, rank: uint32(rank)}
	var buf [128]byte
	key := append(append(buf[:0], v.bytesOf(left)...), v.bytesOf(right)...)
	if s, _ := v.find(string(key)); s.id != 0 {
		m.id = s.id - 1
		return m, nil
	}
	l, r := v.text(left), v.text(right)
	id, ok := v.id([]byte(l + r))
	if !ok {
		return m, fmt.Errorf("%.40q and %.40q make %.40q, which is no token", l, r, l+r)
	}
	m.id = id
	return m, nil
}

// mergeTable returns the table of merges. Those that make a special token are left out: text never becomes one.
func mergeTable(v *vocabulary, merges []merge) *pairs {
	p := newPairs(len(merges))
	for _, m := range merges {
		if v.flags[m.id]&special == 0 {
			p.set(m.left, m.right, m.rank, m.id)
		}
	}
	return p
}
