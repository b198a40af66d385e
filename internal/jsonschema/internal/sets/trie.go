package sets

import (
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// oneOf returns the language of some texts, in which each beginning is followed once.
func oneOf(r *regular.Arena, texts []string) regular.Expr {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return trie(r, slices.Compact(texts))
}

func trie(r *regular.Arena, texts []string) regular.Expr {
	if len(texts) <= 4 {
		list := make([]regular.Expr, len(texts))
		for i, t := range texts {
			list[i] = r.Literal(t)
		}
		return r.Or(list...)
	}
	var list []regular.Expr
	if texts[0] == "" {
		list, texts = append(list, regular.Empty), texts[1:]
	}
	for len(texts) > 0 {
		n := 1
		for n < len(texts) && texts[n][0] == texts[0][0] {
			n++
		}
		first, last := texts[0], texts[n-1]
		common := 1
		for common < len(first) && common < len(last) && first[common] == last[common] {
			common++
		}
		rest := make([]string, n)
		for i, t := range texts[:n] {
			rest[i] = t[common:]
		}
		tail := regular.Empty
		if n > 1 {
			tail = trie(r, rest)
		}
		list = append(list, r.Concat(r.Literal(strings.Clone(first[:common])), tail))
		texts = texts[n:]
	}
	return r.Or(list...)
}
