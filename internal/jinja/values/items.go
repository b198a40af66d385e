package values

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// Items are what a loop over v yields. The caller does not change them.
func (r *Runtime) Items(v Value) ([]Value, error) {
	switch v := v.(type) {
	case Undefined:
		return nil, nil
	case *List:
		items := v.Items
		if v.Kind == Generator {
			v.Items = nil
		}
		return items, nil
	case *Dict:
		return v.Keys().Items, r.TakeValues(len(v.Entries) / 4)
	case texts.Text:
		chars, err := r.chars(v)
		if err != nil {
			return nil, err
		}
		return valuesOf(chars), r.TakeValues(len(chars))
	}
	return nil, fmt.Errorf("%s is nothing to iterate over", KindName(v))
}

func valuesOf(list []texts.Text) []Value {
	out := make([]Value, len(list))
	for i, t := range list {
		out[i] = t
	}
	return out
}

// Index returns an integer that counts items. ok is false if v is no integer.
func Index(v Value) (n int, ok bool) {
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

// Position is the place of an item that is counted from the start or, when negative, from the end.
func (r *Runtime) Position(key Value, n int) (int, bool) {
	i, ok := Index(key)
	if i < 0 {
		i += n
	}
	return i, ok && 0 <= i && i < n
}

// SliceBounds returns the first item, the number of items, and the step of a slice.
func SliceBounds(bounds [3]Value, n int) (from, count, by int, err error) {
	by = 1
	if i, ok := Index(bounds[2]); ok {
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
		i, ok := Index(v)
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

// SliceText returns t[from:to:by]; a bound that is nil was left out.
func (r *Runtime) SliceText(t texts.Text, bounds [3]Value) (Value, error) {
	n, err := r.Count(t)
	if err != nil {
		return nil, err
	}
	from, count, by, err := SliceBounds(bounds, n)
	if err != nil {
		return nil, err
	}
	if by == 1 {
		start, end, err := r.Meter.Window(t.String(), n, from, count)
		if err != nil {
			return nil, err
		}
		return r.Cut(t, start, end)
	}
	chars, err := r.chars(t)
	if err != nil {
		return nil, err
	}
	b := r.Builder()
	for i := range count {
		b.Add(chars[from+i*by])
	}
	return b.Text()
}

// chars are the characters of a text.
func (r *Runtime) chars(t texts.Text) ([]texts.Text, error) {
	n, err := r.Count(t)
	if err != nil {
		return nil, err
	}
	if err := r.TakeValues(n); err != nil {
		return nil, err
	}
	out := make([]texts.Text, 0, n)
	for at := 0; at < len(t.String()); {
		to := at + texts.Offset(t.String()[at:], 1)
		out = append(out, t.Slice(at, to))
		at = to
	}
	return out, nil
}

// Cut is a part of a text, within the budget.
func (r *Runtime) Cut(t texts.Text, from, to int) (texts.Text, error) {
	if _, ok := t.Single(); ok {
		return t.Slice(from, to), r.Take(texts.ValueBytes / 2)
	}
	part := t.Slice(from, to)
	return part, r.Take(texts.ValueBytes + part.Bytes() - len(part.String()))
}
