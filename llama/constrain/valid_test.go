package constrain_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var documents = flag.Int("documents", 3, "documents that TestValid writes for each schema and way of drawing")

// ourSchema is a schema of testdata/schemas.jsonl, which has all keywords.
type ourSchema struct {
	Name    string          `json:"name"`
	Bounded bool            `json:"bounded"` // all documents are short, so that any way of drawing comes to an end
	Schema  json.RawMessage `json:"schema"`
}

func ourSchemas(t testing.TB) (list []*ourSchema) {
	t.Helper()
	f, err := os.Open("testdata/schemas.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		s := new(ourSchema)
		if err := json.Unmarshal(lines.Bytes(), s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// mostUnsupportedOfOurs is how many of our schemas may be refused with an UnsupportedError. It only ever falls.
const mostUnsupportedOfOurs = 1

// longDocument is the number of tokens after which a document is brought to its end, and endlessDocument the number after which a document
// counts as endless, for a schema with short documents only.
const (
	longDocument    = 60
	endlessDocument = 1500
)

// TestValid draws documents at random from what constraints allow, and lets a validator judge them that shares nothing with this module.
func TestValid(t *testing.T) {
	tokenizer := pebbleTokenizer(t)
	refused := 0
	for _, s := range ourSchemas(t) {
		t.Run(s.Name, func(t *testing.T) {
			judge := validator(t, s.Schema)
			constraint, err := constrain.JSONSchema(tokenizer, s.Schema)
			var unsupported *constrain.UnsupportedError
			if errors.As(err, &unsupported) {
				refused++
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, draw := range drawings {
				if name == "never ends" && !s.Bounded {
					continue
				}
				for seed := range uint64(*documents) {
					w := newWriter(tokenizer, seed)
					text, ended, err := w.write(constraint, draw)
					if err == nil && !ended && s.Bounded {
						err = fmt.Errorf("no end after %d tokens", endlessDocument)
					}
					if err == nil && ended {
						err = judge(text)
					}
					if err != nil {
						t.Fatalf("%s, seed %d: %v\n%s", name, seed, err, text)
					}
				}
			}
		})
	}
	if refused > mostUnsupportedOfOurs {
		t.Errorf("%d of our schemas are refused, want at most %d", refused, mostUnsupportedOfOurs)
	}
}

// drawings are ways of choosing the next token among those that are allowed. at counts the tokens of the document.
var drawings = map[string]func(w *writer, at int) (t llama.Token, end bool){
	// Any token, and at the end the end.
	"uniform": func(w *writer, at int) (llama.Token, bool) {
		if n := w.members(); n > 0 && !(w.set.End() && w.random.IntN(8) == 0) {
			return w.nth(w.random.IntN(n)), false
		}
		return 0, true
	},
	// The longest of a few tokens.
	"long tokens": func(w *writer, at int) (llama.Token, bool) {
		n := w.members()
		if n == 0 || w.set.End() {
			return 0, true
		}
		best, length := llama.Token(0), -1
		for range 12 {
			t := w.nth(w.random.IntN(n))
			if l := len(w.tokenizer.AppendBytes(nil, t)); l > length {
				best, length = t, l
			}
		}
		return best, false
	},
	// Structure: a token that is punctuation if there is one, which gives empty strings, nesting, and escapes.
	"punctuation": func(w *writer, at int) (llama.Token, bool) {
		n := w.members()
		if n == 0 || w.set.End() && w.random.IntN(3) == 0 {
			return 0, true
		}
		for range 30 {
			t := w.nth(w.random.IntN(n))
			if b := w.tokenizer.AppendBytes(nil, t); bytes.ContainsAny(b, `"{}[],:\`) {
				return t, false
			}
		}
		return w.nth(w.random.IntN(n)), false
	},
	// Never the end, and no closing sign, as long as there is anything else.
	"never ends": func(w *writer, at int) (llama.Token, bool) {
		n := w.members()
		if n == 0 {
			return 0, true
		}
		for range 30 {
			t := w.nth(w.random.IntN(n))
			if b := w.tokenizer.AppendBytes(nil, t); !bytes.ContainsAny(b, `"}]`) {
				return t, false
			}
		}
		return w.nth(w.random.IntN(n)), false
	},
}

// writer writes documents that a constraint allows, without a model.
type writer struct {
	tokenizer *llama.Tokenizer
	set       *llama.TokenSet
	random    *rand.Rand
	tokens    []llama.Token // of the document that was drawn last
}

func newWriter(t *llama.Tokenizer, seed uint64) *writer {
	return &writer{t, llama.NewTokenSet(t.VocabSize()), rand.New(rand.NewPCG(seed, 7)), nil}
}

// write draws a document. A long one is brought to its end with tokens that close something; ended is false if that takes too
// long.
func (w *writer) write(c llama.Constraint, draw func(w *writer, at int) (llama.Token, bool)) (text []byte, ended bool, err error) {
	m := c.Start()
	w.tokens = nil
	for at := range endlessDocument {
		if err := m.Allowed(w.set); err != nil {
			return text, false, err
		}
		if !w.set.End() && w.members() == 0 {
			return text, false, errors.New("stuck: no token is allowed, nor the end")
		}
		t, end := draw(w, at)
		if at >= longDocument {
			t, end = w.closing()
		}
		if end {
			return text, true, nil
		}
		if err := m.Accept(t); err != nil {
			return text, false, fmt.Errorf("token %d %q is allowed, and then refused: %w", t, w.tokenizer.Text(t), err)
		}
		text = w.tokenizer.AppendBytes(text, t)
		w.tokens = append(w.tokens, t)
	}
	return text, false, nil
}

// closing returns the end if it is allowed, else a token that closes something if one is soon found, else any.
func (w *writer) closing() (llama.Token, bool) {
	if w.set.End() {
		return 0, true
	}
	for _, sign := range []string{`"`, `<|"|>`, "}", "]", "null", "1", "0"} {
		if t, ok := w.tokenizer.ID(sign); ok && w.set.Has(t) && w.random.IntN(8) > 0 {
			return t, false
		}
	}
	return w.nth(w.random.IntN(w.members())), false
}

func (w *writer) members() (n int) {
	for _, word := range w.set.Words() {
		n += bits.OnesCount64(word)
	}
	return n
}

// nth returns the n-th token of the set, counted from 0.
func (w *writer) nth(n int) llama.Token {
	for i, word := range w.set.Words() {
		if c := bits.OnesCount64(word); n >= c {
			n -= c
			continue
		}
		for ; n > 0; n-- {
			word &= word - 1
		}
		return llama.Token(64*i + bits.TrailingZeros64(word))
	}
	panic("the set has fewer tokens")
}

// validator is newValidator for a schema that is right.
func validator(t testing.TB, schema []byte) func(text []byte) error {
	t.Helper()
	judge, err := newValidator(schema)
	if err != nil {
		t.Fatal(err)
	}
	return judge
}

// newValidator returns a function that judges documents: they are JSON in UTF-8 and fit the schema. A name that the schema lists comes
// at most once in an object. Of another the last counts, as parsers have it.
func newValidator(schema []byte) (judge func(text []byte) error, err error) {
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	collectListed(decoded, listed)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) { return regexp.Compile(asGo(pattern)) })
	if err := compiler.AddResource("file:///schema.json", decoded); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile("file:///schema.json")
	if err != nil {
		return nil, err
	}
	return func(text []byte) error {
		if !utf8.Valid(text) {
			return errors.New("not UTF-8")
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber() // a number may be larger than a float64
		document, err := readNode(d)
		if err != nil {
			return err
		}
		if _, err := d.Token(); err != io.EOF {
			return errors.New("more than one value")
		}
		if name, ok := document.again(listed); ok {
			return fmt.Errorf("the name %q comes twice", name)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		return compiled.Validate(value)
	}, nil
}

// asGo writes a pattern of ECMA-262 in the syntax of package regexp, which has other characters in \s and in the dot. What that syntax lacks
// stays, as an error.
func asGo(pattern string) string {
	const space = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	var b strings.Builder
	for class := false; pattern != ""; {
		n := 1
		switch c := pattern[0]; {
		case c == '\\' && len(pattern) > 1:
			n = 2
			switch {
			case pattern[1] == 's' && class:
				b.WriteString(space)
			case pattern[1] == 's':
				b.WriteString("[" + space + "]")
			case pattern[1] == 'S' && !class:
				b.WriteString("[^" + space + "]")
			case pattern[1] == 'S':
				b.WriteString(`\u`) // no escape of Go's
			case pattern[1] == 'u' && len(pattern) >= 6:
				n = 6
				b.WriteString(`\x{` + pattern[2:6] + "}")
			default:
				b.WriteString(pattern[:2])
			}
		case c == '.' && !class:
			b.WriteString(`[^\n\r\x{2028}\x{2029}]`)
		default:
			if c == '[' && class {
				b.WriteByte('\\') // or it begins a class by name
			}
			class = c == '[' || class && c != ']'
			b.WriteByte(c)
		}
		pattern = pattern[n:]
	}
	return b.String()
}

// collectListed collects the names that a schema lists: those of properties, and those that are required.
func collectListed(schema any, listed map[string]bool) {
	switch s := schema.(type) {
	case map[string]any:
		if properties, ok := s["properties"].(map[string]any); ok {
			for name := range properties {
				listed[name] = true
			}
		}
		if required, ok := s["required"].([]any); ok {
			for _, name := range required {
				if name, ok := name.(string); ok {
					listed[name] = true
				}
			}
		}
		for _, part := range s {
			collectListed(part, listed)
		}
	case []any:
		for _, part := range s {
			collectListed(part, listed)
		}
	}
}

// TestValidatorJudges makes sure that the judge of the other tests refuses invalid documents.
func TestValidatorJudges(t *testing.T) {
	judge := validator(t, []byte(`{"type":"object","properties":{"d":{"type":"string","format":"date"}},"required":["d"]}`))
	for text, right := range map[string]bool{
		`{"d":"2024-02-29"}`: true, `{"d":"2023-02-29"}`: false, `{"d":"2024-02-29","d":"2024-02-29"}`: false, `{}`: false, `{"d":"2024-02-29"`: false,
		`{"d":"2024-02-29"}{}`: false, `{"d":"2024-02-29","x":"` + "\xff" + `"}`: false, `{"d":"2024-02-29","x":[{"y":1,"y":1}]}`: true,
		`{"d":"2024-02-29","x":[{"d":1,"d":1}]}`: false,
	} {
		if err := judge([]byte(text)); (err == nil) != right {
			t.Errorf("%s: %v", text, err)
		}
	}
	last := validator(t, []byte(`{"minProperties":2,"additionalProperties":{"type":"array","maxItems":1}}`))
	for text, right := range map[string]bool{
		`{"a":[],"b":[]}`: true, `{"a":[],"b":[],"a":[1]}`: true, `{"a":[],"a":[]}`: false, `{"a":[],"b":[],"a":[1,2]}`: false,
	} {
		if err := last([]byte(text)); (err == nil) != right {
			t.Errorf("%s: %v", text, err)
		}
	}
	spaces := validator(t, []byte(`{"pattern":"^\\s[\\s.]\\u00e9.$"}`))
	for text, right := range map[string]bool{`"\u3000 éx"`: true, `"\ufeff.éx"`: true, `"\u200b éx"`: false, `" xéx"`: false, `"  é\u2028"`: false} {
		if err := spaces([]byte(text)); (err == nil) != right {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, s := range ourSchemas(t) {
		if judge := validator(t, s.Schema); s.Bounded && judge([]byte(`{"nothing":{"of":"the kind"}}`)) == nil {
			t.Errorf("%s fits anything: %s", s.Name, strings.TrimSpace(string(s.Schema)))
		}
	}
}
