package hub

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTreeIsPythons(t *testing.T) {
	data, err := os.ReadFile("testdata/tree.json")
	if err != nil {
		t.Fatal(err)
	}
	l, err := parseTree(data)
	if err != nil || len(l) != 6 || l["sub/x.gguf"].size != 2400 || len(l["sub/x.gguf"].lfs) != 64 || l["README.md"].lfs != "" {
		t.Fatalf("%v, %v", l, err)
	}
	again, err := l.marshal()
	if err != nil || !bytes.Equal(again, data) {
		t.Errorf("%v, written as\n%s\nwant\n%s", err, again, data)
	}
}

// FuzzListings looks at what hubs and caches may list: paths below a folder, names of blobs, and sizes.
func FuzzListings(f *testing.F) {
	f.Add([]byte(`[{"type":"file","path":"a/b.gguf","oid":"0123456789abcdef0123456789abcdef01234567","size":4,"lfs":{"oid":"","size":-1}},{"type":"directory"}]`))
	if data, err := os.ReadFile("testdata/tree.json"); err == nil {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		page := listing{}
		_ = page.addPage(bytes.NewReader(data))
		tree, err := parseTree(data)
		if err == nil {
			again, err := tree.marshal()
			if err != nil {
				t.Fatal(err)
			}
			if read, err := parseTree(again); err != nil || len(read) != len(tree) {
				t.Errorf("%v was written as %s: %v", tree, again, err)
			}
		}
		for _, l := range []listing{page, tree} {
			for path, e := range l {
				if path != e.path || !filepath.IsLocal(filepath.FromSlash(path)) || strings.Contains(path, `\`) || e.size < 0 || e.size > maxFileSize ||
					strings.Trim(e.sum().hex, "0123456789abcdef") != "" || len(e.sum().hex) != 40 && len(e.sum().hex) != 64 {
					t.Errorf("%+v", e)
				}
			}
			for _, r := range []reference{{}, {kind: "Q4_K_M"}, {file: "a/b.gguf"}} {
				if c, err := pick(l, &r); err == nil && (len(c.files) == 0 || c.path != "" && l[c.path].path == "") {
					t.Errorf("%+v picks %+v", r, c)
				}
			}
		}
	})
}

// FuzzJournals looks at what journals may say is there.
func FuzzJournals(f *testing.F) {
	f.Add([]byte(`{"version":"v","size":100,"have":[[0,10],[5,20],[90,100]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		have, err := parseJournal(data, "v", 100)
		if err != nil {
			return
		}
		last := int64(-1)
		for _, s := range have {
			if s.from <= last || s.to <= s.from || s.to > 100 {
				t.Fatalf("%s: %v", data, have)
			}
			last = s.to
		}
	})
}

// filesNamed makes a listing of files in Git.
func filesNamed(names ...string) listing {
	l := listing{}
	for _, name := range names {
		l[name] = entry{path: name, size: 1, blob: strings.Repeat("a", 40)}
	}
	return l
}

func TestPick(t *testing.T) {
	parts := []string{"m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf"}
	for _, c := range []struct {
		name  string
		files []string
		ref   reference
		want  string // the files, or what the error has after an exclamation mark
	}{
		{"one safetensors file", []string{"config.json", "model.safetensors", "tokenizer.json", "x.bin", "a.gguf"}, reference{}, "config.json tokenizer.json model.safetensors"},
		{"the whole file counts before an index, as in transformers", []string{"config.json", "model.safetensors", "model.safetensors.index.json"}, reference{}, "config.json model.safetensors"},
		{"no configuration", []string{"model.safetensors"}, reference{}, "!no config.json"},
		{"weights of other kinds", []string{"config.json", "pytorch_model.bin"}, reference{}, "!pytorch_model.bin, config.json"},
		{"nothing", nil, reference{}, "!it is empty"},
		{"an adapter", []string{"adapter_config.json", "adapter_model.safetensors", "tokenizer.json", "README.md"}, reference{}, "adapter_config.json adapter_model.safetensors"},
		{"a model beside an adapter", []string{"config.json", "model.safetensors", "adapter_config.json", "adapter_model.safetensors"}, reference{}, "config.json model.safetensors"},
		{"the only GGUF file", []string{"config.json", "a-q2_k.gguf"}, reference{}, "a-q2_k.gguf"},
		{"only parts", parts, reference{}, strings.Join(parts, " ")},
		{"the customary type", []string{"a-Q8_0.gguf", "a.q4_k_m.gguf", "mmproj-Q4_K_M.gguf", "imatrix.gguf"}, reference{}, "a.q4_k_m.gguf mmproj-Q4_K_M.gguf"},
		{"no customary type", []string{"a-Q8_0.gguf", "a-Q6_K.gguf"}, reference{}, "!as in :Q6_K or /a-Q6_K.gguf: a-Q6_K.gguf, a-Q8_0.gguf"},
		{"two of the customary type", []string{"a-Q4_K_M.gguf", "b-Q4_K_M.gguf"}, reference{}, "!a-Q4_K_M.gguf, b-Q4_K_M.gguf"},
		{"a type is a word", []string{"a-Q4_0.gguf", "a-Q4_0_4_4.gguf", "a-IQ4_0.gguf"}, reference{kind: "q4_0"}, "a-Q4_0.gguf"},
		{"a type behind underscores", []string{"my_model_q8_0.gguf", "my_model_q4_k_m.gguf"}, reference{kind: "Q8_0"}, "my_model_q8_0.gguf"},
		{"a type of a folder", []string{"BF16/a-00001-of-00001.gguf", "Q8_0/a.gguf"}, reference{kind: "bf16"}, "BF16/a-00001-of-00001.gguf"},
		{"several of a type", []string{"a-Q8_0.gguf", "b-Q8_0.gguf", "c-Q2_K.gguf"}, reference{kind: "Q8_0"}, "!several models of the type Q8_0; name the file: a-Q8_0.gguf, b-Q8_0.gguf"},
		{"none of a type", []string{"a-Q8_0.gguf"}, reference{kind: "Q2_K"}, "!no model of the type Q2_K, but a-Q8_0.gguf"},
		{"a special expression", []string{"a-Q8_0.gguf"}, reference{kind: "Q8.0"}, "!no model"},
		{"part of several", parts, reference{file: parts[1]}, strings.Join(parts, " ")},
		{"a part is missing", parts[:1], reference{file: parts[0]}, "!1 parts of 2"},
		{"any file", []string{"tokenizer.json", "a.gguf"}, reference{file: "tokenizer.json"}, "tokenizer.json"},
		{"a file that is not there", []string{"a.gguf"}, reference{file: "b.gguf"}, `!no file "b.gguf"; it has a.gguf`},
	} {
		got, err := pick(filesNamed(c.files...), &c.ref)
		if wrong, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%s: %v, want an error with %q", c.name, err, wrong)
			}
			continue
		}
		var names []string
		if err == nil {
			for _, e := range got.files {
				names = append(names, e.path)
			}
		}
		if err != nil || strings.Join(names, " ") != c.want {
			t.Errorf("%s: %v, %v; want %s", c.name, names, err, c.want)
		}
	}
}

func TestIndexNamesWhatIsMissing(t *testing.T) {
	c, err := pick(filesNamed("config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors"), &reference{})
	if err != nil {
		t.Fatal(err)
	}
	for index, want := range map[string]string{
		`{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`: "model-00002",
		`{"weight_map":{"a":"../../evil.safetensors"}}`:                                                  "no plain name",
		`{`: "index",
	} {
		if err := c.addShards([]byte(index)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", index, err)
		}
	}
}

// TestSpans compares with a map of bytes.
func TestSpans(t *testing.T) {
	var s spans
	there := map[int64]bool{}
	for i, n := range []span{{5, 8}, {10, 12}, {8, 10}, {0, 1}, {3, 3}, {20, 30}, {2, 25}, {1, 2}, {40, 41}, {0, 50}} {
		s = s.add(n)
		for b := n.from; b < n.to; b++ {
			there[b] = true
		}
		got := map[int64]bool{}
		for j, have := range s {
			if have.from >= have.to || j > 0 && s[j-1].to >= have.from {
				t.Fatalf("step %d: %v", i, s)
			}
			for b := have.from; b < have.to; b++ {
				got[b] = true
			}
		}
		if !maps.Equal(got, there) || s.size() != int64(len(there)) {
			t.Fatalf("step %d: %v", i, s)
		}
		for from := range int64(52) {
			g := s.gap(span{from, 52})
			for b := from; b < g.from; b++ {
				if !there[b] {
					t.Fatalf("step %d: the gap of %v from %d is %v", i, s, from, g)
				}
			}
			for b := g.from; b < g.to; b++ {
				if there[b] {
					t.Fatalf("step %d: the gap of %v from %d is %v", i, s, from, g)
				}
			}
			if g.from == g.to && g.to != 52 || g.to < 52 && !there[g.to] {
				t.Fatalf("step %d: the gap of %v from %d is %v", i, s, from, g)
			}
		}
	}
}
