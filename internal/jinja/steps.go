package jinja

import (
	"fmt"
)

func (s *attributeStep) apply(e *evaluator, v Value) (Value, error) {
	if err := e.at(s.line); err != nil {
		return nil, err
	}
	return e.attribute(v, s.name)
}

// attribute is v.name: a method, else an item.
func (e *evaluator) attribute(v Value, name string) (Value, error) {
	if u, ok := v.(Undefined); ok {
		return nil, fmt.Errorf("%s of what is undefined: %w", name, u.err())
	}
	if value, ok, err := e.member(v, name); ok || err != nil {
		return value, err
	}
	if d, ok := v.(*Dict); ok {
		if value, ok := d.Get(name); ok {
			return value, nil
		}
	}
	return Undefined{name}, e.take(valueBytes / 2)
}

// member is an attribute that is no item: a method, or what a namespace or a loop has.
func (e *evaluator) member(v Value, name string) (Value, bool, error) {
	switch v := v.(type) {
	case *Namespace:
		value, ok := v.values.Get(name)
		return value, ok, nil
	case *loop:
		return v.attribute(e, name)
	case *macro:
		if name == "name" {
			return Text{s: v.node.name}, true, nil
		}
		return nil, false, nil
	}
	if m, ok := methodsOf(v)[name]; ok {
		return &method{v, name, m}, true, e.take(valueBytes)
	}
	return nil, false, nil
}

func (s *itemStep) apply(e *evaluator, v Value) (Value, error) {
	key, err := s.key.eval(e)
	if err != nil {
		return nil, err
	}
	if err := e.at(s.line); err != nil {
		return nil, err
	}
	return e.item(v, key)
}

// item is v[key]: an item, else an attribute.
func (e *evaluator) item(v, key Value) (Value, error) {
	switch c := v.(type) {
	case Undefined:
		return nil, fmt.Errorf("an item of what is undefined: %w", c.err())
	case *Dict:
		value, ok, err := e.lookUp(c, key)
		if ok || err != nil {
			return value, err
		}
	case *List:
		if i, ok := e.position(key, len(c.Items)); ok && c.kind <= aRange {
			return c.Items[i], nil
		}
	case Text:
		if _, ok := index(key); ok {
			n, err := e.count(c)
			if err != nil {
				return nil, err
			}
			if i, ok := e.position(key, n); ok {
				from, to, err := e.meter.window(c.s, n, i, 1)
				if err != nil {
					return nil, err
				}
				return c.slice(from, to), e.take(valueBytes)
			}
		}
	}
	if name, ok := key.(Text); ok {
		if err := e.skim(len(name.s)); err != nil {
			return nil, err
		}
		value, ok, err := e.member(v, name.s)
		if ok || err != nil {
			return value, err
		}
	}
	return Undefined{"an item"}, e.take(valueBytes / 2)
}

// lookUp finds a key of a dictionary.
func (e *evaluator) lookUp(d *Dict, key Value) (Value, bool, error) {
	id, ok := identity(key)
	if !ok {
		return nil, false, nil
	}
	t, isText := key.(Text)
	if isText {
		if err := e.skim(smallDict * (nodeWork + len(t.s))); err != nil {
			return nil, false, err
		}
	}
	i, ok := d.find(id)
	if !ok {
		return nil, false, nil
	}
	if own, ok := d.entries[i].key.(Text); ok && isText {
		e.match(own, t)
	}
	return d.entries[i].value, true, nil
}

// match notes, for Rendering.Matched, that a and b were found equal.
func (e *evaluator) match(a, b Text) {
	x, okX := a.single()
	y, okY := b.single()
	if okX && okY && x != y && (x == 0 || y == 0) {
		e.matched[x+y] = true
	}
}

