package constrain_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// suiteGroup is a schema of the official JSON-Schema-Test-Suite, and documents with the verdict on each.
type suiteGroup struct {
	File        string          `json:"file"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []suiteCase     `json:"tests"`
}

type suiteCase struct {
	Description string          `json:"description"`
	Data        json.RawMessage `json:"data"`
	Valid       bool            `json:"valid"`
}

// suiteExceptions says which groups of the suite are not run, by their file or by file and description, and why.
var suiteExceptions = map[string]string{
	"draft2020-12/format":                   "says that a format is a remark; a constraint promises it",
	"draft7/format":                         "says that a format is a remark; a constraint promises it",
	"draft2020-12/vocabulary":               "a schema that is not fetched says which keywords count; a constraint keeps all",
	"draft7/optional/content":               "what a text encodes is a remark, as later drafts have it",
	"draft2020-12/optional/float-overflow":  "multiples are written without an exponent, and with fewer than 300 digits",
	"draft7/optional/float-overflow":        "multiples are written without an exponent, and with fewer than 300 digits",
	"draft2020-12/optional/bignum: integer": digitsOfFloats,
	"draft2020-12/optional/bignum: number":  digitsOfFloats,
	"draft7/optional/bignum: integer":       digitsOfFloats,
	"draft7/optional/bignum: number":        digitsOfFloats,
}

const digitsOfFloats = "a number without bounds has no more digits than a float64 tells apart"

// mostUnsupported is how many groups of the suite at most may be refused with an UnsupportedError. It only ever falls.
const mostUnsupported = 57

// mostBeyondFormats is how many documents at most may be refused that are of a format: a constraint writes less than what the RFCs
// allow, as internal/pattern says for each format. Three of them have numbers of more than nine digits. It only ever falls.
const mostBeyondFormats = 91

// TestSuite compares the verdicts of constraints with those of the official suite. A valid document has to be accepted in one order of its
// members and one way of writing its numbers: a constraint writes many members in the schema's order only, and 1.0 may be 1. An invalid
// document must be refused however it is written.
func TestSuite(t *testing.T) {
	tokenizer := pebbleTokenizer(t)
	refused, beyond, groups, tests := map[string]int{}, map[string]int{}, 0, 0
	for g := range suite(t) {
		if suiteExceptions[g.File] != "" || suiteExceptions[g.File+": "+g.Description] != "" {
			continue
		}
		if groups++; !effort.Share(groups, 3) {
			continue
		}
		constraint, err := constrain.JSONSchema(tokenizer, inDraft(g.File, g.Schema))
		var unsupported *constrain.UnsupportedError
		if errors.As(err, &unsupported) {
			refused[unsupported.Keyword]++
			if testing.Verbose() {
				t.Logf("%s: %s: %v", g.File, g.Description, err)
			}
			continue
		}
		if err != nil {
			if slices.ContainsFunc(g.Tests, func(c suiteCase) bool { return c.Valid }) { // else nothing fits, which is an error of its own
				t.Errorf("%s: %s: %v\n%s", g.File, g.Description, err, g.Schema)
			}
			continue
		}
		for _, c := range g.Tests {
			tests++
			accepted := ""
			for text := range writings(t, c.Data) {
				if letsThrough(tokenizer, constraint, text) {
					accepted = text
					break
				}
			}
			if _, format, ok := strings.Cut(g.File, "/optional/format/"); ok && c.Valid && accepted == "" {
				beyond[format]++
				continue
			}
			if (accepted != "") != c.Valid {
				t.Errorf("%s: %s: %s: %s is to be valid: %v; accepted %q\n%s", g.File, g.Description, c.Description, c.Data, c.Valid, accepted, g.Schema)
			}
		}
	}
	if total := logCounts(t, "groups are refused for", refused); total > mostUnsupported {
		t.Errorf("%d of %d groups are refused, want at most %d", total, groups, mostUnsupported)
	}
	if total := logCounts(t, "documents are refused that are of the format", beyond); total > mostBeyondFormats {
		t.Errorf("%d of %d documents are refused that are of their format, want at most %d", total, tests, mostBeyondFormats)
	}
}

// logCounts logs counts, the largest first, and returns their sum.
func logCounts(t *testing.T, what string, counts map[string]int) (total int) {
	for _, k := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	}) {
		total += counts[k]
		t.Logf("%4d %s %s", counts[k], what, k)
	}
	return total
}

func suite(t *testing.T) iter.Seq[*suiteGroup] {
	f, err := os.Open(fixture.Path(t, "jsonschema/suite.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(*suiteGroup) bool) {
		lines := bufio.NewScanner(z)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			g := new(suiteGroup)
			if err := json.Unmarshal(lines.Bytes(), g); err != nil {
				t.Fatal(err)
			}
			if !yield(g) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// inDraft adds the draft to a schema that does not name one, unless it is written for the newest.
func inDraft(file string, schema json.RawMessage) []byte {
	if members, ok := bytes.CutPrefix(bytes.TrimSpace(schema), []byte("{")); ok && strings.HasPrefix(file, "draft7/") && !bytes.Contains(schema, []byte(`"$schema"`)) {
		comma := ","
		if bytes.Equal(bytes.TrimSpace(members), []byte("}")) {
			comma = ""
		}
		return append([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#"`+comma), members...)
	}
	return schema
}

