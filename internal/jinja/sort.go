package jinja

import "slices"

// sortedBy returns a copy in the order of keys, or the other way round.
func sortedBy[T any](e *evaluator, list []T, key func(T) Value, reverse bool) ([]T, error) {
	if err := e.takeValues(len(list)); err != nil {
		return nil, err
	}
	type item struct {
		value T
		key   Value
		at    int
	}
	items := make([]item, len(list))
	for i, v := range list {
		items[i] = item{v, key(v), i}
	}
	var failed error
	slices.SortFunc(items, func(a, b item) int {
		if failed != nil || a.at == b.at {
			return a.at - b.at
		}
		c, err := e.compare(a.key, b.key, 0)
		failed = err
		switch {
		case c == 0:
			return a.at - b.at // stable, also when reversed
		case reverse:
			return -c
		}
		return c
	})
	out := make([]T, len(list))
	for i, x := range items {
		out[i] = x.value
	}
	return out, failed
}
