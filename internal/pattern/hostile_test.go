package pattern_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/pattern"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// Patterns that take other engines exponential time, or much memory, end soon: as an expression that can be walked through, or as
// an error.
func TestHostile(t *testing.T) {
	const bytes = 100 << 20
	x := strings.Repeat
	sources := map[string]string{
		"exponential automaton":  `(a|b)*a(a|b){30}`,
		"exponential backtrack":  `^(a+a+)+b$`,
		"counts in counts":       `^(((a{1000}){1000}){1000})$`,
		"counts somewhere":       `(((a{1000}){1000}){1000})`,
		"huge count":             `^a{0,99999999999999999999}$`,
		"counted options":        `^(a?){30000}a{30000}$`,
		"deep groups":            x("(", 100_000) + "a" + x(")", 100_000),
		"deep groups, open":      x("(", 100_000),
		"deep classes":           x("[", 100_000),
		"a megabyte":             x("a", 1<<20),
		"long text":              "^" + x("a", 100_000) + "$",
		"many classes":           x("[ab]", 30_000),
		"many options":           x("a?", 60_000),
		"many starred":           x("a*", 60_000),
		"many alternatives":      x("a|b|", 30_000),
		"different alternatives": "^(" + strings.Join(strings.Fields(x("ab abc abcd b ba bab ", 500)), "|c") + ")*$",
		"starred options":        "^(" + x("[ab]?", 5_000) + ")*$",
		"many look-aheads":       "^" + x("(?=.*a)(?!.*b{3})", 500) + ".*",
		"nested look-aheads":     "^" + x("(?=(?!a.*", 100) + "b" + x("))", 100),
		"repeated look-ahead":    "^((?=.*a)[ab]|(?=.*b)[ab]){1000}$",
		"boundaries in loops":    `^((\b[a-z]+\b\s*|\B-){1,50}[^a]\b)*$`,
		"looped boundaries":      "^" + x(`(\b\w+`, 20) + x(`\b)*`, 20) + "$",
		"lines in counts":        "(?m)^((^a$|b|\\n){100}){100}$",
		"many kinds before":      "^(" + x(`(?<=a)b|(?<=c)d|(?<=e)f|(?<=g)h|(?<=i)j|(?<=k)l|(?<=m)n|`, 10) + "a)*$",
		"all properties":         x(`[\p{L}\P{Nd}][^\p{Lu}]\p{Script=Han}`, 200),
		"folded":                 "(?i)" + x(`[^a-z]\w`, 2_000),
		"nested options":         x("(a", 400) + x(")?", 400),
		"nested stars":           x("(a", 400) + x(")*", 400),
		"doubled":                x("(", 60) + "a|b" + x("){2}", 60),
		"doubled look-aheads":    x("(", 60) + "(?=a)a|b" + x("){2}", 60),
	}
	for i, name := range slices.Sorted(maps.Keys(sources)) {
		if !effort.Share(i, 4) {
			continue
		}
		source := sources[name]
		for _, syntax := range []struct {
			name  string
			parse func(*regular.Arena, pattern.Alphabet, string) (regular.Expr, error)
		}{{"ECMA", pattern.ECMA}, {"RE2", pattern.RE2}} {
			r := jsonexpr.New().Arena
			began := cost.Seconds()
			e, err := syntax.parse(r, pattern.JSON, source)
			if err == nil {
				for i := range 400 {
					e = r.Next(e, "ab"[i*i%7%2])
				}
				err = r.Err()
			}
			var wrong *pattern.Error
			if err != nil && !errors.Is(err, regular.ErrTooComplex) && !errors.As(err, &wrong) {
				t.Errorf("%s, %s: %v", name, syntax.name, err)
			}
			if units := cost.InUnits(cost.Seconds() - began); units > 10 || r.Bytes() > bytes {
				t.Errorf("%s, %s: %.1f units of processor time, %d bytes, %v", name, syntax.name, units, r.Bytes(), err)
			}
		}
	}
}
