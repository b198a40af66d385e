package chat

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// maxDepth bounds the nesting of lists that a template builds.
const maxDepth = 100

// namespace is Jinja's namespace(): an object whose attributes {% set ns.x = … %} changes from within a loop.
type namespace struct{ values map[string]any }

// conversation is the messages as a template sees them, before the fence is up.
func conversation(messages []Message) (list, error) {
	turns := make(list, len(messages))
	for i, m := range messages {
		turn := object{{"role", m.Role}, {"content", m.Content}}
		if len(m.ToolCalls) > 0 {
			calls := make(list, len(m.ToolCalls))
			for j, c := range m.ToolCalls {
				arguments, err := parseJSON(c.arguments())
				if err != nil {
					return nil, fmt.Errorf("message %d: arguments of the call to %q: %w", i, c.Name, err)
				}
				function := object{{"name", c.Name}, {"arguments", arguments}}
				calls[j] = append(optional("id", c.ID), object{{"type", "function"}, {"function", function}}...)
			}
			turn = append(turn, member{"tool_calls", calls})
		}
		turn = append(turn, optional("name", m.Name)...)
		turns[i] = append(turn, optional("tool_call_id", m.ToolCallID)...)
	}
	return turns, nil
}

func optional(key, value string) object {
	if value == "" {
		return nil
	}
	return object{{key, value}}
}

// parseTools is the tools as a template sees them: None when there are none, as in Hugging Face.
func parseTools(tools []json.RawMessage) (any, error) {
	if len(tools) == 0 {
		return none, nil
	}
	values := make(list, len(tools))
	for i, t := range tools {
		v, err := parseJSON(t)
		if err != nil {
			return nil, fmt.Errorf("tool %d: %w", i, err)
		}
		values[i] = v
	}
	return values, nil
}

// extraVariables converts the caller's variables by way of JSON.
func extraVariables(vars map[string]any) (object, error) {
	var o object
	for _, key := range sortedKeys(vars) {
		data, err := json.Marshal(vars[key])
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", key, err)
		}
		v, err := parseJSON(data)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", key, err)
		}
		o = append(o, member{key, v})
	}
	return o, nil
}

// contains reports whether a string within v contains c.
func contains(v any, c string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, c)
	case list:
		for _, item := range v {
			if contains(item, c) {
				return true
			}
		}
	case object:
		for _, m := range v {
			if strings.Contains(m.key, c) || contains(m.value, c) {
				return true
			}
		}
	}
	return false
}

// weigh counts the bytes of the strings within v.
func weigh(v any) int {
	n := 0
	switch v := v.(type) {
	case string:
		n = len(v)
	case list:
		for _, item := range v {
			n += weigh(item)
		}
	case object:
		for _, m := range v {
			n += len(m.key) + weigh(m.value)
		}
	}
	return n
}

// enclose puts every string within v, keys included, into the fence. v is changed in place.
func (r *run) enclose(v any) any {
	switch v := v.(type) {
	case string:
		return r.fence.enclose(v)
	case list:
		for i := range v {
			v[i] = r.enclose(v[i])
		}
	case object:
		for i, m := range v {
			v[i] = member{r.fence.enclose(m.key), r.enclose(m.value)}
		}
	}
	return v
}

// encloseTurns is enclose for the messages. Their keys are ours, and their roles stay outside of the fence where they
// are plain words and contain no special token.
func (r *run) encloseTurns(turns list, known specials) list {
	for _, turn := range turns {
		for i, m := range turn.(object) {
			role, _ := m.value.(string)
			if m.key != "role" || !isWord(role) || known.in(role) {
				turn.(object)[i].value = r.enclose(m.value)
			}
		}
	}
	return turns
}

// get looks up a key, which may be fenced.
func (o object) get(r *run, key string) (any, bool) {
	key = r.fence.strip(key)
	for _, m := range o {
		if r.fence.strip(m.key) == key {
			return m.value, true
		}
	}
	return nil, false
}

// isTrue is Python's bool(v).
func isTrue(v any) bool { return exec.AsValue(v).IsTrue() || isFunction(v) }

func isFunction(v any) bool { return v != nil && exec.AsValue(v).IsCallable() }

// typeName is for error messages.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "undefined"
	case *noneType:
		return "None"
	case string:
		return "a string"
	case list:
		return "a list"
	case object:
		return "a dictionary"
	case int, bigInt:
		return "an integer"
	case bool, float64:
		return fmt.Sprintf("a %T", v)
	}
	return "an object"
}

