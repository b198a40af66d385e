package constrain_test

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

var patience = flag.Duration("patience", 20*time.Second, "most time that TestHostile lets one input take; a machine with nothing else to do needs 1s")

// mostHostileBytes is by how much an input may make the heap grow, garbage included.
const mostHostileBytes = 256 << 20

// hostile is an input that asks for more than it looks like.
type hostile struct {
	name  string
	input string
}

// rep repeats a text.
func rep(n int, s string) string { return strings.Repeat(s, n) }

// numbered repeats a text, the i-th time with i, counted from 0, in place of §, and i+1 in place of §+.
func numbered(n int, separator, s string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ReplaceAll(strings.ReplaceAll(s, "§+", fmt.Sprint(i+1)), "§", fmt.Sprint(i))
	}
	return strings.Join(list, separator)
}

// within puts patterns into schemas.
func within(patterns []hostile) (list []hostile) {
	for _, p := range patterns {
		list = append(list, hostile{"pattern " + p.name, fmt.Sprintf(`{"type":"string","pattern":%s}`, quoted(p.input, false))})
	}
	return list
}

var hostilePatterns = []hostile{
	{"nested counts", `^((a{1000}){1000}){1000}$`},
	{"counts side by side", `^a{0,1000}b{0,1000}a{0,1000}b{0,1000}$`},
	{"overlapping counts", `^(a|aa){0,1000}(a|aa){0,1000}$`},
	{"a huge count", `^a{4294967296}$`},
	{"an inverted count", `^a{5,3}$`},
	{"2³⁰ states of a DFA", `^(a|b)*a(a|b){30}$`},
	{"2⁵⁰⁰ states of a DFA", `^(a|b)*a(a|b){500}$`},
	{"stars of anything", `^` + rep(50, `(.*)`) + `$`},
	{"stars of anything with letters", `^` + rep(200, `.*a`) + `$`},
	{"nested stars", `^` + rep(500, `(`) + `a` + rep(500, `*)`) + `$`},
	{"evil pluses", `^(x+x+)+y$`},
	{"optional, then not", `^(a?){500}a{500}$`},
	{"long alternation", `^(` + numbered(20000, "|", "word§") + `)*$`},
	{"alternations in a row", `^` + rep(30, `(a|ab|abc|b|bc|c)*`) + `$`},
	{"letters of all scripts", `^\p{L}{1,1000}\P{L}{1,1000}$`},
	{"deep parentheses", rep(100000, `(`) + `a` + rep(100000, `)`)},
	{"unclosed parentheses", rep(1000, `(`)},
	{"an empty class", `^[^\s\S]$`},
	{"look-aheads", `^` + numbered(26, "", `(?=.*x§)`) + `.{8,}$`},
	{"look-ahead in a star", `^((?=a.*b)a|b)*$`},
	{"look-behind", `^.*(?<=a)(?<!b)$`},
	{"back reference", `^(a*)\1$`},
	{"word boundaries", `^(\b\w+\b ?)*$`},
	{"a long text", `^` + rep(1<<20, "a") + `$`},
	{"searched", rep(40, `[ab]*a[ab]{20}`)},
}

