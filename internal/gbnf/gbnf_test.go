package gbnf

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// machine compiles a grammar.
func machine(source string) (*grammar.Machine, error) {
	g := grammar.New(jsonexpr.New().Arena)
	var err error
	if g.Start, err = Compile(source, g, tokens); err != nil {
		return nil, err
	}
	m := grammar.NewMachine(g)
	return m, m.Err()
}

// tokens knows two tokens.
func tokens(written string) (string, error) {
	switch written {
	case "<think>", "<[1000]>":
		return "\xff\x00\x03\xe8", nil
	case "</think>", "<[1001]>":
		return "\xff\x00\x03\xe9", nil
	}
	return "", errors.New("there is no such token")
}

// matches reports whether text belongs to the grammar.
func matches(m *grammar.Machine, text string) bool {
	s := m.Start()
	for i := range len(text) {
		s = m.Next(s, text[i])
	}
	return m.Accepts(s)
}

// The examples that come with llama.cpp.
func TestExamples(t *testing.T) {
	for name, texts := range map[string]struct{ yes, no []string }{
		"json": {
			[]string{`{}`, `{"a":1}`, `{ "a": [1, -2.5e+1, {"b\"\u00e9": null}], "c":"é😀" }`, "{\n\t\"a\":\n  true\n}"},
			[]string{``, `[]`, `{"a"}`, `{"a":01}`, `{"a":"` + "\n" + `"}`, `{"a":"\x"}`, `{"a":1,}`, `{"a":1}}`, "{\"a\":\"\xff\"}", "{\"a\":\"\xed\xa0\x80\"}"},
		},
		"json_arr":   {[]string{"[\n]", "[\n1,\n{\"a\":[2]}]"}, []string{"[]", "[\n1] ", "[\n1,2]"}},
		"arithmetic": {[]string{"a = 1\n", "( a +2) *b_1=3\n1=x\n"}, []string{"a = \n", "(a=1\n", "A=1\n", "a=1"}},
		"chess":      {[]string{"1. e4 e5\n2. Nf3 Nc6\n", "1. e4 d5\n2. exd5 Qxd5+\n13. O-O-O e8=Q#\n"}, []string{"1. e4 e5\n", "2. e4 e5\n1. e4 e5\n", "1. e9 e5\n2. e4 e5\n"}},
		"list":       {[]string{"- a\n", "- é b\n- c\n"}, []string{"", "- \n", "-a\n", "- a", "- a\u0085\n", "- a\u2028\n"}},
		"japanese":   {[]string{"こんにちは", "日本 カタカナ、\nあ"}, []string{"", "a", "あ ", " あ"}},
		"english":    {[]string{"Hello, world!", `a\]^b`, "a\nb"}, []string{"é", " a", "a  b"}},
		"c": {
			[]string{"", "int main(){return 1+f(x,\n2)*-(\t3\t);}", "float f(char c){for(i = 0; i<3; i = i+1){/* * / **x*/x = 1;}}", "int f(){//x\nif(a==b){}else{while(a<b){f ();}}}"},
			[]string{"int main(){return 1+;}", "int main(){return 1;", "int 1(){}", "int f(){x = (1;}", "int f(){if(a){}}"},
		},
	} {
		source, err := os.ReadFile(filepath.Join("testdata", name+".gbnf"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := machine(string(source))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, list := range [][]string{texts.yes, texts.no} {
			for _, text := range list {
				if got := matches(m, text); got != (i == 0) {
					t.Errorf("%s: %q: %v", name, text, got)
				}
			}
		}
		if m.Err() != nil || m.Len() > 3000 || m.Bytes() > 4<<20 {
			t.Errorf("%s: %d states, %d bytes, %v", name, m.Len(), m.Bytes(), m.Err())
		}
	}
}

func TestSyntax(t *testing.T) {
	for _, c := range []struct {
		source  string
		yes, no []string
	}{
		{`root ::= "a" "" "\x41\u00e9\U0001F600\t\n\r\"\\\[\]"`, []string{"aAé😀\t\n\r\"\\[]"}, []string{"a"}},
		{"root::=\"a\nb\"", []string{"a\nb"}, nil},
		{"\n# first\n\troot ::= # a\n  x | # b\n\n  y#c\nx ::= \"x\"\r\ny ::= (\n\"y\" # d\n\n \"z\"\n)\n# end", []string{"x", "yz"}, []string{"y"}},
		{`root ::= [a-c-] [-x] [^^a] [\]\-\\]`, []string{"axb]", "--c-", `c-c\`}, []string{"d--]", "ay--", "ax^-", "axa-"}},
		{`root ::= .`, []string{"a", "\n", "é", "\U0010FFFF", "\x00"}, []string{"", "ab", "\xff", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80"}},
		{`root ::= [\u0080-\U0010FFFF]`, []string{"\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010FFFF"}, []string{"\x7f", "\xed\xa0\x80"}},
		{`root ::= [^é-\u2028]`, []string{"a", "è", "\u2029", "😀"}, []string{"é", "ê", "\u07ff", "\u0800", "\u2028"}},
		{`root ::= "ab"{2} "c"{1,} "d"{0,2} "e"{ 1 , 2 }?`, []string{"ababc", "ababcccdde", "ababcee"}, []string{"ab", "abab", "ababcddd", "ababceee"}},
		{`root ::= ("a" root "b"){0,2}`, []string{"", "ab", "abab", "aabb", "aababb"}, []string{"ababab", "aabababb", "a"}},
		{`root ::= "(" (root ","){2,3} ")" | ""`, []string{"", "(,,)", "(,,,)", "((,,),,)"}, []string{"(,)", "(,,,,)", "(,,"}},
		{`root ::= (root2 ","){2,}` + "\n" + `root2 ::= "(" root2 ")" | "x"`, []string{"x,x,", "x,(x),x,x,"}, []string{"x,", "x,x"}},
		{`root ::= "a"?+ | "b"**`, []string{"", "aa", "bb"}, []string{"ab"}},
		{`root ::= "a"{0} ("a" root)?`, []string{"", "aaa"}, []string{"b"}},
		{"root ::= ws \"x\" ws\nws ::= ([ \\t] ws)?", []string{"x", "  x\t "}, []string{"y", ""}},
		{"root ::= ( | \"a\" ) ()", []string{"", "a"}, []string{"b"}},
		{ // as llama.cpp writes a JSON schema
			`char ::= [^"\\\x7F\x00-\x1F] | [\\] (["\\bfnrt] | "u" [0-9a-fA-F]{4})
item ::= "{" space item-name-kv "," space item-age-kv "}" space
item-age ::= ([0-9] | ([1-8] [0-9] | [9] [0-9]) | "1" ([0-4] [0-9] | [5] "0")) space
item-age-kv ::= "\"age\"" space ":" space item-age
item-name ::= "\"" char{1,10} "\"" space
item-name-kv ::= "\"name\"" space ":" space item-name
root ::= "[" space item ("," space item){1,3} "]" space
space ::= | " " | "\n" [ \t]{0,20}`,
			[]string{`[{"name": "Ada \"L\"", "age": 36}, {"name":"é", "age": 150 }]`},
			[]string{`[{"name": "Ada", "age": 36}]`, `[{"name": "", "age": 3}, {"name":"é", "age": 5}]`, `[{"name": "A", "age": 3}, {"name":"é", "age": 151}]`, `[{"name": "A2345678901", "age": 3}, {"name":"é", "age": 1}]`},
		},
		{"root ::= A-b_1\nA-b_1 ::= \"x\"", []string{"x"}, nil},
		{"root ::= <think> !</think>* </think> \"a\" | <[1001]> !<think>+", []string{"\xff\x00\x03\xe8é?\xff\x00\x03\xe9a", "\xff\x00\x03\xe8\xff\x00\x03\xe9a", "\xff\x00\x03\xe9x"}, []string{"\xff\x00\x03\xe9", "\xff\x00\x03\xe8\xff\x00\x03\xe8\xff\x00\x03\xe9a"}},
	} {
		m, err := machine(c.source)
		if err != nil {
			t.Errorf("%q: %v", c.source, err)
			continue
		}
		for i, list := range [][]string{c.yes, c.no} {
			for _, text := range list {
				if got := matches(m, text); got != (i == 0) {
					t.Errorf("%q: %q: %v", c.source, text, got)
				}
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for source, want := range map[string]string{
		"":                                     "there is no rule root",
		"start ::= \"a\"":                      "there is no rule root",
		"root ::= a":                           "line 1, column 10: the rule a is not defined",
		"root ::= \"é\" é":                     "line 1, column 14: found 'é', want a part of the rule root, or a line break",
		"root ::= \"a\"\nroot ::= \"b\"":       "line 2, column 1: the rule root is defined twice",
		"root ::= \"a":                         `line 1, column 10: the text has no " at its end`,
		"root ::= [a":                          "the set has no ] at its end",
		"root ::= [a-":                         "the set has no ] at its end",
		"root ::= []":                          "no character is in the set",
		"root ::= [^\\x00-\\U0010FFFF]":        "no character is in the set",
		"root ::= [z-a]":                       "the range from 'z' to 'a' ends before it begins",
		"root ::= \"\\q\"":                     "line 1, column 11: unknown escape",
		"root ::= \"\\x1\"":                    `the escape \x wants 2 hexadecimal digits`,
		"root ::= \"\\ud800\"":                 `\ud800 is no character of Unicode`,
		"root ::= \"\\UFFFFFFFF\"":             `\UFFFFFFFF is no character of Unicode`,
		"root ::= \"\xff\"":                    "the byte 0xff is not UTF-8",
		"root ::= \"a\\":                       "a character behind the backslash",
		"root = \"a\"":                         "line 1, column 6: found '=', want ::= behind the name root",
		"root ::= (\"a\"\nb ::= \"c\"":         "line 2, column 3: found ':', want a part, | or )",
		"root ::= \"a\" )":                     "found ')'",
		"root ::= \"a\"\n | \"b\"":             "line 2, column 2: found '|', want the name of a rule",
		"root ::= *":                           "* has nothing to repeat before it",
		"root ::= \"a\" | +":                   "+ has nothing to repeat before it",
		"root ::= \"a\"{}":                     "found '}', want a number of repetitions",
		"root ::= \"a\"{,2}":                   "found ',', want a number of repetitions",
		"root ::= \"a\"{2":                     "found the end, want }",
		"root ::= \"a\"{3,2}":                  "at least 3 repetitions and at most 2",
		"root ::= \"a\"{18446744073709551616}": "18446744073709551616 repetitions: want at most 1000000",
		"root ::= root \"a\" | \"b\"":          "line 1, column 10: left recursion, root → root",
		"root ::= a\na ::= ws b\nb ::= [x]* a \"y\" | \"z\"\nws ::= \" \"?": "left recursion, a → b → a",
		"root ::= (\"a\"? root)* \"b\"":                                     "left recursion, root → root",
		"root ::= root?":                                                    "left recursion, root → root",
		"root ::= a | \"x\"\na ::= \"(\" a \")\"":                           "line 2, column 1: the rule a can never end",
		"root ::= a\na ::= \"x\" b\nb ::= a \"y\"":                          "can never end",
		"root ::= <no>":                                                     "line 1, column 10: the token <no>: there is no such token",
		"root ::= <think":                                                   "want a token here",
		"root ::= !\"a\"":                                                   "want a token here",
		"root ::= !<think> \"a\"":                                           "!<think>: any token but this one is supported only with * or + behind it",
		"root ::= (\"a\" root? \"b\" | \"\"){0,2000}":                       "2000 repetitions of what may be empty",
		strings.Repeat("(", 1000):                                           "want the name of a rule",
		"root ::= " + strings.Repeat("(", 100_000):                          "more than 500 parentheses in each other",
		"root ::= \"a\"" + strings.Repeat("*", 100_000):                     "repetitions of repetitions",
		"root ::= " + strings.Repeat("a", 201):                              "a name of 201 bytes",
		strings.Repeat("#", 2<<20):                                          "2097152 bytes: want at most 1048576",
	} {
		_, err := machine(source)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", source, err, want)
		}
	}
	g := grammar.New(regular.New())
	if _, err := Compile("root ::= <think>", g, nil); err == nil || !strings.Contains(err.Error(), "tokens are not supported here") {
		t.Error(err)
	}
}

// What does not nest is one expression, and strings are the same expression wherever they stand.
func TestExpressions(t *testing.T) {
	for source, want := range map[string]int{
		"root ::= a b\na ::= \"a\" | \"c\"\nb ::= a+ [0-9]*":                            0,
		"root ::= ws [a-z]+ ws\nws ::= ([ \\n] ws)?":                                    0,
		"root ::= \"x\" root | \"y\"":                                                   0,
		"root ::= \"(\" root \")\" | \"y\"":                                             1,
		"root ::= a\na ::= \"x\" a \"y\" | \"\"\nunused ::= \"(\" unused \")\" | \"y\"": 2,
	} {
		g := grammar.New(regular.New())
		if _, err := Compile(source, g, nil); err != nil || g.Len() != want {
			t.Errorf("%q: %d rules, %v, want %d", source, g.Len(), err, want)
		}
	}
	m, err := machine("root ::= \"<\" string \",\" string \">\" | \"[\" root \"]\"\nstring ::= quote [^\"]* quote ws\nquote ::= [\"]\nws ::= \" \"*")
	if err != nil {
		t.Fatal(err)
	}
	rest := func(text string) regular.Expr {
		s := m.Start()
		for i := range len(text) {
			s = m.Next(s, text[i])
		}
		if threads := m.Threads(s); len(threads) == 1 {
			return threads[0].Rest
		}
		t.Fatalf("%q: not one way to read it", text)
		return regular.None
	}
	if one := rest(`<"a`); one != rest(`<"a",  "b`[:5]+`"b`) || one != rest(`[[<"`) {
		t.Error("strings differ")
	}
}

// Grammars that would take exponential time or memory, or any, end in an error or stay small.
func TestHostile(t *testing.T) {
	chain := func(n int, body, last string) string {
		var b strings.Builder
		b.WriteString("root ::= r0\n")
		for i := range n {
			fmt.Fprintf(&b, "r%d ::= "+strings.ReplaceAll(body, "X", fmt.Sprintf("r%d", i+1))+"\n", i)
		}
		fmt.Fprintf(&b, "r%d ::= %s\n", n, last)
		return b.String()
	}
	words := func(n int, between string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s\"w%d\"", between, i)
		}
		return b.String()[len(between):]
	}
	sources := map[string]string{
		"doubling":           chain(60, "X X", `"a"`),
		"doubling empties":   chain(60, "X X", `"a"?`),
		"doubling choices":   chain(60, "X \"a\" | X \"b\"", `"a"`),
		"nested doubling":    chain(60, "X X | \"(\" r0 \")\"", `"a"`),
		"deep":               chain(8_000, "\"a\" X", `"b"`),
		"deep choices":       chain(8_000, "\"a\" | X", `"b"`),
		"deep and nested":    chain(8_000, "\"a\" X \"c\" | r1 \"x\"", `"b" r1 "d"`),
		"deep and long":      chain(19_000, "base \"a\" X", `"b" base`) + "base ::= " + words(3000, " | "),
		"many rules":         chain(19_990, "base | \"(\" X \")\"", `"b"`) + "base ::= " + words(3000, " | "),
		"a long choice":      "root ::= " + words(60_000, " | "),
		"a long sequence":    "root ::= " + words(60_000, " "),
		"optional parts":     "root ::= " + strings.ReplaceAll(words(20_000, " "), " ", "? "),
		"counts of counts":   `root ::= (("a"{0,1000000} "b"?){1000000} "c"?){1000000}`,
		"nested counts":      `root ::= ((("(" root ")"){0,1000000} "b"){1000000} "c"?){1000000}`,
		"empties of empties": `root ::= ((("(" root ")")? "b"?){0,1000} "c"?){0,1000}`,
		"ambiguous":          `root ::= ("a" | "a" root "a" | "aa")*`,
		"many sets":          "root ::= " + strings.Repeat("[^a\\u1234]? [\\u0100-\\U0010F000]* ", 10_000),
		"parentheses":        "root ::= " + strings.Repeat("(", 500) + `"a" root?` + strings.Repeat(")*", 500),
		"loops of loops":     "root ::= " + strings.Repeat("(", 500) + `"a"` + strings.Repeat(`* "b")*`, 500),
		"many alternatives":  "root ::= x" + strings.Repeat(" | x", 200_000) + "\nx ::= \"(\" root \")\" | \"y\"",
	}
	for i, name := range slices.Sorted(maps.Keys(sources)) {
		if !effort.Share(i, 4) {
			continue
		}
		source := sources[name]
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			states, size, err := 0, 0, error(nil)
			units := cost.Units(func() {
				m, failed := machine(source)
				if err = failed; err == nil {
					matches(m, "aaaaaaaaw0w1w2(((aaaabb)))w17")
					states, size, err = m.Len(), m.Bytes(), m.Err()
				}
			})
			runtime.ReadMemStats(&after)
			if err != nil {
				err = fmt.Errorf("%.100s", err)
			}
			t.Logf("%.1f units of processor time, %d MB allocated, %d states of %d kB, %v", units, (after.TotalAlloc-before.TotalAlloc)>>20, states, size>>10, err)
			if units > 20 || after.TotalAlloc-before.TotalAlloc > 256<<20 {
				t.Error("that is too much")
			}
		})
	}
}

