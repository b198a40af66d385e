package jinja

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/jinja/syntax"
	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// TestCancelled renders with a context that ends, before and while.
func TestCancelled(t *testing.T) {
	template, err := Parse("{% for i in range(1000) %}{% for j in range(1000) %}{% set x = i * j %}{% endfor %}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	for _, looks := range []int{0, 1, 7} {
		e := newEvaluator(countdown.New(t.Context(), looks), nil)
		if _, err := template.run(e); !errors.Is(err, context.Canceled) {
			t.Errorf("after %d looks: %v", looks, err)
		}
		left, _ := e.Left()
		if spent := texts.MaxWork - left; spent > (looks+1)*(texts.CheckEvery+1<<16) {
			t.Errorf("stopped after %d units of work and %d looks", spent, looks)
		}
	}
}

// TestErrors looks for what an error must say.
func TestErrors(t *testing.T) {
	tests := []struct{ template, want string }{
		{"\n{{ nothing.x }}", "line 2: x of what is undefined: nothing is undefined"},
		{"a\n\n{{ 1\n + none }}", "line 4: an integer + None"},
		{"\n{% for x in 5 %}{% endfor %}", "line 2: an integer is nothing to iterate over"},
		{"{% macro m() %}\n{{ 'a' + 1 }}{% endmacro %}\n{{ m() }}", "line 2: a string + an integer"},
		{"\n{{ 'a' * 2000000000 }}", "line 2: the template takes more than 41943040 bytes of memory"},
		{"{% for a in range(9999) %}\n{% for b in range(9999) %}{% if a and b and a and b %}{% endif %}{% endfor %}{% endfor %}", "line 2: the template takes more than 67108864 units of work"},
		{"{{ 7 // 0 }}", "division by zero"},
		{"{{ 7 % 0 }}", "division by zero"},
		{"{{ '%d' % 7 }}", "formats with % are not supported in a chat template"},
		{"{{ '%d'|format(7) }}", "format: formats with % are not supported in a chat template"},
		{"{{ 10 ** 9999 }}", "an integer of more than 4096 bits"},
		{"{{ " + strings.Repeat("9", 2000) + " }}", "the integer 99999999999999999999… has more than 1234 digits"},
		{"\n{{ 'a'|nonesuch }}", "line 2: no filter is named nonesuch"},
		{"\n{{ 'a' is nonesuch }}", "line 2: no test is named nonesuch"},
		{"\n{{ 'a'.nonesuch() }}", "line 2: a string has no method nonesuch"},
		{"\n{{ [1].append(2) }}", "line 2: append: a chat template cannot change a value"},
		{"\n{{ 'a'|replace('b') }}", "line 2: replace: the argument new is missing"},
		{"{% set x = 1 %}\n{% set x.y = 2 %}", "line 2: set x.y: x is an integer, not a namespace"},
		{"a\n{% include 'x' %}", "line 2: {% include %} is not supported in a chat template"},
		{"\n{% if true %}\n{% for x in y %}{% endif %}", "line 3: {% endif %} is not supported"},
		{"\n{% if true %}\n", "line 2: {% if %} without its endif"},
		{"{{ f() }}", "in its own words"},
	}
	own := &Function{Call: func([]Value) (Value, error) { return nil, errors.New("in its own words") }}
	for _, test := range tests {
		template, err := Parse(test.template)
		if err == nil {
			_, err = template.Render(t.Context(), map[string]Value{"f": own})
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 200 {
			t.Errorf("%.60q: got %v, want %s", test.template, err, test.want)
		}
	}
}

// TestParseCeilings parses long and deep templates: each within memory that is in proportion to its length, and no deeper
// than the stack allows.
func TestParseCeilings(t *testing.T) {
	effort.Turn(t, 8)
	long := func(open, s, end string) string { return open + strings.Repeat(s, (900<<10)/len(s)) + end }
	tests := map[string]struct {
		template string
		fails    bool
	}{
		"adjacent literals": {long("{{ ", "'a'", " }}"), false}, "adjacent literals of lines": {long("{{ ", "'\\n' ", " }}"), false},
		"text": {long("", "a", ""), false}, "braces": {long("", "{ ", ""), false}, "comments": {long("", "{#a#}", ""), false}, "raw": {long("{% raw %}", "{%", "{% endraw %}"), false},
		"raw blocks": {long("", "{% raw %}a{% endraw %}", ""), false}, "empty lines": {long("{{ ", "\n", "1 }}"), false}, "a name": {long("{{ ", "a", " }}"), true}, "a number": {long("{{ ", "1", " }}"), true},
		"a string": {long("{{ '", "a", "' }}"), false}, "escapes": {long("{{ '", `\x41`, "' }}"), false}, "brackets": {long("{{ ", "(", " }}"), true}, "closed brackets": {long("{{ [", "[],", "] }}"), true},
		"nots": {long("{{ ", "not ", "1 }}"), true}, "signs": {long("{{ ", "-", "1 }}"), true}, "sums": {long("{{ ", "1+", "1 }}"), true}, "powers": {long("{{ ", "1**", "1 }}"), true}, "filters": {long("{{ 1", "|abs", " }}"), true},
		"attributes": {long("{{ a", ".b", " }}"), true}, "items": {long("{{ a", "[1]", " }}"), true}, "calls": {long("{{ a", "()", " }}"), true}, "conditionals": {long("{{ ", "1 if 1 else ", "1 }}"), true}, "comparisons": {long("{{ 1", "<1", " }}"), true},
		"ifs": {long("", "{% if 1 %}", ""), true}, "elifs": {long("{% if 1 %}", "{% elif 1 %}", "{% endif %}"), true}, "loops": {long("", "{% for a in b %}", ""), true}, "targets": {long("{% for ", "(", ""), true}, "sets": {long("", "{% set a = 1 %}", ""), true},
		"tags": {long("", "{{1}}", ""), true}, "arguments": {long("{{ a(", "b=1,", ") }}"), true}, "parameters": {long("{% macro a(", "b,", ") %}{% endmacro %}"), true}, "tests": {long("{{ 1", " is odd", " }}"), true}, "dictionaries": {long("{{ {", "1:1,", "} }}"), true},
		"too long": {strings.Repeat("a", syntax.MaxSource+1), true}, "unclosed strings": {long("", "{{ '", ""), true}, "sums below the bound": {"{{ 1" + strings.Repeat("+1", 60000) + " }}", false},
		"chain of elifs": {"{% if 0 %}" + strings.Repeat("{% elif 0 %}", 20000) + "{% endif %}", false}, "chain of conditionals": {"{{ " + strings.Repeat("0 if 0 else ", 20000) + "1 }}", true},
	}
	for name, test := range tests {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		template, err := Parse(test.template)
		if (err != nil) != test.fails || errors.Is(err, errPanic) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_, err = template.Render(t.Context(), nil)
			if errors.Is(err, errPanic) {
				t.Errorf("%s: %v", name, err)
			}
		}
		runtime.ReadMemStats(&after)
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 64<<20 {
			t.Errorf("%s: allocates %d bytes", name, bytes)
		}
	}
}

