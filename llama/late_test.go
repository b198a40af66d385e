package llama

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/safetensors"
)

// lates are the fixtures of models that make vectors of tokens.
var lates = []string{"late-bert", "late-modernbert"}

// goldenLate are a fixture's texts, and what PyLate's steps make of them: see ORIGINS.md.
type goldenLate struct {
	Queries, Documents []string

	file *safetensors.File
}

func readLate(t *testing.T, dir string) (g goldenLate) {
	t.Helper()
	texts, err1 := os.ReadFile(filepath.Join(dir, "texts.json"))
	data, err2 := os.ReadFile(filepath.Join(dir, "golden.safetensors"))
	if err := errors.Join(err1, err2, json.Unmarshal(texts, &g)); err != nil {
		t.Fatal(err)
	}
	var err error
	if g.file, err = safetensors.Parse(data); err != nil {
		t.Fatal(err)
	}
	return g
}

// rows returns the rows of a tensor.
func (g *goldenLate) rows(t *testing.T, name string, i int) (list [][]float32) {
	t.Helper()
	stored, ok := g.file.Tensor(fmt.Sprintf("%s.%d", name, i))
	if !ok {
		t.Fatalf("there is no %s.%d", name, i)
	}
	width := stored.Shape[len(stored.Shape)-1]
	for b := stored.Data; len(b) > 0; b = b[4*width:] {
		row := make([]float32, width)
		for j := range row {
			row[j] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*j:]))
		}
		list = append(list, row)
	}
	return list
}

// lateFolder returns a fixture's folder with other settings.
func lateFolder(t *testing.T, name string, settings map[string]any) string {
	t.Helper()
	dir := fixture.Path(t, "families/"+name)
	path := filepath.Join(dir, checkpoint.PromptsFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for key, value := range settings {
		if all[key] = value; value == nil {
			delete(all, key)
		}
	}
	if data, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, path, data)
	return dir
}

// TestTokenVectors compares vectors of tokens, and scores, with those of PyLate's steps: with masks that are seen, with masks that are not, and without masks.
func TestTokenVectors(t *testing.T) {
	for _, name := range lates {
		for golden, settings := range map[string]map[string]any{
			"query_skip": nil, "query_attend": {"attend_to_expansion_tokens": true}, "query_bare": {"do_query_expansion": false},
		} {
			t.Run(name+" "+golden, func(t *testing.T) {
				dir := lateFolder(t, name, settings)
				m, g := mustLoad(t, dir, nil), readLate(t, dir)
				if m.Kind() != Reranker {
					t.Errorf("the kind is %v", m.Kind())
				}
				worst := 0.0
				same := func(what string, i int, got, want [][]float32) {
					if len(got) != len(want) {
						t.Fatalf("%s %d has %d vectors, want %d", what, i, len(got), len(want))
					}
					for j := range got {
						d := farthest(got[j], want[j])
						if worst = max(worst, d); d > 1e-4 {
							t.Errorf("%s %d: vector %d differs by %.2g", what, i, j, d)
						}
					}
				}
				queries, err1 := QuerySide.EmbedTokens(t.Context(), m, g.Queries...)
				documents, err2 := DocumentSide.EmbedTokens(t.Context(), m, g.Documents...)
				if err := errors.Join(err1, err2); err != nil {
					t.Fatal(err)
				}
				for i, d := range documents {
					same("document", i, d, g.rows(t, "document", i))
				}
				for i, q := range queries {
					same("query", i, q, g.rows(t, golden, i))
					if golden == "query_bare" {
						continue
					}
					scores, err := m.Rerank(t.Context(), g.Queries[i], g.Documents...)
					if d := farthest(scores, g.rows(t, strings.Replace(golden, "query", "scores", 1), i)[0]); err != nil || d > 1e-4 {
						t.Errorf("query %d: scores differ by %.2g, %v", i, d, err)
					}
				}
				t.Logf("largest difference %.2g", worst)
			})
		}
	}
}

