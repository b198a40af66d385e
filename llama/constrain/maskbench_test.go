package constrain_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

var everySchema = flag.Int("maskbench", 200, "TestMaskBench takes every n-th schema of MaskBench")

// maskBench is the file of MaskBench's schemas. It need not exist.
const maskBench = "../../../shared/fixtures/maskbench.jsonl.gz"

// TestMaskBench lets a validator that shares nothing with this module judge, for schemas as people write them, documents that are drawn
// from a constraint, and lets the constraint judge MaskBench's documents and small changes of them, and must accept no text that the
// validator refuses. (Whether it accepts what the validator accepts depends on the order of members, and is examples/tools/maskbench's
// matter.)
func TestMaskBench(t *testing.T) {
	effort.Turn(t, 8)
	f, err := os.Open(maskBench)
	if err != nil {
		t.Skip("MaskBench is not in the repository: ", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	tokenizer := pebbleTokenizer(t)
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<24)
	compiled, drawn, unfinished, changed, wrong := 0, 0, 0, 0, 0
	for number := 0; lines.Scan(); number++ {
		if number%*everySchema != *everySchema/2 {
			continue
		}
		var s struct {
			ID     string
			Schema json.RawMessage
			Tests  []struct {
				Valid bool
				Data  json.RawMessage
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		constraint, err := constrain.JSONSchema(tokenizer, s.Schema)
		var unsupported *constrain.UnsupportedError
		if errors.As(err, &unsupported) {
			continue
		}
		if err != nil {
			for _, test := range s.Tests {
				if test.Valid { // otherwise no value may fit the schema, as the error says
					t.Errorf("%s: %v", s.ID, err)
					break
				}
			}
			continue
		}
		judge, err := newValidator(s.Schema)
		if err != nil {
			continue // a mistake in the schema, or a pattern that Go does not know
		}
		compiled++
		for name, draw := range drawings {
			if name == "never ends" {
				continue
			}
			text, ended, err := newWriter(tokenizer, uint64(number)).write(constraint, draw)
			if err == nil && ended {
				drawn++
				err = judge(text)
			} else if err == nil {
				unfinished++
			}
			if err != nil {
				t.Errorf("%s, %s: %v\n%s", s.ID, name, err, text)
			}
		}
		random := rand.New(rand.NewPCG(uint64(number), 3))
		for _, c := range s.Tests {
			for range 6 {
				text := changedDocument(t, c.Data, random)
				changed++
				if judge(text) == nil {
					continue
				}
				wrong++
				if letsThrough(tokenizer, constraint, string(text)) {
					t.Errorf("%s: accepts\n%s\n%v", s.ID, text, judge(text))
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d schemas, %d documents drawn, %d unfinished, %d of %d changed documents must be refused", compiled, drawn, unfinished, wrong, changed)
}

// changedDocument returns a document with one value in it changed, and its members in their order.
func changedDocument(t testing.TB, data json.RawMessage, random *rand.Rand) []byte {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	root, err := readNode(d)
	if err != nil {
		t.Fatal(err)
	}
	var all []*node
	root.collect(&all)
	all[random.IntN(len(all))].change(random)
	return root.append(nil)
}

// node is a JSON value with its members in order.
type node struct {
	names []string // of an object's values
	list  []*node  // of an object or an array
	kind  byte     // '{', '[', or 0 for a value that text holds
	text  string
}

func readNode(d *json.Decoder) (*node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	bracket, ok := token.(json.Delim)
	if !ok {
		if s, ok := token.(string); ok {
			return &node{text: quoted(s, false)}, nil
		}
		text, err := json.Marshal(token)
		return &node{text: string(text)}, err
	}
	n := &node{kind: byte(bracket)}
	for d.More() {
		if n.kind == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			n.names = append(n.names, name.(string))
		}
		value, err := readNode(d)
		if err != nil {
			return nil, err
		}
		n.list = append(n.list, value)
	}
	_, err = d.Token()
	return n, err
}

func (n *node) collect(all *[]*node) {
	*all = append(*all, n)
	for _, value := range n.list {
		value.collect(all)
	}
}

// again returns one of the names that comes twice in an object.
func (n *node) again(names map[string]bool) (name string, ok bool) {
	for i, value := range n.list {
		if n.kind == '{' && names[n.names[i]] && slices.Contains(n.names[:i], n.names[i]) {
			return n.names[i], true
		}
		if name, ok := value.again(names); ok {
			return name, true
		}
	}
	return "", false
}

func (n *node) append(dst []byte) []byte {
	if n.kind == 0 {
		return append(dst, n.text...)
	}
	dst = append(dst, n.kind)
	for i, value := range n.list {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if n.kind == '{' {
			dst = append(append(dst, quoted(n.names[i], false)...), ": "...)
		}
		dst = value.append(dst)
	}
	return append(dst, n.kind+2) // } and ] come two after { and [
}

// change changes a value: its kind, its contents, or how many it has of them.
func (n *node) change(random *rand.Rand) {
	values := []string{"null", "true", "0", "-1", "3.5", "1e3", "1.0", "99999999999", `""`, `"x"`, `"2020-02-30"`, `"\u00e9\ud83d\ude00"`, "[]", "{}", "[null]", `{"x":1}`}
	i := random.IntN(len(n.list) + 1)
	switch how := random.IntN(6); {
	case how == 0 || len(n.list) == 0 && n.kind != 0 && how < 3:
		*n = node{text: values[random.IntN(len(values))]}
	case n.kind == 0 && n.text[0] == '"':
		var s string
		if json.Unmarshal([]byte(n.text), &s) != nil {
			return
		}
		r := []rune(s)
		at := random.IntN(len(r) + 1)
		switch {
		case how == 1:
			r = append(r, r...)
		case how == 2 || at == len(r):
			r = slices.Insert(r, at, []rune("aZ0 -_/\"\u00e9")[random.IntN(9)])
		case how == 3:
			r = slices.Delete(r, at, at+1)
		default:
			r[at] = []rune("bY9.:@+\\\u4e00")[random.IntN(9)]
		}
		n.text = quoted(string(r), false)
	case n.kind == 0:
		if x, err := strconv.ParseFloat(n.text, 64); err == nil {
			n.text = strconv.FormatFloat([]float64{-x, x + 1, x - 1, x / 2, x * 1000, x + 0.5}[how], 'f', -1, 64)
		} else {
			n.text = values[random.IntN(len(values))]
		}
	case i < len(n.list) && how < 3: // leave one out
		n.list = slices.Delete(n.list, i, i+1)
		if n.kind == '{' {
			n.names = slices.Delete(n.names, i, i+1)
		}
	case n.kind == '[' && len(n.list) > 0 && how < 5:
		n.list = append(n.list, n.list[random.IntN(len(n.list))])
	case n.kind == '[':
		n.list = append(n.list, &node{text: values[random.IntN(len(values))]})
	case i < len(n.list) && how < 5 && !slices.Contains(n.names, n.names[i]+"x"): // another name
		n.names[i] += "x"
	case !slices.Contains(n.names, "another"):
		n.names, n.list = append(n.names, "another"), append(n.list, &node{text: values[random.IntN(len(values))]})
	}
}
