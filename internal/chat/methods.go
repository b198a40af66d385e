package chat

import (
	"fmt"
	"math"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// method is v.name(…): args are v, the name and the arguments.
func method(r *run, args []any, named map[string]any) (any, error) {
	name, _ := args[1].(string)
	rest := args[2:]
	switch v := args[0].(type) {
	case nil:
		return nil, fmt.Errorf("%s() of an undefined value", name)
	case string:
		if m, ok := stringMethods[name]; ok {
			return m(r, append([]any{v}, rest...), named)
		}
	case object:
		if m, ok := dictMethods[name]; ok {
			return m(r, append([]any{v}, rest...), named)
		}
	}
	f, err := attribute(r, args[:2], nil)
	if err != nil {
		return nil, err
	}
	if f, ok := f.(func(*exec.VarArgs) *exec.Value); ok { // loop.cycle, or a macro in a namespace
		result := f(varArgs(rest, named))
		if result.IsError() {
			return nil, result
		}
		return result.Interface(), nil
	}
	return nil, fmt.Errorf("%s has no method %s", typeName(args[0]), name)
}

func varArgs(args []any, named map[string]any) *exec.VarArgs {
	p := exec.NewVarArgs()
	for _, a := range args {
		p.Args = append(p.Args, exec.AsValue(a))
	}
	for k, v := range named {
		p.KwArgs[k] = exec.AsValue(v)
	}
	return p
}

var stringMethods = map[string]operation{
	"strip":        stripper(true, true),
	"lstrip":       stripper(true, false),
	"rstrip":       stripper(false, true),
	"upper":        filters["upper"],
	"lower":        filters["lower"],
	"title":        filters["title"],
	"capitalize":   filters["capitalize"],
	"replace":      filters["replace"],
	"split":        splitText,
	"splitlines":   splitLines,
	"join":         func(r *run, args []any, _ map[string]any) (any, error) { return joinMethod(r, args) },
	"startswith":   affix(strings.HasPrefix),
	"endswith":     affix(strings.HasSuffix),
	"removeprefix": remover(true),
	"removesuffix": remover(false),
	"find":         find,
	"isdigit":      everyRune(func(c rune) bool { return '0' <= c && c <= '9' }),
	"isspace":      everyRune(isSpace),
}

var dictMethods = map[string]operation{
	"get": func(r *run, args []any, _ map[string]any) (any, error) {
		key, _ := argument(args, nil, 1, "", "").(string)
		if v, ok := args[0].(object).get(r, key); ok {
			return v, nil
		}
		return argument(args, nil, 2, "", any(none)), nil
	},
	"items":  func(r *run, args []any, _ map[string]any) (any, error) { return entries(r, args[0], true, true) },
	"keys":   func(r *run, args []any, _ map[string]any) (any, error) { return entries(r, args[0], true, false) },
	"values": func(r *run, args []any, _ map[string]any) (any, error) { return entries(r, args[0], false, true) },
}

func stripper(left, right bool) operation {
	return func(r *run, args []any, _ map[string]any) (any, error) {
		cut, _ := argument(args, nil, 1, "", "").(string)
		return r.fence.trim(args[0].(string), cut, left, right), nil
	}
}

func splitText(r *run, args []any, named map[string]any) (any, error) {
	separator, _ := argument(args, named, 1, "sep", "").(string)
	limit, ok := argument(args, named, 2, "maxsplit", -1).(int)
	if !ok {
		limit = -1
	}
	parts, err := r.split(args[0].(string), separator, limit)
	return toList(parts), err
}

// splitLines is for line feeds only: they are what is left of the others in text.
func splitLines(r *run, args []any, _ map[string]any) (any, error) {
	parts, err := r.split(args[0].(string), "\n", -1)
	if n := len(parts); n > 0 && parts[n-1] == "" {
		parts = parts[:n-1]
	}
	return toList(parts), err
}

func toList(parts []string) list {
	l := make(list, len(parts))
	for i, p := range parts {
		l[i] = p
	}
	return l
}

func joinMethod(r *run, args []any) (any, error) {
	items, err := r.items(argument(args, nil, 1, "", nil))
	if err != nil {
		return nil, err
	}
	return r.join(items, args[0].(string))
}

// affix is startswith and endswith, of one text or of any in a list.
func affix(holds func(s, part string) bool) operation {
	return func(r *run, args []any, _ map[string]any) (any, error) {
		candidates, ok := argument(args, nil, 1, "", nil).(list)
		if !ok {
			candidates = list{argument(args, nil, 1, "", nil)}
		}
		s := r.fence.strip(args[0].(string))
		for _, c := range candidates {
			part, ok := c.(string)
			if !ok {
				return nil, mismatch("startswith or endswith", []any{args[0], c})
			}
			if err := r.spend(1); err != nil {
				return nil, err
			}
			if holds(s, r.fence.strip(part)) {
				return true, nil
			}
		}
		return false, nil
	}
}

func remover(prefix bool) operation {
	return func(r *run, args []any, _ map[string]any) (any, error) {
		s := args[0].(string)
		part, _ := argument(args, nil, 1, "", "").(string)
		bare, part := r.fence.strip(s), r.fence.strip(part)
		switch {
		case prefix && strings.HasPrefix(bare, part):
			return r.fence.slice(s, len(part), len(bare)), nil
		case !prefix && strings.HasSuffix(bare, part):
			return r.fence.slice(s, 0, len(bare)-len(part)), nil
		}
		return s, nil
	}
}

func find(r *run, args []any, _ map[string]any) (any, error) {
	part, ok := argument(args, nil, 1, "", nil).(string)
	if !ok {
		return nil, mismatch("find", []any{args[0], argument(args, nil, 1, "", nil)})
	}
	s := r.fence.strip(args[0].(string))
	i := strings.Index(s, r.fence.strip(part))
	if i < 0 {
		return -1, nil
	}
	return min(math.MaxInt32, len([]rune(s[:i]))), nil
}

// everyRune reports whether a string is not empty and each of its characters is of a kind.
func everyRune(kind func(rune) bool) operation {
	return func(r *run, args []any, _ map[string]any) (any, error) {
		s := r.fence.strip(args[0].(string))
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return !kind(c) }) < 0, nil
	}
}
