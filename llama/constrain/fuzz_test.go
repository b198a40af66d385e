package constrain_test

import (
	"bytes"
	"regexp"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// longSeed is the length from which on an input is not used as a seed of a fuzz target: long inputs take long.
const longSeed = 1000

// soon ends the program if a test takes too long: then the fuzzer prints the input.
func soon(t *testing.T) {
	timer := time.AfterFunc(*patience, func() { panic("no end") })
	t.Cleanup(func() { timer.Stop() })
}

// ends draws a document of a constraint, and returns it if it came to an end soon.
func ends(t *testing.T, tokenizer *llama.Tokenizer, c llama.Constraint, seed uint64) (text []byte, ended bool) {
	w := newWriter(tokenizer, seed)
	text, err := walk(w, c, 12)
	if err != nil {
		t.Fatal(err)
	}
	m := c.Start()
	text = text[:0]
	for range 40 {
		if err := m.Allowed(w.set); err != nil {
			t.Fatal(err)
		}
		if w.set.End() {
			return text, true
		}
		token, _ := w.closing()
		if err := m.Accept(token); err != nil {
			t.Fatalf("after %q: %q is allowed, and refused: %v", text, w.tokenizer.Text(token), err)
		}
		text = w.tokenizer.AppendBytes(text, token)
	}
	return text, false
}

// FuzzJSONSchema makes constraints of arbitrary schemas and draws documents of them, which have to fit.
func FuzzJSONSchema(f *testing.F) {
	tokenizer := pebbleTokenizer(f)
	for _, s := range ourSchemas(f) {
		f.Add([]byte(s.Schema), uint64(1))
	}
	for _, h := range hostileSchemas {
		if len(h.input) < longSeed {
			f.Add([]byte(h.input), uint64(1))
		}
	}
	f.Fuzz(func(t *testing.T, schema []byte, seed uint64) {
		soon(t)
		c, err := constrain.JSONSchema(tokenizer, schema)
		if err != nil {
			return
		}
		if text, ended := ends(t, tokenizer, c, seed); ended {
			judge := fuzzedValidator(schema)
			if judge == nil {
				return
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err == nil {
				err = judge.Validate(value)
			}
			if err != nil {
				t.Errorf("%s\n%s: %v", schema, text, err)
			}
		}
	})
}

// overflowing are numbers that the validator cannot take for a count.
var overflowing = regexp.MustCompile(`[0-9]{18}|[0-9][eE]`)

// fuzzedValidator returns the validator of a schema, or nil if the validator cannot judge it: it knows Go's patterns and not ECMA's, loads
// other schemas, and counts up to 2⁶³.
func fuzzedValidator(schema []byte) *jsonschema.Schema {
	if !utf8.Valid(schema) || overflowing.Match(schema) {
		return nil
	}
	for _, word := range []string{"attern", "$", "format", `\`} {
		if bytes.Contains(schema, []byte(word)) {
			return nil
		}
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil
	}
	compiler := jsonschema.NewCompiler()
	if compiler.AddResource("file:///schema.json", decoded) != nil {
		return nil
	}
	judge, err := compiler.Compile("file:///schema.json")
	if err != nil {
		return nil
	}
	return judge
}

func FuzzGrammar(f *testing.F) {
	tokenizer := pebbleTokenizer(f)
	for _, h := range hostileGrammars {
		if len(h.input) < longSeed {
			f.Add(h.input, uint64(1))
		}
	}
	f.Add("root ::= (expr \"=\" term \"\\n\")+\nexpr ::= term ([-+*/] term)*\nterm ::= [0-9]+ | \"(\" expr \")\" # a term", uint64(1))
	f.Add(`root ::= "\x41\u00e9\U0001F600" [^"\\\x00-\x1f]{2,5} .`, uint64(1))
	f.Fuzz(func(t *testing.T, grammar string, seed uint64) {
		soon(t)
		if c, err := constrain.Grammar(tokenizer, grammar); err == nil {
			ends(t, tokenizer, c, seed)
		}
	})
}

// FuzzRegexp draws texts that match arbitrary expressions, and lets package regexp judge them.
func FuzzRegexp(f *testing.F) {
	tokenizer := pebbleTokenizer(f)
	for _, h := range hostileRegexps {
		if len(h.input) < longSeed {
			f.Add(h.input, uint64(1))
		}
	}
	f.Add(`(?i)yes|no(?-i: way)?\d{2,3}[[:alpha:]\pL]*`, uint64(1))
	f.Fuzz(func(t *testing.T, expr string, seed uint64) {
		soon(t)
		c, err := constrain.Regexp(tokenizer, expr)
		if err != nil {
			return
		}
		judge, err := regexp.Compile(`\A(?:` + expr + `)\z`)
		if err != nil {
			t.Fatalf("%q: %v", expr, err)
		}
		if text, ended := ends(t, tokenizer, c, seed); ended && !judge.Match(text) {
			t.Errorf("%q does not match %q", text, expr)
		}
	})
}
