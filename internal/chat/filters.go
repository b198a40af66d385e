package chat

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// filters are what follows "|".
var filters = map[string]operation{
	"trim":       trimmed,
	"upper":      changed(strings.ToUpper),
	"lower":      changed(strings.ToLower),
	"capitalize": capitalized,
	"title":      changed(title),
	"replace":    replaced,
	"indent":     indented,
	"string":     printed,
	"safe":       func(_ *run, args []any, _ map[string]any) (any, error) { return args[0], nil },
	"tojson":     toJSON,
	"length":     length,
	"count":      length,
	"default":    defaulted,
	"d":          defaulted,
	"int":        toInteger,
	"float":      toFloat,
	"abs":        absolute,
	"first":      func(r *run, args []any, _ map[string]any) (any, error) { return edge(r, args[0], 0) },
	"last":       func(r *run, args []any, _ map[string]any) (any, error) { return edge(r, args[0], -1) },
	"list":       func(r *run, args []any, _ map[string]any) (any, error) { return r.items(args[0]) },
	"items":      func(r *run, args []any, _ map[string]any) (any, error) { return entries(r, args[0], true, true) },
	"dictsort":   sortedEntries,
	"reverse":    reversed,
	"join":       joined,
	"unique":     unique,
	"map":        mapped,
	"select":     selected(false, true),
	"reject":     selected(false, false),
	"selectattr": selected(true, true),
	"rejectattr": selected(true, false),
}

// textOf is the string that a filter works on.
func (r *run) textOf(args []any) (string, error) { return r.str(args[0]) }

func trimmed(r *run, args []any, named map[string]any) (any, error) {
	s, err := r.textOf(args)
	cut, _ := argument(args, named, 1, "chars", "").(string)
	return r.fence.trim(s, cut, true, true), err
}

// changed applies a function of strings to each side of the fence.
func changed(change func(string) string) operation {
	return func(r *run, args []any, _ map[string]any) (any, error) {
		s, err := r.textOf(args)
		return r.fence.mapSpans(s, change), err
	}
}

func capitalized(r *run, args []any, _ map[string]any) (any, error) {
	s, err := r.textOf(args)
	if err != nil || s == "" {
		return s, err
	}
	if err := r.spend(len(s) / bytesPerStep); err != nil {
		return nil, err
	}
	rest := r.fence.strip(s)
	_, size := utf8.DecodeRuneInString(rest)
	head, tail := r.fence.slice(s, 0, size), r.fence.slice(s, size, len(rest))
	return r.fence.mapSpans(head, strings.ToUpper) + r.fence.mapSpans(tail, strings.ToLower), nil
}

// title makes the first letter of each word a capital, and the others small.
func title(s string) string {
	inWord := false
	return strings.Map(func(c rune) rune {
		first := !inWord
		if inWord = unicode.IsLetter(c) || unicode.IsDigit(c) || c == '\''; !inWord {
			return c
		}
		if first {
			return unicode.ToUpper(c)
		}
		return unicode.ToLower(c)
	}, s)
}

func replaced(r *run, args []any, named map[string]any) (any, error) {
	s, err := r.textOf(args)
	if err != nil {
		return nil, err
	}
	old, okOld := argument(args, named, 1, "old", nil).(string)
	with, okNew := argument(args, named, 2, "new", nil).(string)
	limit, okCount := argument(args, named, 3, "count", -1).(int)
	if !okOld || !okNew || !okCount || r.fence.strip(old) == "" {
		return nil, errors.New("replace takes the text to replace, not empty, and the text to put there")
	}
	parts, err := r.split(s, old, limit)
	if err != nil {
		return nil, err
	}
	return r.joinText(parts, with)
}

// joinText is strings.Join within the bound on text.
func (r *run) joinText(parts []string, separator string) (string, error) {
	total := 0
	for _, p := range parts {
		if total += len(p) + len(separator); total > maxOutput {
			return "", errTooLong
		}
	}
	return strings.Join(parts, separator), nil
}