// reference decides by trying all ways whether a text belongs to a grammar.
type reference struct {
	rules []rule
	arena *regular.Arena
	text  string
	known map[place][]bool
}

type place struct {
	node *node
	at   int
}

// ends returns the places at which a text of n that begins at a place may end.
func (r *reference) ends(n *node, at int) []bool {
	if ends, ok := r.known[place{n, at}]; ok {
		return ends
	}
	ends := make([]bool, len(r.text)+1)
	join := func(more []bool) {
		for i, ok := range more {
			ends[i] = ends[i] || ok
		}
	}
	behind := func(from []bool, n *node) []bool {
		all := make([]bool, len(r.text)+1)
		for i, ok := range from {
			if ok {
				for j, ok := range r.ends(n, i) {
					all[j] = all[j] || ok
				}
			}
		}
		return all
	}
	here := make([]bool, len(r.text)+1)
	here[at] = true
	switch n.kind {
	case text:
		e := n.expr
		for i := at; ; i++ {
			if r.arena.Nullable(e) {
				ends[i] = true
			}
			if i == len(r.text) {
				break
			}
			e = r.arena.Next(e, r.text[i])
		}
	case ref:
		join(r.ends(r.rules[n.rule].body, at))
	case sequence:
		for _, part := range n.parts {
			here = behind(here, part)
		}
		join(here)
	case choice:
		for _, part := range n.parts {
			join(r.ends(part, at))
		}
	case repeat:
		for times := 0; times <= n.most || n.most == regular.Unbounded && times <= n.least+len(r.text)+1; times++ {
			if times >= n.least {
				join(here)
			}
			here = behind(here, n.parts[0])
		}
	}
	r.known[place{n, at}] = ends
	return ends
}

