package bpe

import (
	"fmt"
	"strings"
)

// A merge says that two adjacent tokens become one. The lowest rank merges first.
type merge struct {
	left, right, id int32
	rank            uint32
}

// cutMerge cuts a merge written as "left right".
func cutMerge(text string) (left, right string, err error) {
	left, right, ok := strings.Cut(text, " ")
	if !ok || strings.Contains(right, " ") {
		return "", "", fmt.Errorf("merge %.40q; two tokens with a space between would be right", text)
	}
	return left, right, nil
}

// merge finds the tokens of a merge.
func (v *vocabulary) merge(left, right string) (merge, error) {
	l, ok := v.id(left)
	if !ok {
		return merge{}, fmt.Errorf("%.40q is no token", left)
	}
	r, ok := v.id(right)
	if !ok {
		return merge{}, fmt.Errorf("%.40q is no token", right)
	}
	var buf [128]byte
	key := append(append(buf[:0], v.bytesOf(l)...), v.bytesOf(r)...)
	if s, _ := v.find(key); s.id != 0 {
		return merge{left: l, right: r, id: s.id - 1}, nil
	}
	id, ok := v.id(left + right)
	if !ok {
		return merge{}, fmt.Errorf("%.40q and %.40q make %.40q, which is no token", left, right, left+right)
	}
	return merge{left: l, right: r, id: id}, nil
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