var hostileSchemas = append([]hostile{
	{"minLength 2⁶³", `{"type":"string","minLength":9223372036854775808}`},
	{"minLength 2⁶⁴", `{"type":"string","minLength":18446744073709551616}`},
	{"minLength 1e400", `{"type":"string","minLength":1e400}`},
	{"negative maxLength", `{"type":"string","maxLength":-1}`},
	{"maxLength 2⁶³", `{"type":"string","maxLength":9223372036854775808}`},
	{"lengths of millions", `{"type":"string","minLength":1000000,"maxLength":9000000,"pattern":"^(ab|c)*$"}`},
	{"minItems 2⁶³", `{"type":"array","minItems":9223372036854775808}`},
	{"a billion items", `{"type":"array","minItems":1000000000,"maxItems":1000000001,"items":{"type":"null"}}`},
	{"a billion properties", `{"type":"object","minProperties":1000000000}`},
	{"thousands of properties of one letter", `{"type":"object","minProperties":2000,"propertyNames":{"pattern":"^[a-z]$"}}`},
	{"millions that contain", `{"type":"array","contains":{"const":1},"minContains":1000000,"maxContains":2000000}`},
	{"contains within contains", rep(30, `{"type":"array","minContains":2,"contains":`) + `true` + rep(30, `}`)},
	{"many that contain", `{"type":"array","allOf":[` + numbered(64, ",", `{"contains":{"const":§}}`) + `]}`},
	{"unique of many", `{"type":"array","uniqueItems":true,"minItems":900,"items":{"enum":[` + numbered(1000, ",", "§") + `]}}`},
	{"unique of anything", `{"type":"array","uniqueItems":true,"minItems":3}`},
	{"bounds of a million digits", `{"type":"number","minimum":` + rep(1000000, "9") + `}`},
	{"a bound of 1e400000000", `{"type":"number","minimum":1e400000000}`},
	{"a bound of 1e-400000000", `{"type":"number","minimum":1e-400000000}`},
	{"a bound of 1e99999999999999999999", `{"type":"integer","maximum":1e99999999999999999999}`},
	{"a multiple of 1e-400000000", `{"type":"number","multipleOf":1e-400000000}`},
	{"a multiple of zero", `{"type":"number","multipleOf":0}`},
	{"a multiple of a large prime", `{"type":"integer","multipleOf":1000000007}`},
	{"multiples of many primes", `{"type":"integer","allOf":[{"multipleOf":9973},{"multipleOf":9967},{"multipleOf":9949},{"multipleOf":9941}]}`},
	{"not multiples of primes", `{"type":"integer","minimum":1,"not":{"anyOf":[{"multipleOf":97},{"multipleOf":89},{"multipleOf":83},{"multipleOf":79},{"multipleOf":73}]}}`},
	{"a ref to itself", `{"$ref":"#"}`},
	{"refs in a circle", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`},
	{"allOf itself", `{"allOf":[{"$ref":"#"}]}`},
	{"anyOf itself", `{"anyOf":[{"$ref":"#"},{"type":"null"}]}`},
	{"oneOf itself", `{"oneOf":[{"$ref":"#"},{"type":"null"}]}`},
	{"not itself", `{"not":{"$ref":"#"}}`},
	{"if itself", `{"if":{"$ref":"#"},"then":{"type":"null"},"else":{"type":"string"}}`},
	{"no end", `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`},
	{"no end by turns", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/b"},"minItems":1},"b":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"]}}}`},
	{"intersections that grow", `{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"properties":{"x":{"$ref":"#/$defs/a"}}},{"properties":{"x":{"$ref":"#/$defs/b"}}}]},"b":{"allOf":[{"$ref":"#/$defs/a"},{"properties":{"x":{"$ref":"#/$defs/b"},"y":{"$ref":"#/$defs/a"}}}]}}}`},
	{"a ref outwards", `{"$ref":"http://example.com/x"}`},
	{"a ref to a file", `{"$ref":"file:///etc/passwd"}`},
	{"a ref nowhere", `{"$ref":"#/$defs/x/y~2/%zz"}`},
	{"2⁵⁰ tuples by refs", `{"$ref":"#/$defs/d0","$defs":{"d50":{"type":"null"},` + numbered(50, ",", `"d§":{"type":"array","prefixItems":[{"$ref":"#/$defs/d§+"},{"$ref":"#/$defs/d§+"}],"minItems":2,"items":false}`) + `}}`},
	{"2⁵⁰ intersections by refs", `{"$ref":"#/$defs/d0","$defs":{"d50":{"type":"null"},` + numbered(50, ",", `"d§":{"allOf":[{"$ref":"#/$defs/d§+"},{"$ref":"#/$defs/d§+"}]}`) + `}}`},
	{"2⁵⁰ alternatives by refs", `{"$ref":"#/$defs/d0","$defs":{"d50":{"type":"null"},` + numbered(50, ",", `"d§":{"anyOf":[{"$ref":"#/$defs/d§+"},{"type":"array","items":{"$ref":"#/$defs/d§+"}}]}`) + `}}`},
	{"a const within itself", `{"const":{},"if":{"$ref":"#"}}`},
	{"a const within its dependents", `{"const":{"a":1},"dependentSchemas":{"a":{"$ref":"#"}}}`},
	{"an enum within its dependencies", `{"enum":[{"a":1}],"dependencies":{"a":{"allOf":[{"$ref":"#"}]}}}`},
	{"2⁴⁰ ways to a const by allOf", `{"const":{},"$ref":"#/$defs/d0","$defs":{"d40":{},` + numbered(40, ",", `"d§":{"allOf":[{"$ref":"#/$defs/d§+"},{"$ref":"#/$defs/d§+","title":"t"}]}`) + `}}`},
	{"2⁴⁰ ways to a const by anyOf", `{"const":{},"$ref":"#/$defs/d0","$defs":{"d40":{},` + numbered(40, ",", `"d§":{"anyOf":[{"$ref":"#/$defs/d§+"},{"$ref":"#/$defs/d§+","title":"t"}]}`) + `}}`},
	{"3,000 objects", `{"enum":[` + numbered(3000, ",", `{"a":§}`) + `]}`},
	{"anyOf 2,000 objects", `{"anyOf":[` + numbered(2000, ",", `{"const":{"a":§}}`) + `]}`},
	{"8,000 anchors in a chain", `{"$ref":"#a0","$defs":{"e":{"$anchor":"a8000"},` + numbered(8000, ",", `"d§":{"$anchor":"a§","$ref":"#a§+"}`) + `}}`},
	{"members without names", `{"type":["object","null"],"propertyNames":false,"minProperties":1}`},
	{"members without names in two ways", `{"oneOf":[{"propertyNames":{"type":"number"}},{"anyOf":[{}],"propertyNames":{"type":"number"}}]}`},
	{"2²⁰ products", `{"type":"object","allOf":[` + numbered(20, ",", `{"anyOf":[{"properties":{"a§":{"type":"null"}},"required":["a§"]},{"properties":{"b§":{"type":"string"}},"required":["b§"]}]}`) + `]}`},
	{"2²⁰ conditions", `{"type":"object","allOf":[` + numbered(20, ",", `{"if":{"properties":{"a§":{"const":1}},"required":["a§"]},"then":{"required":["b§"]},"else":{"required":["c§"]}}`) + `]}`},
	{"nested conditions", rep(60, `{"if":{"type":"string"},"then":{"minLength":1},"else":`) + `{}` + rep(60, `}`)},
	{"nested negations", rep(999, `{"not":`) + `{"type":"null"}` + rep(999, `}`)},
	{"oneOf a thousand objects", `{"oneOf":[` + numbered(1000, ",", `{"type":"object","properties":{"kind":{"const":"k§"}},"required":["kind"]}`) + `]}`},
	{"oneOf a thousand patterns", `{"oneOf":[` + numbered(1000, ",", `{"type":"string","pattern":"a.*§"}`) + `]}`},
	{"anyOf a thousand objects", `{"anyOf":[` + numbered(1000, ",", `{"type":"object","properties":{"p§":{"type":"string"},"q":{"minLength":§}}}`) + `]}`},
	{"many patterns of names", `{"type":"object","patternProperties":{` + numbered(200, ",", `"a.*§":{"maxLength":§}`) + `}}`},
	{"requires a hundred unknown names", `{"type":"object","required":[` + numbered(100, ",", `"r§"`) + `]}`},
	{"requires 100,000 names", `{"type":"object","required":[` + numbered(100000, ",", `"r§"`) + `]}`},
	{"100,000 optional properties", `{"type":"object","properties":{` + numbered(100000, ",", `"p§":{"type":"null"}`) + `}}`},
	{"properties that depend on each other", `{"type":"object","dependentRequired":{` + numbered(60, ",", `"p§":["p§+"]`) + `}}`},
	{"an enum of 10 MB", `{"enum":[` + numbered(600000, ",", `"the word §"`) + `]}`},
	{"an enum of one text of 10 MB", `{"enum":["` + rep(10<<20, "x") + `"]}`},
	{"a const of 2 MB of brackets", `{"const":` + rep(9000, "[") + rep(9000, "]") + `}`},
	{"100,000 arrays", rep(100000, `{"items":`) + `{}` + rep(100000, `}`)},
	{"5,000 arrays", rep(5000, `{"type":"array","items":`) + `{}` + rep(5000, `}`)},
	{"5,000 allOfs", rep(4000, `{"allOf":[`) + `{}` + rep(4000, `]}`)},
	{"unevaluated of anyOfs", `{"type":"object","unevaluatedProperties":false,"anyOf":[` + numbered(40, ",", `{"properties":{"u§":{"type":"null"}}}`) + `]}`},
	{"uneven types", `{"type":[` + rep(5000, `"string",`) + `"null"]}`},
	{"not a schema", `[]`}, {"not JSON", `{"type":`}, {"nothing", ``}, {"two schemas", `{} {}`}, {"no UTF-8", "{\"const\":\"\xff\xfe\"}"},
	{"half a surrogate", `{"const":"\ud800"}`}, {"a zero", `{"const":"\u0000"}`}, {"a type of no kind", `{"type":{}}`},
}, within(hostilePatterns)...)