// TestOrigins looks at the origins of what operations make of texts. The variable's bytes are in brackets.
func TestOrigins(t *testing.T) {
	tests := []struct{ template, want string }{
		{"a{{ v }}b", "a[x<y z]b"},
		{"{{ ('<' ~ v ~ '>')[1:-1] }}", "[x<y z]"},
		{"{{ ('<' + v + '>')[:3] }}", "<[x<]"},
		{"{{ v.split('<')|join('<') }}", "[x]<[y z]"},
		{"{{ 'a<b'.replace('<', v) }}", "a[x<y z]b"},
		{"{{ v.replace('<', '-') }}", "[x]-[y z]"},
		{"{{ v|upper }}{{ 'q'|upper }}", "[X<Y Z]Q"},
		{"{{ [v]|tojson }}", `["[x<y z]"]`},
		{"{{ {v: 1} }}", "{'[x<y z]': 1}"},
		{"{{ '{:5}|'.format(v) }}{{ '{}'.format(v) }}", "[x<y z]|[x<y z]"},
		{"{% for c in v %}{{ c }}.{% endfor %}", "[x].[<].[y].[ ].[z]."},
		{"{{ v|reverse }}{{ ('a' ~ v)|reverse }}", "[z y<xz y<x]a"},
		{"{% set x %}<{{ v }}>{% endset %}{{ x[1:] }}", "[x<y z]>"},
		{"{{ v|length }}{{ v == 'x<y z' }}", "5True"},
		{"{{ (v ~ '\n' ~ v)|indent(1, true) }}", " [x<y z]\n [x<y z]"},
		{"{{ v.partition('<')|join }}{{ v|title }}", "[x<y zX<Y Z]"},
		{"{{ v|center(7) }}{{ v|truncate(3, true, leeway=0) }}", " [x<y z] ..."},
		{"{{ v|d('a') }}{{ ''|d(v, true) }}{{ v|first }}{{ v|last }}", "[x<y zx<y zxz]"},
		{"{{ 'a' * 2 }}{{ v * 2 }}{{ [v, 'a']|sort|join }}", "aa[x<y zx<y z]a[x<y z]"},
	}
	for _, test := range tests {
		template, err := Parse(test.template)
		if err != nil {
			t.Fatal(err)
		}
		r, err := template.Render(t.Context(), map[string]Value{"v": From("x<y z", 1)})
		if err != nil {
			t.Errorf("%s: %v", test.template, err)
			continue
		}
		var b strings.Builder
		for s, o := range r.Text.Spans {
			if o.Outside() {
				s = "[" + s + "]"
			}
			b.WriteString(s)
		}
		if b.String() != test.want {
			t.Errorf("%s: got %s, want %s", test.template, b.String(), test.want)
		}
	}
}