// randomPart returns the source of a part of a random rule.
func randomPart(rng *rand.Rand, depth int) string {
	if depth == 0 || rng.IntN(3) == 0 {
		return []string{`"a"`, `"b"`, `"ab"`, `[ac]`, `[^a]`, `""`, "root", "x", "y", "x", "y", "z"}[rng.IntN(12)]
	}
	a, b := randomPart(rng, depth-1), randomPart(rng, depth-1)
	switch rng.IntN(5) {
	case 0:
		return "(" + a + " | " + b + ")"
	case 1:
		return "(" + a + ")" + []string{"*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}"}[rng.IntN(7)]
	}
	return a + " " + b
}

// Compiled grammars accept what trying all ways accepts.
func TestRandomGrammars(t *testing.T) {
	effort.Turn(t, 8)
	var texts []string
	for n, last := 0, []string{""}; n <= 5; n++ {
		texts = append(texts, last...)
		var longer []string
		for _, s := range last {
			longer = append(longer, s+"a", s+"b", s+"c")
		}
		last = longer
	}
	rng := rand.New(rand.NewPCG(1, 2))
	tried, nested := 0, 0
	for tried < 150 {
		var source string
		for _, name := range []string{"root", "x", "y", "z"} {
			source += name + " ::= " + randomPart(rng, 3) + " | " + randomPart(rng, 2) + "\n"
		}
		g := grammar.New(jsonexpr.New().Arena)
		start, err := Compile(source, g, nil)
		if err != nil {
			if !strings.Contains(err.Error(), "left recursion") && !strings.Contains(err.Error(), "never end") {
				t.Fatalf("%s%v", source, err)
			}
			continue
		}
		tried++
		if g.Start = start; g.Len() > 0 {
			nested++
		}
		m := grammar.NewMachine(g)
		p := &parser{source: source, arena: regular.New(), names: map[string]int{}}
		if err := p.parse(); err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if i > 150 && rng.IntN(4) > 0 {
				continue
			}
			r := reference{p.rules, p.arena, text, map[place][]bool{}}
			if got, want := matches(m, text), r.ends(p.rules[p.names["root"]].body, 0)[len(text)]; got != want {
				t.Fatalf("%s%q: %v, want %v", source, text, got, want)
			}
		}
		if m.Err() != nil {
			t.Fatalf("%s%v", source, m.Err())
		}
	}
	if nested < tried/4 {
		t.Errorf("only %d of %d grammars nest", nested, tried)
	}
}

func FuzzCompile(f *testing.F) {
	files, err := filepath.Glob("testdata/*.gbnf")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source), "{\"a\": [1]}")
	}
	f.Add("root ::= (\"a\" | [^b-c\\x00]{2,3} root2?)+ # c\nroot2 ::= \"(\" root \")\" | <[1000]> !<think>*", "a(b)")
	f.Fuzz(func(t *testing.T, source, text string) {
		m, err := machine(source)
		if err != nil {
			return
		}
		s := m.Start()
		for i := 0; i < min(len(text), 50) && m.Err() == nil; i++ {
			next := m.Next(s, text[i])
			if first := m.First(s); m.Err() == nil && (next != grammar.Dead) != first.Has(text[i]) {
				t.Fatalf("%q: %q: First is wrong", source, text[:i+1])
			}
			s = next
		}
	})
}