// TestTokenVectorsChangeNoByteOfOthers embeds texts alone, together and by many goroutines. Masks that nobody sees change no byte of the other tokens.
func TestTokenVectorsChangeNoByteOfOthers(t *testing.T) {
	equal := func(a, b TokenVectors) bool { return slices.EqualFunc(a, b, slices.Equal) }
	for _, name := range lates {
		dir := lateFolder(t, name, nil)
		m, g := mustLoad(t, dir, &LoadOptions{Threads: 3}), readLate(t, dir)
		bare := mustLoad(t, lateFolder(t, name, map[string]any{"do_query_expansion": false}), nil)
		queries, err1 := QuerySide.EmbedTokens(t.Context(), m, g.Queries...)
		documents, err2 := DocumentSide.EmbedTokens(t.Context(), m, g.Documents...)
		without, err3 := QuerySide.EmbedTokens(t.Context(), bare, g.Queries...)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i, text := range g.Queries {
			if n := len(without[i]); n >= len(queries[i]) || !equal(without[i], queries[i][:n]) {
				t.Errorf("%s: query %d: masks change what is before them", name, i)
			}
			all.Go(func() {
				if alone, err := QuerySide.EmbedTokens(t.Context(), m, text); err != nil || !equal(alone[0], queries[i]) {
					t.Errorf("%s: query %d alone: %v, or other bits", name, i, err)
				}
			})
		}
		for i, text := range g.Documents {
			all.Go(func() {
				if alone, err := DocumentSide.EmbedTokens(t.Context(), m, text); err != nil || !equal(alone[0], documents[i]) {
					t.Errorf("%s: document %d alone: %v, or other bits", name, i, err)
				}
			})
		}
		all.Wait()
	}
}

// TestTokenVectorsRefuse asks for things that are not there, and changes the files to others that are not implemented.
func TestTokenVectorsRefuse(t *testing.T) {
	m := mustLoad(t, lateFolder(t, "late-bert", nil), nil)
	var full *ContextFullError
	var param *ParamError
	if _, err := QuerySide.EmbedTokens(t.Context(), m, strings.Repeat("wood ", 24)); !errors.As(err, &full) || full.Room != 24 {
		t.Errorf("a long query: %v", err)
	}
	if _, err := DocumentSide.EmbedTokens(t.Context(), m, "a", strings.Repeat("wood ", 130)); !errors.As(err, &full) || full.Room != 120 {
		t.Errorf("a long document: %v", err)
	}
	if _, err := Side(2).EmbedTokens(t.Context(), m, "a"); !errors.As(err, &param) {
		t.Errorf("another side: %v", err)
	}
	if _, err := m.Embed(t.Context(), "a"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a vector of a text: %v", err)
	}
	if _, err := m.Classify(t.Context(), "a"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("labels: %v", err)
	}
	if none, err := QuerySide.EmbedTokens(t.Context(), m); len(none) != 0 || err != nil {
		t.Errorf("no texts: %v, %v", none, err)
	}
	if _, err := QuerySide.EmbedTokens(t.Context(), mustLoad(t, fixture.Path(t, "families/enc-bert"), nil), "a"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("an embedder: %v", err)
	}
	if s := (TokenVectors{{1, 0}, {0, 1}}).MaxSim(TokenVectors{{.5, .25}, {0, .75}}); s != 1.25 {
		t.Errorf("MaxSim is %g", s)
	}
	if s := TokenVectors(nil).MaxSim(nil) + (TokenVectors{{1}}).MaxSim(nil); s != 0 {
		t.Errorf("MaxSim of nothing is %g", s)
	}
	for key, value := range map[string]any{
		"query_length": 0, "document_length": 4000, "similarity_fn_name": "cosine", "skiplist_words": "none", "query_prefix": 3, "something_else": true, "model_type": "SparseEncoder",
	} {
		if _, err := Load(lateFolder(t, "late-bert", map[string]any{key: value}), nil); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s = %v: %v", key, value, err)
		}
	}
	odd := mustLoad(t, lateFolder(t, "late-bert", map[string]any{"query_prefix": "[X] ", "skiplist_words": []string{"nosuchword"}}), nil)
	if _, err := QuerySide.EmbedTokens(t.Context(), odd, "a"); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "[X]") {
		t.Errorf("a prefix that is no token: %v", err)
	}
	for _, settings := range []map[string]any{{"query_prefix": nil, "document_prefix": nil, "query_length": nil, "skiplist_words": nil, "do_query_expansion": nil}, {"query_prefix": ""}} {
		if settings["query_prefix"] == nil && m.LongestText() != 144 {
			t.Errorf("the longest text has %d tokens", m.LongestText())
		}
		plain := mustLoad(t, lateFolder(t, "late-bert", settings), nil)
		if v, err := QuerySide.EmbedTokens(t.Context(), plain, "wood"); err != nil || len(v[0]) != plain.files.Pipeline.Late.Query.Length {
			t.Errorf("%v: %d vectors, %v", settings, len(v), err)
		}
	}
}