func indented(r *run, args []any, named map[string]any) (any, error) {
	s, err := r.textOf(args)
	if err != nil {
		return nil, err
	}
	margin, ok := argument(args, named, 1, "width", 4).(string)
	if !ok {
		width, _ := argument(args, named, 1, "width", 4).(int)
		margin = strings.Repeat(" ", max(0, min(width, 1000)))
	}
	lines, err := r.split(s, "\n", -1)
	if err != nil {
		return nil, err
	}
	first, blank := isTrue(argument(args, named, 2, "first", false)), isTrue(argument(args, named, 3, "blank", false))
	bare, at := r.fence.strip(s), 0
	for i, line := range lines {
		if (i > 0 || first) && (line != "" || blank) {
			lines[i] = margin + line
		}
		if at += len(r.fence.strip(line)); at < len(bare) { // the line break stays on its side of the fence
			lines[i] += r.fence.slice(s, at, at+1)
			at++
		}
	}
	return r.joinText(lines, "")
}

func toJSON(r *run, args []any, named map[string]any) (any, error) {
	w := jsonWriter{fence: r.fence, limit: maxOutput}
	switch indent := argument(args, named, 1, "indent", none).(type) {
	case int:
		w.indent = strings.Repeat(" ", max(0, min(indent, 100)))
	case string:
		w.indent = indent
	}
	err := w.value(args[0], 0)
	return w.String(), err
}

func length(r *run, args []any, _ map[string]any) (any, error) {
	switch v := args[0].(type) {
	case nil:
		return 0, nil
	case string:
		return len([]rune(r.fence.strip(v))), nil
	case list:
		return len(v), nil
	case object:
		return len(v), nil
	}
	return nil, fmt.Errorf("%s has no length", typeName(args[0]))
}

func defaulted(_ *run, args []any, named map[string]any) (any, error) {
	falsy := isTrue(argument(args, named, 2, "boolean", false)) && !isTrue(args[0])
	if args[0] == nil || falsy {
		return argument(args, named, 1, "default_value", ""), nil
	}
	return args[0], nil
}

func toInteger(r *run, args []any, named map[string]any) (any, error) {
	switch v := args[0].(type) {
	case int, bool:
		return toInt(v), nil
	case float64:
		if math.Abs(v) < 1<<53 {
			return int(v), nil
		}
	case string:
		bare := trimSpace(r.fence.strip(v))
		if i, err := strconv.Atoi(bare); err == nil {
			return i, nil
		}
		if f, err := strconv.ParseFloat(bare, 64); err == nil && math.Abs(f) < 1<<53 {
			return int(f), nil
		}
	}
	return argument(args, named, 1, "default", 0), nil
}

func toFloat(r *run, args []any, named map[string]any) (any, error) {
	if f, ok := number(args[0]); ok {
		return f, nil
	}
	if s, ok := args[0].(string); ok {
		if f, err := strconv.ParseFloat(trimSpace(r.fence.strip(s)), 64); err == nil {
			return f, nil
		}
	}
	return argument(args, named, 1, "default", 0.0), nil
}

func absolute(r *run, args []any, _ map[string]any) (any, error) {
	c, err := r.compare(args[0], 0)
	if err != nil || c >= 0 {
		return args[0], err
	}
	return subtract(r, []any{0, args[0]}, nil)
}

// edge is the first or the last item, undefined when there is none.
func edge(r *run, v any, i int) (any, error) {
	items, err := r.items(v)
	if err != nil {
		return nil, err
	}
	if at, ok := index(i, len(items)); ok {
		return items[at], nil
	}
	return nil, nil
}

// entries lists a dictionary's keys, values or pairs of both.
func entries(r *run, v any, keys, values bool) (any, error) {
	o, ok := v.(object)
	if !ok && v != nil {
		return nil, fmt.Errorf("entries of %s; it takes a dictionary", typeName(v))
	}
	l := make(list, len(o))
	for i, m := range o {
		switch {
		case keys && values:
			l[i] = list{m.key, m.value}
		case keys:
			l[i] = m.key
		default:
			l[i] = m.value
		}
	}
	return l, r.spend(2 * len(l))
}