// number returns v as a float64, if it is a number or, as in Python, a bool.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case bigInt:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// equal is Python's a == b. Fences do not matter.
func (r *run) equal(a, b any, depth int) (bool, error) {
	if err := r.spend(1); err != nil {
		return false, err
	}
	if depth > maxDepth {
		return false, fmt.Errorf("lists nested deeper than %d", maxDepth)
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y, nil
	}
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && r.fence.strip(a) == r.fence.strip(b), nil
	case list:
		b, ok := b.(list)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		for i := range a {
			if same, err := r.equal(a[i], b[i], depth+1); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case object:
		b, ok := b.(object)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		for _, m := range a {
			other, ok := b.get(r, m.key)
			if !ok {
				return false, nil
			}
			if same, err := r.equal(m.value, other, depth+1); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case nil, *noneType, *namespace:
		return a == b, nil
	}
	return false, nil
}

// printer writes values as Python's str and repr do.
type printer struct {
	strings.Builder
	fence fence
}

func (p *printer) str(v any) error {
	if s, ok := v.(string); ok {
		p.WriteString(s)
		return nil
	}
	if v == nil {
		return nil
	}
	return p.repr(v, 0)
}

func (p *printer) repr(v any, depth int) error {
	switch {
	case depth > maxDepth:
		return fmt.Errorf("lists nested deeper than %d", maxDepth)
	case p.Len() > maxOutput:
		return errTooLong
	}
	switch v := v.(type) {
	case nil:
		p.WriteString("Undefined")
	case *noneType:
		p.WriteString("None")
	case bool:
		p.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int:
		p.WriteString(strconv.Itoa(v))
	case bigInt:
		p.WriteString(string(v))
	case float64:
		p.WriteString(pythonFloat(v))
	case string:
		p.quoted(v)
	case list:
		p.WriteByte('[')
		for i, item := range v {
			p.comma(i)
			if err := p.repr(item, depth+1); err != nil {
				return err
			}
		}
		p.WriteByte(']')
	case object:
		p.WriteByte('{')
		for i, m := range v {
			p.comma(i)
			p.quoted(m.key)
			p.WriteString(": ")
			if err := p.repr(m.value, depth+1); err != nil {
				return err
			}
		}
		p.WriteByte('}')
	default:
		return fmt.Errorf("%s cannot be printed", typeName(v))
	}
	return nil
}

func (p *printer) comma(i int) {
	if i > 0 {
		p.WriteString(", ")
	}
}

// quoted writes a string literal: single quotes unless only those occur in it.
func (p *printer) quoted(s string) {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, quote, `\`+quote)
	p.WriteString(quote)
	p.WriteString(p.fence.mapSpans(s, escape.Replace))
	p.WriteString(quote)
}

// str is Python's str(v); undefined is empty.
func (r *run) str(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	p := printer{fence: r.fence}
	err := p.str(v)
	return p.String(), err
}

// chars cuts a string into its characters, each on its side of the fence.
func (f fence) chars(s string) list {
	var l list
	f.spans(s, func(text string, fenced bool) {
		for text != "" {
			_, n := utf8.DecodeRuneInString(text)
			c := text[:n]
			if text = text[n:]; fenced {
				c = f.enclose(c)
			}
			l = append(l, c)
		}
	})
	return l
}

// isSpace is what Python's str.strip removes.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// trimSpace is Python's str.strip.
func trimSpace(s string) string { return strings.TrimFunc(s, isSpace) }

// trim drops characters of cut, or white space when it is "", from the given sides.
func (f fence) trim(s, cut string, left, right bool) string {
	drop := isSpace
	if cut = f.strip(cut); cut != "" {
		drop = func(r rune) bool { return strings.ContainsRune(cut, r) }
	}
	bare := f.strip(s)
	from, to := 0, len(bare)
	if left {
		from = len(bare) - len(strings.TrimLeftFunc(bare, drop))
	}
	if right {
		to = max(from, len(strings.TrimRightFunc(bare, drop)))
	}
	return f.slice(s, from, to)
}

// fields are the half-open ranges between occurrences of a separator, at most limit+1 of them when limit ≥ 0.
func fields(s, separator string, limit int) [][2]int {
	var out [][2]int
	from := 0
	for limit != 0 {
		i := strings.Index(s[from:], separator)
		if i < 0 {
			break
		}
		out = append(out, [2]int{from, from + i})
		from += i + len(separator)
		limit--
	}
	return append(out, [2]int{from, len(s)})
}

// split cuts s at a separator, or at white space when it is "".
func (r *run) split(s, separator string, limit int) ([]string, error) {
	bare, separator := r.fence.strip(s), r.fence.strip(separator)
	var ranges [][2]int
	if separator != "" {
		ranges = fields(bare, separator, limit)
	} else {
		ranges = words(bare, limit)
	}
	if err := r.spend(int(min(math.MaxInt32, int64(len(ranges))*(1+int64(len(s))/(16*bytesPerStep))))); err != nil {
		return nil, err
	}
	parts := make([]string, len(ranges))
	for i, x := range ranges {
		parts[i] = r.fence.slice(s, x[0], x[1])
	}
	return parts, nil
}

// words are the ranges of s between white space, at most limit+1 of them when limit ≥ 0.
func words(s string, limit int) [][2]int {
	var out [][2]int
	at := 0
	for {
		at += len(s[at:]) - len(strings.TrimLeftFunc(s[at:], isSpace))
		if at == len(s) {
			return out
		}
		n := strings.IndexFunc(s[at:], isSpace)
		if limit >= 0 && len(out) == limit || n < 0 {
			return append(out, [2]int{at, len(strings.TrimRightFunc(s, isSpace))})
		}
		out = append(out, [2]int{at, at + n})
		at += n
	}
}