// index is a value that counts items.
func index(v Value) (int, bool) {
	switch v := v.(type) {
	case int64:
		return int(max(-1<<31, min(v, 1<<31-1))), true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// position is the place of an item that is counted from the start or, when negative, from the end.
func (e *evaluator) position(key Value, n int) (int, bool) {
	i, ok := index(key)
	if i < 0 {
		i += n
	}
	return i, ok && 0 <= i && i < n
}

func (s *sliceStep) apply(e *evaluator, v Value) (Value, error) {
	var bounds [3]Value
	for i, x := range [...]expression{s.from, s.to, s.by} {
		if x == nil {
			continue
		}
		var err error
		if bounds[i], err = x.eval(e); err != nil {
			return nil, err
		}
		if _, ok := index(bounds[i]); !ok && bounds[i] != nil {
			return nil, fmt.Errorf("a slice from, to or by %s", kindName(bounds[i]))
		}
	}
	if err := e.at(s.line); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case Text:
		return e.sliceText(v, bounds)
	case *List:
		if v.kind > aRange {
			break
		}
		from, n, by, err := sliceBounds(bounds, len(v.Items))
		if err != nil {
			return nil, err
		}
		if err := e.takeValues(n / 4); err != nil { // the values themselves are shared
			return nil, err
		}
		out := &List{make([]Value, n), v.kind}
		for i := range out.Items {
			out.Items[i] = v.Items[from+i*by]
		}
		return out, nil
	case Undefined:
		return nil, fmt.Errorf("a slice of what is undefined: %w", v.err())
	}
	return nil, fmt.Errorf("a slice of %s", kindName(v))
}

// sliceBounds returns the first item, the number of items, and the step of a slice.
func sliceBounds(bounds [3]Value, n int) (from, count, by int, err error) {
	by = 1
	if i, ok := index(bounds[2]); ok {
		by = i
	}
	if by == 0 {
		return 0, 0, 0, fmt.Errorf("a slice by 0")
	}
	low, high := 0, n // bounds of a position
	if by < 0 {
		low, high = -1, n-1
	}
	clamp := func(v Value, otherwise int) int {
		i, ok := index(v)
		if !ok {
			return otherwise
		}
		if i < 0 {
			i += n
		}
		return max(low, min(i, high))
	}
	if by > 0 {
		from, to := clamp(bounds[0], low), clamp(bounds[1], high)
		return from, max(0, (to-from+by-1)/by), by, nil
	}
	from, to := clamp(bounds[0], high), clamp(bounds[1], low)
	return from, max(0, (from-to-by-1)/-by), by, nil
}

func (e *evaluator) sliceText(t Text, bounds [3]Value) (Value, error) {
	n, err := e.count(t)
	if err != nil {
		return nil, err
	}
	from, count, by, err := sliceBounds(bounds, n)
	if err != nil {
		return nil, err
	}
	if by == 1 {
		start, end, err := e.meter.window(t.s, n, from, count)
		if err != nil {
			return nil, err
		}
		return e.cut(t, start, end)
	}
	chars, err := e.chars(t)
	if err != nil {
		return nil, err
	}
	b := builder{m: &e.meter}
	for i := range count {
		b.add(chars[from+i*by])
	}
	return b.text()
}

// chars are the characters of a text.
func (e *evaluator) chars(t Text) ([]Text, error) {
	n, err := e.count(t)
	if err != nil {
		return nil, err
	}
	if err := e.takeValues(n); err != nil {
		return nil, err
	}
	out := make([]Text, 0, n)
	for at := 0; at < len(t.s); {
		to := at + offset(t.s[at:], 1)
		out = append(out, t.slice(at, to))
		at = to
	}
	return out, nil
}

func (s *filterStep) apply(e *evaluator, v Value) (Value, error) {
	if s.do == nil {
		return nil, fmt.Errorf("no filter is named %s", s.name)
	}
	a, err := s.with.eval(e)
	if err != nil {
		return nil, err
	}
	if err := e.at(s.line); err != nil {
		return nil, err
	}
	return s.do.call(e, s.name, v, a)
}

func (s *testStep) apply(e *evaluator, v Value) (Value, error) {
	if s.do == nil {
		return nil, fmt.Errorf("no test is named %s", s.name)
	}
	a, err := s.with.eval(e)
	if err != nil {
		return nil, err
	}
	if err := e.at(s.line); err != nil {
		return nil, err
	}
	holds, err := s.do.call(e, s.name, v, a)
	return isTrue(holds) != s.negated, err
}

func (s *callStep) apply(e *evaluator, f Value) (Value, error) {
	a, err := s.with.eval(e)
	if err != nil {
		return nil, err
	}
	if err := e.at(s.line); err != nil {
		return nil, err
	}
	return e.call(f, a)
}

func (s *methodStep) apply(e *evaluator, v Value) (Value, error) {
	a, err := s.with.eval(e)
	if err != nil {
		return nil, err
	}
	if err := e.at(s.line); err != nil {
		return nil, err
	}
	if m, ok := methodsOf(v)[s.name]; ok {
		return m.call(e, s.name, v, a)
	}
	f, err := e.attribute(v, s.name)
	if err != nil {
		return nil, err
	}
	if _, missing := f.(Undefined); missing {
		return nil, fmt.Errorf("%s has no method %s", kindName(v), s.name)
	}
	return e.call(f, a)
}
