package jinja

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/jinja/builtins"
	"github.com/antigravity-go/antigravity/internal/jinja/syntax"
	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// A loop looks at items ahead of the body: loop.last is known only when it is known whether any later item passes the loop's condition. So
// the item after the current one is looked for early (look), but only if the template asks. For example, with the messages u1, a1, u2, a2
// of a user and an assistant, {% for m in messages if m.role == "user" %}{{ loop.last }}{% endfor %} goes so:
//
//	step        rest   ahead   current   result
//	next        1              u1
//	loop.last   3      u2      u1        false: a1 was refused, u2 passed
//	next        3              u2
//	loop.last   4              u2        true: a2 was refused
//	next        4                        the loop is over

// loop is a loop that is running, and the value of the template's variable "loop". The loop's filter is applied to an item
// only when the loop comes to the item, as in Jinja, since the filter may depend on what the body does.
//
// Invariants: 0 ≤ index; the filter has been applied to items[:rest]; ahead holds those of them that come after the current
// item and that the filter let pass: loop.last and loop.nextitem need to know them early.
type loop struct {
	e        *evaluator
	node     *syntax.For
	scope    *scope // around the loop
	items    []Value
	rest     int
	ahead    []Value
	index    int   // how many items the filter let pass before the current one
	depth    int   // how many calls of the same loop enclose a recursive loop
	current  Value // the item that the body runs with
	previous Value // the item before it, if hasPrev is set
	changed  Value // the latest argument of loop.changed, if asked is set

	hasPrev, asked bool
}

func (e *evaluator) execFor(n *syntax.For) error {
	if err := e.at(n.Line); err != nil {
		return err
	}
	v, err := e.eval(n.Over)
	if err != nil {
		return err
	}
	return e.loop(n, v, e.scope, 0)
}

// loop runs a loop's body, or its else.
func (e *evaluator) loop(n *syntax.For, over Value, around *scope, depth int) error {
	items, err := e.Items(over)
	if err != nil {
		return err
	}
	old := e.scope
	l := &loop{e: e, node: n, scope: around, items: items, depth: depth}
	for {
		more, err := l.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if _, err := e.push(around); err != nil {
			return err
		}
		if err := e.set("loop", l); err != nil {
			return err
		}
		if err := e.assign(n.Target, l.current); err != nil {
			return err
		}
		f, err := e.block(n.Body)
		if err != nil {
			return err
		}
		l.index++
		if f == breaking {
			break
		}
	}
	e.scope = old
	if l.index > 0 {
		return nil
	}
	if e.scope, err = around, e.at(n.Line); err != nil {
		return err
	}
	_, err = e.inScope(n.Otherwise)
	e.scope = old
	return err
}

// next makes the next item the current one.
func (l *loop) next() (bool, error) {
	if err := l.look(); err != nil || len(l.ahead) == 0 {
		return false, err
	}
	l.previous, l.hasPrev = l.current, l.index > 0
	l.current, l.ahead = l.ahead[0], l.ahead[1:]
	return true, nil
}

// look makes sure that the next item is known, if there is one.
func (l *loop) look() error {
	for len(l.ahead) == 0 && l.rest < len(l.items) {
		if err := l.lookAt(l.items[l.rest]); err != nil {
			return err
		}
	}
	return nil
}

// lookAt appends an item to those ahead, unless the filter refuses it.
func (l *loop) lookAt(item Value) error {
	e := l.e
	l.rest++
	if err := e.at(l.node.Line); err != nil {
		return err
	}
	if l.node.Filter != nil {
		old, err := e.push(l.scope)
		if err != nil {
			return err
		}
		if err := e.assign(l.node.Target, item); err != nil {
			return err
		}
		holds, err := e.eval(l.node.Filter)
		e.scope = old
		if err != nil || !values.IsTrue(holds) {
			return err
		}
	}
	if err := e.Take(texts.ValueBytes / 4); err != nil {
		return err
	}
	l.ahead = append(l.ahead, item)
	return nil
}

// length looks at all items.
func (l *loop) length() (int, error) {
	for l.rest < len(l.items) {
		if err := l.lookAt(l.items[l.rest]); err != nil {
			return 0, err
		}
	}
	return l.index + 1 + len(l.ahead), nil
}

// Attribute is loop.name.
func (l *loop) Attribute(name string) (Value, bool, error) {
	switch name {
	case "index":
		return int64(l.index + 1), true, nil
	case "index0":
		return int64(l.index), true, nil
	case "first":
		return l.index == 0, true, nil
	case "depth":
		return int64(l.depth + 1), true, nil
	case "depth0":
		return int64(l.depth), true, nil
	case "last":
		err := l.look()
		return len(l.ahead) == 0, true, err
	case "length", "revindex", "revindex0":
		n, err := l.length()
		switch name {
		case "revindex":
			n -= l.index
		case "revindex0":
			n -= l.index + 1
		}
		return int64(n), true, err
	case "previtem":
		if !l.hasPrev {
			return values.Missing("the item before the first"), true, nil
		}
		return l.previous, true, nil
	case "nextitem":
		if err := l.look(); err != nil || len(l.ahead) == 0 {
			return values.Missing("the item after the last"), true, err
		}
		return l.ahead[0], true, nil
	case "cycle":
		return &builtins.Method{Of: l, Name: name, Do: &builtins.Builtin{Rest: true, Do: cycle}}, true, nil
	case "changed":
		return &builtins.Method{Of: l, Name: name, Do: &builtins.Builtin{Rest: true, Do: hasChanged}}, true, nil
	}
	return nil, false, nil
}

func cycle(_ *builtins.Environment, v Value, a builtins.Args) (Value, error) {
	if len(a.Values) == 0 {
		return nil, fmt.Errorf("no items to cycle through")
	}
	return a.Values[v.(*loop).index%len(a.Values)], nil
}

func hasChanged(e *builtins.Environment, v Value, a builtins.Args) (Value, error) {
	l := v.(*loop)
	now := values.NewTuple(a.Values...)
	if l.asked {
		same, err := e.Equal(l.changed, now, 0)
		if same || err != nil {
			return false, err
		}
	}
	l.asked, l.changed = true, now
	return true, nil
}

// again is loop(items): the same loop over other items.
func (l *loop) again(a builtins.Args) (Value, error) {
	e := l.e
	if !l.node.Recursive {
		return nil, fmt.Errorf("a loop can be called only if it is recursive")
	}
	a, err := builtins.Bind(a, []string{"iterable"}, 1)
	if err != nil {
		return nil, err
	}
	if err := e.enter(); err != nil {
		return nil, err
	}
	t, err := e.capture(func() error { return e.loop(l.node, a.Values[0], l.scope, l.depth+1) })
	e.macros--
	return t, err
}
