package builtins

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// Global is a function that every template has.
type Global struct {
	Do func(e *Environment, a Args) (values.Value, error)
}

// Globals are the functions that every template has, by name. They are not changed.
var Globals = map[string]*Global{
	"range": {makeRange}, "namespace": {makeNamespace}, "dict": {makeDict}, "cycler": {unsupported("cycler")},
	"joiner": {unsupported("joiner")}, "lipsum": {unsupported("lipsum")},
}

func unsupported(name string) func(*Environment, Args) (values.Value, error) {
	return func(*Environment, Args) (values.Value, error) {
		return nil, fmt.Errorf("%s() is not supported in a chat template", name)
	}
}

// maxRange is the sandbox's bound on range().
const maxRange = 100000

func makeRange(e *Environment, a Args) (values.Value, error) {
	if len(a.Named) > 0 || len(a.Values) == 0 || len(a.Values) > 3 {
		return nil, fmt.Errorf("range takes one to three integers")
	}
	bounds := [3]int{0, 0, 1}
	for i := range a.Values {
		n, err := a.integer(i, 0)
		if err != nil {
			return nil, fmt.Errorf("range: %w", err)
		}
		bounds[i] = n
	}
	if len(a.Values) == 1 {
		bounds[0], bounds[1] = 0, bounds[0]
	}
	from, to, by := bounds[0], bounds[1], bounds[2]
	n := 0
	switch {
	case by == 0:
		return nil, fmt.Errorf("range by 0")
	case by > 0 && to > from:
		n = (to-from-1)/by + 1
	case by < 0 && to < from:
		n = (from-to-1)/-by + 1
	}
	if n > maxRange {
		return nil, fmt.Errorf("a range of %d integers; at most %d are allowed", n, maxRange)
	}
	if err := e.TakeValues(n / 4); err != nil {
		return nil, err
	}
	l := values.ListOf(values.Range, make([]values.Value, n))
	for i := range l.Items {
		l.Items[i] = int64(from + i*by)
	}
	return l, nil
}

func makeNamespace(e *Environment, a Args) (values.Value, error) {
	d, err := makeDict(e, a)
	if err != nil {
		return nil, err
	}
	return &values.Namespace{Values: *d.(*values.Dict)}, nil
}

func makeDict(e *Environment, a Args) (values.Value, error) {
	d := values.NewDict()
	if len(a.Values) > 1 {
		return nil, fmt.Errorf("dict and namespace take one dictionary, and named values")
	}
	for _, v := range a.Values {
		if from, ok := v.(*values.Dict); ok {
			for _, x := range from.Entries {
				if err := e.SetKey(d, x.Key, x.Value); err != nil {
					return nil, err
				}
			}
			continue
		}
		pairs, err := e.Items(v)
		if err != nil {
			return nil, err
		}
		for _, pair := range pairs {
			p, ok := pair.(*values.List)
			if !ok || len(p.Items) != 2 {
				return nil, fmt.Errorf("dict takes pairs, not %s", values.KindName(pair))
			}
			if err := e.SetKey(d, p.Items[0], p.Items[1]); err != nil {
				return nil, err
			}
		}
	}
	for _, x := range a.Named {
		if err := e.SetKey(d, texts.Own(x.Name), x.Value); err != nil {
			return nil, err
		}
	}
	return d, e.Take(texts.ValueBytes)
}