var hostileGrammars = []hostile{
	{"left recursion", `root ::= root "a" | "b"`},
	{"left recursion by turns", "root ::= x \"a\" | \"b\"\nx ::= root \"c\" | \"d\""},
	{"hidden left recursion", "root ::= e root \"a\" | \"b\"\ne ::= \"x\" | \"\""},
	{"itself", `root ::= root`},
	{"circle", "root ::= a\na ::= b\nb ::= root"},
	{"no end", `root ::= "a" root`},
	{"stars of nothing", `root ::= ((("")*)*)* "a"`},
	{"empty repetitions", `root ::= (""{1000}){1000} "a"?`},
	{"ambiguous", `root ::= root root | "a" | ""`},
	{"ambiguous in two ways", "root ::= s\ns ::= s s s | s s | \"a\""},
	{"the same on both sides", `root ::= "a" root "a" | "a"`},
	{"palindromes", `root ::= "a" root "a" | "b" root "b" | "" | [ab]`},
	{"a huge count", `root ::= "a"{1000000000}`},
	{"a count of 2⁶⁴", `root ::= "a"{18446744073709551616}`},
	{"nested counts", `root ::= (("a"{1000}){1000}){1000}`},
	{"nested counts of a choice", `root ::= ((("a" | "b" root?){0,1000}){0,1000}){0,1000}`},
	{"2⁶⁰ letters", "root ::= s0\ns60 ::= \"a\"\n" + numbered(60, "\n", "s§ ::= s§+ s§+")},
	{"2⁶⁰ choices", "root ::= s0\ns60 ::= \"a\" | \"b\"\n" + numbered(60, "\n", "s§ ::= s§+ s§+ | s§+")},
	{"100,000 rules", "root ::= r0\nr100000 ::= \"z\"\n" + numbered(100000, "\n", "r§ ::= \"a\" r§+ | r§+")},
	{"100,000 alternatives", "root ::= " + numbered(100000, " | ", `"w§" root`)},
	{"deep parentheses", "root ::= " + rep(100000, "(") + `"a"` + rep(100000, ")")},
	{"a literal of 10 MB", `root ::= "` + rep(10<<20, "x") + `"`},
	{"no root", `a ::= "b"`},
	{"an undefined rule", `root ::= x`},
	{"a class of nothing", `root ::= [^\x00-\U0010FFFF]`},
	{"a class upside down", `root ::= [z-a]`},
	{"no UTF-8", "root ::= \"\xff\xfe\" [\xff]"},
	{"unclosed", `root ::= "a`}, {"unclosed class", `root ::= [a`}, {"unclosed count", `root ::= "a"{3`}, {"nothing", ``}, {"an escape too long", `root ::= "\UFFFFFFFF"`},
}