func sortedEntries(r *run, args []any, _ map[string]any) (any, error) {
	o, ok := args[0].(object)
	if !ok {
		return nil, fmt.Errorf("dictsort of %s; it takes a dictionary", typeName(args[0]))
	}
	o = slices.Clone(o)
	slices.SortStableFunc(o, func(a, b member) int {
		return strings.Compare(strings.ToLower(r.fence.strip(a.key)), strings.ToLower(r.fence.strip(b.key)))
	})
	return entries(r, o, true, true)
}

func reversed(r *run, args []any, _ map[string]any) (any, error) {
	items, err := r.items(args[0])
	if err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	if _, text := args[0].(string); text {
		return r.join(items, "")
	}
	return items, r.spend(len(items))
}

func joined(r *run, args []any, named map[string]any) (any, error) {
	items, err := r.items(args[0])
	if err != nil {
		return nil, err
	}
	if name := argument(args, named, 2, "attribute", nil); name != nil {
		if items, err = r.pluck(items, name, nil); err != nil {
			return nil, err
		}
	}
	separator, err := r.str(argument(args, named, 1, "d", ""))
	if err != nil {
		return nil, err
	}
	return r.join(items, separator)
}

func unique(r *run, args []any, _ map[string]any) (any, error) {
	items, err := r.items(args[0])
	if err != nil {
		return nil, err
	}
	out := list{}
	for _, item := range items {
		known, err := r.has(out, item)
		if err != nil {
			return nil, err
		}
		if !known {
			out = append(out, item)
		}
	}
	return out, nil
}

// pluck returns the attribute of each item.
func (r *run) pluck(items list, name, otherwise any) (list, error) {
	out := make(list, len(items))
	for i, item := range items {
		v, err := attribute(r, []any{item, name}, nil)
		if err != nil {
			return nil, err
		}
		if v == nil {
			v = otherwise
		}
		out[i] = v
	}
	return out, r.spend(len(out))
}

// mapped is map(attribute=…) or map("filter", …).
func mapped(r *run, args []any, named map[string]any) (any, error) {
	items, err := r.items(args[0])
	if err != nil {
		return nil, err
	}
	if name, ok := named["attribute"]; ok {
		return r.pluck(items, name, named["default"])
	}
	if len(args) < 2 {
		return nil, errors.New("map takes the name of a filter, or attribute=")
	}
	out := make(list, len(items))
	for i, item := range items {
		if out[i], err = r.byName("|", args[1], append([]any{item}, args[2:]...), named); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// byName runs the filter or test that a value names.
func (r *run) byName(prefix string, name any, args []any, named map[string]any) (any, error) {
	s, _ := name.(string)
	op, ok := r.operations[prefix+r.fence.strip(s)]
	if !ok {
		return nil, fmt.Errorf("%s%s is not supported", prefix, s)
	}
	if err := r.spend(1 + size(args[0])); err != nil {
		return nil, err
	}
	v, err := op(r, args, named)
	if text, ok := v.(string); ok && err == nil {
		err = r.spendText(len(text))
	}
	return v, err
}

// selected is select, reject, selectattr and rejectattr: the items of which a test, or the truth, has the wanted outcome.
func selected(byAttribute, want bool) operation {
	return func(r *run, args []any, _ map[string]any) (any, error) {
		items, err := r.items(args[0])
		if err != nil {
			return nil, err
		}
		args = args[1:]
		subjects := items
		if byAttribute {
			if len(args) == 0 {
				return nil, errors.New("selectattr and rejectattr take the name of an attribute")
			}
			if subjects, err = r.pluck(items, args[0], nil); err != nil {
				return nil, err
			}
			args = args[1:]
		}
		out := list{}
		for i, subject := range subjects {
			var holds any = isTrue(subject)
			if len(args) > 0 {
				if holds, err = r.byName("is ", args[0], append([]any{subject}, args[1:]...), nil); err != nil {
					return nil, err
				}
			}
			if holds == want {
				out = append(out, items[i])
			}
		}
		return out, r.spend(len(items))
	}
}