// letsThrough reports whether a constraint lets a text through to its end.
func letsThrough(t *llama.Tokenizer, c llama.Constraint, text string) bool {
	m := c.Start()
	for _, token := range t.Encode(text) {
		if m.Accept(token) != nil {
			return false
		}
	}
	set := llama.NewTokenSet(t.VocabSize())
	return m.Allowed(set) == nil && set.End()
}

// mostWritings is how many ways of writing a document are tried.
const mostWritings = 300

// writings ranges over ways of writing a document: as it stands; with its members in all orders, with numbers without a zero
// fraction, and with characters escaped.
func writings(t *testing.T, data json.RawMessage) iter.Seq[string] {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return func(yield func(string) bool) {
		if !yield(string(data)) {
			return
		}
		left := mostWritings
		for text := range written(value) {
			if left--; left < 0 || !yield(text) {
				return
			}
		}
	}
}

func written(value any) iter.Seq[string] {
	return func(yield func(string) bool) {
		switch v := value.(type) {
		case map[string]any:
			for names := range orders(slices.Sorted(maps.Keys(v))) {
				parts := make([]iter.Seq[string], len(names))
				for i, name := range names {
					parts[i] = written(v[name])
				}
				for texts := range product(parts) {
					for i, name := range names {
						texts[i] = quoted(name, false) + ":" + texts[i]
					}
					if !yield("{" + strings.Join(texts, ",") + "}") {
						return
					}
				}
			}
		case []any:
			parts := make([]iter.Seq[string], len(v))
			for i, element := range v {
				parts[i] = written(element)
			}
			for texts := range product(parts) {
				if !yield("[" + strings.Join(texts, ",") + "]") {
					return
				}
			}
		case string:
			_ = yield(quoted(v, false)) && yield(quoted(v, true))
		case json.Number:
			if !yield(v.String()) {
				return
			}
			if x, err := v.Float64(); err == nil && math.Abs(x) <= 1<<53 && x == math.Trunc(x) && strings.ContainsAny(v.String(), ".eE") {
				yield(strconv.FormatInt(int64(x), 10))
			}
		case bool:
			yield(strconv.FormatBool(v))
		default:
			yield("null")
		}
	}
}

// orders ranges over the permutations of a list.
func orders(list []string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		var permute func(done int) bool
		permute = func(done int) bool {
			if done == len(list) {
				return yield(list)
			}
			for i := done; i < len(list); i++ {
				list[done], list[i] = list[i], list[done]
				if !permute(done + 1) {
					return false
				}
				list[done], list[i] = list[i], list[done]
			}
			return true
		}
		permute(0)
	}
}

// product ranges over the lists that have an element of each part. A list is the caller's.
func product(parts []iter.Seq[string]) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		if len(parts) == 0 {
			yield(nil)
			return
		}
		for last := range parts[len(parts)-1] {
			for texts := range product(parts[:len(parts)-1]) {
				if !yield(append(texts, last)) {
					return
				}
			}
		}
	}
}

// quoted writes a string in JSON: with no character escaped that need not be, or with all escaped.
func quoted(s string, escaped bool) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case escaped || r < ' ':
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// TestWritings checks the ways in which a document is written.
func TestWritings(t *testing.T) {
	got := slices.Collect(writings(t, json.RawMessage(`{"b":1.0,"a":["é"]}`)))
	want := []string{
		`{"b":1.0,"a":["é"]}`,
		`{"a":["é"],"b":1.0}`, `{"a":["\u00e9"],"b":1.0}`, `{"a":["é"],"b":1}`, `{"a":["\u00e9"],"b":1}`,
		`{"b":1.0,"a":["é"]}`, `{"b":1,"a":["é"]}`, `{"b":1.0,"a":["\u00e9"]}`, `{"b":1,"a":["\u00e9"]}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