var hostileRegexps = append([]hostile{
	{"nested counts of Go", `(a{1000}){1000}{1000}`}, {"no UTF-8", "a\xff"}, {"unclosed class", `[a`}, {"nothing", ``}, {"only an end", `$^`},
	{"a class of nothing", `[^\x00-\x{10FFFF}]`}, {"lines", `(?m)(^a$\n)*`}, {"counts that overlap", `^(a|aa){0,1000}(a|aa){1000}0`},
	{"no boundary there", ` \b `}, {"all cases", `(?i)(k|ſ|ß|ı){1,900}`},
}, hostilePatterns...)

// TestHostile gives inputs that ask for too much: each has to end in an error or in a constraint with which a few tokens can be
// drawn.
func TestHostile(t *testing.T) {
	effort.Turn(t, 8)
	tokenizer := pebbleTokenizer(t)
	for _, kind := range []struct {
		name   string
		inputs []hostile
		make   func(input string) (llama.Constraint, error)
	}{
		{"schema", hostileSchemas, func(s string) (llama.Constraint, error) { return constrain.JSONSchema(tokenizer, []byte(s)) }},
		{"grammar", hostileGrammars, func(s string) (llama.Constraint, error) { return constrain.Grammar(tokenizer, s) }},
		{"regexp", hostileRegexps, func(s string) (llama.Constraint, error) { return constrain.Regexp(tokenizer, s) }},
	} {
		for i, h := range kind.inputs {
			if !effort.Share(i, 5) {
				continue
			}
			t.Run(kind.name+"/"+h.name, func(t *testing.T) {
				guarded(t, func() error {
					return compileAndWalk(t, tokenizer, func() (llama.Constraint, error) { return kind.make(h.input) })
				})
			})
		}
	}
	for name, options := range map[string][]string{
		"none": {}, "an empty one": {""}, "no UTF-8": {"\xff", "a\xc3"}, "the same twice": {"a", "a"}, "beginnings": {"a", "ab", "abc", ""},
		"half a million": strings.Split(numbered(500000, ",", "option §"), ","), "one of 10 MB": {rep(10<<20, "y")},
	} {
		t.Run("choice/"+name, func(t *testing.T) {
			guarded(t, func() error {
				return compileAndWalk(t, tokenizer, func() (llama.Constraint, error) { return constrain.Choice(tokenizer, options...) })
			})
		})
	}
}

