package pattern

import (
	"strings"
	"unicode"

	"github.com/antigravity-go/antigravity/internal/charset"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// Alphabet says how characters are written in bytes.
type Alphabet uint8

const (
	// Raw writes characters as UTF-8.
	Raw Alphabet = iota
	// JSON writes characters as they stand between the quotes of a JSON string, in the canonical way of package jsonexpr.
	JSON
)

// Write returns how a text is written.
func (a Alphabet) Write(text string) string {
	if a == JSON {
		return jsonexpr.Body(text)
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// Text returns the expression of one text.
func (a Alphabet) Text(r *regular.Arena, text string) regular.Expr { return r.Literal(a.Write(text)) }

// Char returns the expression of any character; in JSON it is jsonexpr's Canonical.
func (a Alphabet) Char(r *regular.Arena) regular.Expr { return a.Set(r, charset.All()) }

// Chars returns the expression of any text; in JSON it is jsonexpr's Canonicals.
func (a Alphabet) Chars(r *regular.Arena) regular.Expr { return r.Star(a.Char(r)) }

// Set returns the expression of one character of a set. Characters with equal last bytes share their expression.
func (a Alphabet) Set(r *regular.Arena, set charset.Set) regular.Expr {
	w := writer{r: r}
	var plain, short regular.Class // short: the second characters of escapes of two
	var long []regular.Expr
	for _, s := range set {
		for c := s.Low; c <= min(s.High, unicode.MaxASCII); c++ {
			if a == Raw || c >= ' ' && c != '"' && c != '\\' {
				plain.Add(byte(c))
			} else if spelled := jsonexpr.Spell(c); len(spelled) == 2 {
				short.Add(spelled[1])
			} else {
				long = append(long, r.Literal(spelled[1:]))
			}
		}
	}
	w.add(r.Class(plain))
	if escaped := r.Or(append(long, r.Class(short))...); escaped != regular.None {
		w.add(r.Concat(r.Literal(`\`), escaped))
	}
	if n := len(set); n > 0 && set[n-1].High > unicode.MaxASCII {
		w.leads(set.And(charset.Between(0x80, 0x7FF)), 0xC0, 0, 1)
		w.leads(set.And(charset.Between(0x800, 0xFFFF)), 0xE0, 0, 2)
		w.leads(set.And(charset.Between(0x10000, unicode.MaxRune)), 0xF0, 0, 3)
	}
	return r.Or(w.ways...)
}

// writer collects the ways in which the characters of a set are written.
type writer struct {
	r    *regular.Arena
	ways []regular.Expr
}

func (w *writer) add(e regular.Expr) {
	if e != regular.None {
		w.ways = append(w.ways, e)
	}
}

// leads adds what begins with one byte and goes on with n continuation bytes. The first byte is zero for the characters from base
// on, and one more for each 64ⁿ characters.
// leads changes set.
func (w *writer) leads(set charset.Set, zero byte, base rune, n int) {
	type group struct {
		tail  regular.Expr
		leads regular.Class
	}
	var groups []group
	put := func(tail regular.Expr, first, last rune) {
		c := regular.Range(zero+byte(first), zero+byte(last))
		for i := range groups {
			if groups[i].tail == tail {
				groups[i].leads = groups[i].leads.Or(c)
				return
			}
		}
		groups = append(groups, group{tail, c})
	}
	size := rune(1) << (6 * n)
	for i := 0; i < len(set); {
		at := (set[i].Low - base) / size
		low, high := base+at*size, base+(at+1)*size-1
		if set[i].Low == low && set[i].High >= high { // whole blocks
			last := (set[i].High - base + 1) / size
			put(w.tails(n), at, last-1)
			if set[i].High == base+last*size-1 {
				i++
				continue
			}
			at, low = last, base+last*size
			high = low + size - 1
			set[i].Low = low
		}
		from := i // the spans that begin in this block
		for i < len(set) && set[i].Low <= high {
			i++
		}
		inside := append(charset.Set(nil), set[from:i]...)
		if last := inside[len(inside)-1]; last.High > high {
			inside[len(inside)-1].High = high
			i--
			set[i].Low = high + 1
		}
		var tail regular.Expr
		if n == 1 {
			var c regular.Class
			for _, s := range inside {
				c = c.Or(regular.Range(0x80+byte(s.Low-low), 0x80+byte(s.High-low)))
			}
			tail = w.r.Class(c)
		} else {
			sub := writer{r: w.r}
			sub.leads(inside, 0x80, low, n-1)
			tail = w.r.Or(sub.ways...)
		}
		put(tail, at, at)
	}
	for _, g := range groups {
		w.add(w.r.Concat(w.r.Class(g.leads), g.tail))
	}
}

// tails returns n continuation bytes.
func (w *writer) tails(n int) regular.Expr {
	c := w.r.Class(regular.Range(0x80, 0xBF))
	all := c
	for range n - 1 {
		all = w.r.Concat(c, all)
	}
	return all
}
