package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// holds decides a comparison.
func (e *evaluator) holds(operator string, a, b Value) (bool, error) {
	switch operator {
	case "==":
		return e.equal(a, b, 0)
	case "!=":
		same, err := e.equal(a, b, 0)
		return !same, err
	case "in":
		return e.contains(b, a)
	case "not in":
		found, err := e.contains(b, a)
		return !found, err
	}
	c, err := e.compare(a, b, 0)
	switch operator {
	case "<":
		return c < 0, err
	case "<=":
		return c <= 0, err
	case ">":
		return c > 0, err
	}
	return c >= 0, err
}

// equal is Python's a == b.
func (e *evaluator) equal(a, b Value, depth int) (bool, error) {
	if err := e.spend(nodeWork / 2); err != nil {
		return false, err
	}
	if depth > maxDepth {
		return false, fmt.Errorf("lists nested deeper than %d", maxDepth)
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x.compare(y) == 0, e.spend(x.work() + y.work())
	}
	switch a := a.(type) {
	case Text:
		b, ok := b.(Text)
		if !ok || len(a.s) != len(b.s) {
			return false, nil
		}
		if err := e.skim(len(a.s)); err != nil || a.s != b.s {
			return false, err
		}
		e.match(a, b)
		return true, nil
	case *List:
		b, ok := b.(*List)
		if !ok || a.kind != b.kind || a.kind == aGenerator || len(a.Items) != len(b.Items) {
			return ok && a == b, nil
		}
		for i := range a.Items {
			if same, err := e.equal(a.Items[i], b.Items[i], depth+1); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case *Dict:
		b, ok := b.(*Dict)
		if !ok || len(a.entries) != len(b.entries) {
			return false, nil
		}
		for _, x := range a.entries {
			other, ok, err := e.lookUp(b, x.key)
			if !ok || err != nil {
				return false, err
			}
			if same, err := e.equal(x.value, other, depth+1); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case Undefined:
		_, ok := b.(Undefined)
		return ok, nil
	}
	return a == b, nil // None, and what is equal only to itself
}

// compare is the order of a and b, for values that Python can order.
func (e *evaluator) compare(a, b Value, depth int) (int, error) {
	if err := e.spend(nodeWork / 2); err != nil {
		return 0, err
	}
	if depth > maxDepth {
		return 0, fmt.Errorf("lists nested deeper than %d", maxDepth)
	}
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			return x.compare(y), e.spend(x.work() + y.work())
		}
	}
	switch a := a.(type) {
	case Text:
		if b, ok := b.(Text); ok {
			return strings.Compare(a.s, b.s), e.skim(min(len(a.s), len(b.s)))
		}
	case *List:
		b, ok := b.(*List)
		if !ok || a.kind != b.kind || a.kind > aTuple {
			break
		}
		for i := range min(len(a.Items), len(b.Items)) {
			same, err := e.equal(a.Items[i], b.Items[i], depth+1)
			if err != nil {
				return 0, err
			}
			if !same {
				return e.compare(a.Items[i], b.Items[i], depth+1)
			}
		}
		return cmp.Compare(len(a.Items), len(b.Items)), nil
	}
	return 0, fmt.Errorf("%s and %s have no order", kindName(a), kindName(b))
}

// contains is Python's v in where.
func (e *evaluator) contains(where, v Value) (bool, error) {
	switch where := where.(type) {
	case Text:
		t, ok := v.(Text)
		if !ok {
			return false, fmt.Errorf("%s in a string", kindName(v))
		}
		if err := e.search(where.s, t.s); err != nil {
			return false, err
		}
		found := strings.Contains(where.s, t.s)
		if found {
			e.match(where, t)
		}
		return found, nil
	case *Dict:
		if _, ok := identity(v); !ok {
			return false, fmt.Errorf("%s cannot be a key", kindName(v))
		}
		_, ok, err := e.lookUp(where, v)
		return ok, err
	}
	items, err := e.items(where)
	if err != nil {
		return false, err
	}
	for _, item := range items {
		if same, err := e.equal(v, item, 0); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// items are what a loop over v yields. The caller does not change them.
func (e *evaluator) items(v Value) ([]Value, error) {
	switch v := v.(type) {
	case Undefined:
		return nil, nil
	case *List:
		items := v.Items
		if v.kind == aGenerator {
			v.Items = nil
		}
		return items, nil
	case *Dict:
		return v.keys().Items, e.takeValues(len(v.entries) / 4)
	case Text:
		chars, err := e.chars(v)
		if err != nil {
			return nil, err
		}
		return values(chars), e.takeValues(len(chars))
	}
	return nil, fmt.Errorf("%s is nothing to iterate over", kindName(v))
}

func values(texts []Text) []Value {
	out := make([]Value, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

// errPercent is the error of what Python formats by its oldest rules, as no published chat template does: "%s" % x and "%s"|format(x).
var errPercent = errors.New("formats with % are not supported in a chat template; the method format is")

// arithmetic is a operator b.
func (e *evaluator) arithmetic(operator string, a, b Value) (Value, error) {
	x, isNumber := number(a)
	y, alsoNumber := number(b)
	if isNumber && alsoNumber {
		return e.compute(operator, x, y)
	}
	switch operator {
	case "+":
		switch a := a.(type) {
		case Text:
			if b, ok := b.(Text); ok {
				return e.concat(Text{}, a, b)
			}
		case *List:
			if b, ok := b.(*List); ok && a.kind == b.kind && a.kind <= aTuple {
				return e.append(a.kind, 1, a.Items, b.Items)
			}
		}
	case "*":
		if isNumber {
			a, b, y = b, a, x
		}
		n, ok := index(y.value())
		if !ok || !isNumber && !alsoNumber {
			break
		}
		switch a := a.(type) {
		case Text:
			return e.repeat(a, n)
		case *List:
			if a.kind <= aTuple {
				return e.append(a.kind, n, a.Items)
			}
		}
	case "%":
		if is[Text](a) {
			return nil, errPercent
		}
	}
	for _, v := range []Value{a, b} {
		if u, ok := v.(Undefined); ok {
			return nil, u.err()
		}
	}
	return nil, fmt.Errorf("%s %s %s", kindName(a), operator, kindName(b))
}

// append is a list of copies of lists.
func (e *evaluator) append(kind listKind, copies int, lists ...[]Value) (Value, error) {
	n := 0
	for _, l := range lists {
		n += len(l)
	}
	copies = max(0, copies)
	if n > 0 && copies > maxMemory/n {
		copies = maxMemory / n
	}
	if err := e.takeValues(n * copies / 4); err != nil {
		return nil, err
	}
	out := make([]Value, 0, n*copies)
	for range copies {
		if n == 0 {
			break
		}
		for _, l := range lists {
			out = append(out, l...)
		}
	}
	return &List{out, kind}, nil
}

// repeat is n copies of a text.
func (e *evaluator) repeat(t Text, n int) (Text, error) {
	b := builder{m: &e.meter}
	if t.s == "" || n <= 0 {
		return Text{}, nil
	}
	if n > maxMemory/len(t.s) {
		n = maxMemory/len(t.s) + 1
	}
	b.reserve(len(t.s)*n, t.spanCount())
	if o, ok := t.single(); ok && b.err == nil {
		block := strings.Repeat(t.s, min(n, 1+4096/len(t.s))) // fewer and longer writes
		for ; n*len(t.s) > len(block); n -= len(block) / len(t.s) {
			b.write(block, o)
		}
	}
	for i := 0; i < n && b.err == nil; i++ {
		b.add(t)
	}
	return b.text()
}

// small is an integer in its smallest form.
func small(n *big.Int) Value {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}