// compileAndWalk makes a constraint and, if it can be made, draws the first tokens of some documents.
func compileAndWalk(t testing.TB, tokenizer *llama.Tokenizer, compile func() (llama.Constraint, error)) error {
	began := time.Now()
	constraint, err := compile()
	if err != nil {
		if constraint != nil {
			return errors.New("a constraint and an error")
		}
		t.Logf("%v: %.200v", time.Since(began).Round(time.Microsecond), err)
		return nil
	}
	t.Logf("%v: a constraint", time.Since(began).Round(time.Microsecond))
	for seed := range uint64(3) {
		if _, err := walk(newWriter(tokenizer, seed), constraint, 25); err != nil {
			return err
		}
	}
	return nil
}

// walk draws up to some tokens of a document and returns its text. Errors are contradictions.
func walk(w *writer, c llama.Constraint, steps int) (text []byte, err error) {
	m := c.Start()
	for range steps {
		if err := m.Allowed(w.set); err != nil {
			return text, fmt.Errorf("after %q: %w", text, err)
		}
		n := w.members()
		if n == 0 && !w.set.End() {
			return text, fmt.Errorf("after %q: stuck", text)
		}
		if n == 0 {
			return text, nil
		}
		for i, f := range m.Forced(nil) {
			if i == 0 && (w.set.End() || !w.set.Has(f)) {
				return text, fmt.Errorf("after %q: %q is forced, and not the only way on", text, w.tokenizer.Text(f))
			}
		}
		token := w.nth(w.random.IntN(n))
		if err := m.Clone().Accept(token); err != nil {
			return text, fmt.Errorf("after %q: %q is allowed, and a clone refuses it: %w", text, w.tokenizer.Text(token), err)
		}
		if err := m.Accept(token); err != nil {
			return text, fmt.Errorf("after %q: %q is allowed, and refused: %w", text, w.tokenizer.Text(token), err)
		}
		text = w.tokenizer.AppendBytes(text, token)
	}
	return text, nil
}

// guarded calls do and watches its time and the heap. It ends the program where either has no end, since nothing else would end do.
func guarded(t *testing.T, do func() error) {
	t.Helper()
	runtime.GC()
	before := heapBytes()
	var most atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			grown := heapBytes() - before
			most.Store(max(most.Load(), grown))
			if took := time.Since(began); took > 3**patience || grown > 8*mostHostileBytes {
				panic(fmt.Sprintf("%s: no end after %v and %d MB", t.Name(), took, grown>>20))
			}
		}
	}()
	err := do()
	took := time.Since(began)
	close(stop)
	<-stopped
	switch {
	case err != nil:
		t.Error(err)
	case took > *patience:
		t.Errorf("it took %v", took)
	case most.Load() > mostHostileBytes:
		t.Errorf("the heap grew by %d MB", most.Load()>>20)
	}
	if grown := most.Load(); took > 500*time.Millisecond || grown > 64<<20 {
		t.Logf("%v, %d MB", took, grown>>20)
	}
}

func heapBytes() int64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
