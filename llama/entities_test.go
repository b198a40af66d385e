package llama

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// tagsOf returns tags of tokens that follow each other, a byte each. Scores are written as "0.5 0.25 0.25".
func tagsOf(t *testing.T, rows ...string) (tags []Tag) {
	t.Helper()
	for i, row := range rows {
		tag := Tag{Start: i, End: i + 1}
		for text := range strings.FieldsSeq(row) {
			var s float32
			if _, err := fmt.Sscan(text, &s); err != nil {
				t.Fatal(err)
			}
			tag.Scores = append(tag.Scores, s)
		}
		tags = append(tags, tag)
	}
	return tags
}

// TestWordsOfStrategies joins tokens to words, as the documentation of transformers' pipeline says: micro|soft, com|pany.
func TestWordsOfStrategies(t *testing.T) {
	tags := tagsOf(t, "0.6 0.4 0", "0.2 0 0.8", "0 0.7 0.3", "0.1 0 0.9") // of A, B and C
	continues := []bool{false, true, false, true}
	for way, want := range map[Joining]string{JoinFirst: "A0-2 0.60 B2-4 0.70", JoinMax: "C0-4 0.85", JoinMean: "A0-2 0.40 C2-4 0.60", JoinTokens: "A0-1 0.60 C1-2 0.80 B2-3 0.70 C3-4 0.90"} {
		j, list := newJoiner([]string{"A", "B", "C"}), tags
		if way != JoinTokens {
			list = way.words(tags, continues)
		}
		for i := range list {
			j.add(&list[i])
		}
		var got []string
		for _, e := range j.entities() {
			got = append(got, fmt.Sprintf("%s%d-%d %.2f", e.Label, e.Start, e.End, e.Score))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("strategy %d: %q, want %q", way, got, want)
		}
	}
}

// TestWordsAreThoseOfTransformers asks which tokens go on with a word, of a WordPiece vocabulary and of one without prefixes.
func TestWordsAreThoseOfTransformers(t *testing.T) {
	for name, text := range map[string]string{"tok-bert": "How much wood would a woodchuck chuck, 東京 é😀x", "tok-modernbert": "How much wood  would a woodchuck chuck,\n東京 é😀x"} {
		m := mustLoad(t, fixture.Path(t, "families/"+name), nil)
		tags, tokens, err := tagged(t.Context(), m, text)
		if err != nil {
			t.Fatal(err)
		}
		for i, goes := range continuations(m.tokenizer, text, tags, tokens) {
			at := tags[i].Start
			want := at > 0 && text[at] != ' ' && text[at-1] != ' '
			if written := m.tokenizer.Text(tokens[i]); name == "tok-bert" {
				want = strings.HasPrefix(written, "##")
			}
			if goes != want {
				t.Errorf("%s: token %d, %q at %d: %v", name, i, m.tokenizer.Text(tokens[i]), at, goes)
			}
		}
		for _, way := range []Joining{JoinFirst, JoinMean, JoinMax, JoinNothing} {
			list, err := way.Entities(t.Context(), m, text)
			if err != nil || len(list) == 0 {
				t.Errorf("%s: strategy %d: %v, %v", name, way, list, err)
			}
			for _, e := range list {
				if strings.HasPrefix(e.Label, "B-") != (way == JoinNothing && strings.HasPrefix(e.Label, "B-")) || e.Start >= e.End || e.Score <= 0 {
					t.Errorf("%s: strategy %d: %+v", name, way, e)
				}
			}
		}
		var param *ParamError
		for _, way := range []Joining{JoinPath, JoinPath + 1} {
			if _, err := way.Entities(t.Context(), m, text); !errors.As(err, &param) {
				t.Errorf("%s: strategy %d: %v", name, way, err)
			}
		}
	}
}

// TestPaths compares best paths with the best of all sequences of labels that are allowed.
func TestPaths(t *testing.T) {
	h := &model.Head{Labels: []string{"O", "B-A", "I-A", "E-A", "S-A"}, Path: &model.Path{0.5, -0.25, 1, 0.125, -1, 2}}
	p, random := newPaths(h), rand.New(rand.NewPCG(1, 2))
	for range 60 {
		tags := make([]Tag, 1+random.IntN(5))
		for i := range tags {
			tags[i].Scores = make([]float32, 5)
			for j := range tags[i].Scores {
				tags[i].Scores[j] = random.Float32()
			}
		}
		all := 1
		for range tags {
			all *= 5
		}
		best, want := math.Inf(-1), []int(nil)
		for n := range all {
			path, sum, last := make([]int, len(tags)), 0.0, "O"
			for i := range path {
				path[i] = n % 5
				n /= 5
				sum += math.Log(float64(tags[i].Scores[path[i]]))
				next := h.Labels[path[i]]
				if step := last[:1] + next[:1]; i > 0 || next[:1] != "O" && next[:1] != "B" && next[:1] != "S" {
					number, ok := map[string]int{"OO": 0, "OB": 1, "OS": 1, "BI": 2, "II": 2, "BE": 3, "IE": 3, "EO": 4, "SO": 4, "EB": 5, "ES": 5, "SB": 5, "SS": 5}[step]
					if !ok || i == 0 {
						sum = math.Inf(-1)
					} else {
						sum += float64(h.Path[number])
					}
				}
				last = next
			}
			if last[:1] != "B" && last[:1] != "I" && sum > best {
				best, want = sum, path
			}
		}
		if got := p.best(tags); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if got := p.best(tagsOf(t, "0 0 1 0 0", "0 0 0 0 0")); len(got) != 2 {
		t.Errorf("scores of 0: %v", got)
	}
}

// TestEntitiesAlongPaths finds entities of openai/privacy-filter with a calibration that allows few of them, in a folder and in a GGUF file.
func TestEntitiesAlongPaths(t *testing.T) {
	dir := fixture.Path(t, "families/privacy-filter")
	m, g := mustLoad(t, dir, nil), readLabels(t, dir)
	found := 0
	for _, text := range g.texts {
		list, err := m.Entities(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		found += len(list)
		for _, e := range list {
			if at := text[e.Start:e.End]; at == "" || strings.TrimSpace(at) != at || !slices.Contains(g.names, "S-"+e.Label) {
				t.Errorf("%q: %+v is %q", text, e, at)
			}
		}
	}
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(copied, checkpoint.CalibrationFile)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"operating_points":{"default":{"biases":{"transition_bias_background_stay":100,"transition_bias_end_to_start":-3.5}}}}`)
	for _, m := range []*Model{mustLoad(t, copied, nil), mustLoad(t, asGGUF(t, copied), nil)} {
		if p := m.config.Head.Path; p == nil || *p != (model.Path{model.StayOutside: 100, model.EnterNext: -3.5}) {
			t.Fatalf("the path is %v", p)
		}
		few := 0
		for _, text := range g.texts {
			if m.tokenizer.hasTexts() != nil { // the file has no vocabulary
				few = 1
				break
			}
			list, err := m.Entities(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			few += len(list)
		}
		if few >= found || found == 0 {
			t.Errorf("%d entities, and %d without the calibration", few, found)
		}
	}
	for text, want := range map[string]string{`{"operating_points":{"strict":{"biases":{}}}}`: "default", `[`: checkpoint.CalibrationFile,
		`{"operating_points":{"default":{"biases":{"x":1}}}}`: `"x"`, `{"operating_points":{"default":{"biases":{"transition_bias_end_to_start":1e9}}}}`: "1000"} {
		if write(text); true {
			if _, err := Load(copied, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	write(`{"operating_points":{"default":{"biases":{}}}}`)
	families.EditConfig(t, copied, map[string]any{"id2label": nil, "num_labels": 33})
	if _, err := Load(copied, nil); !errors.Is(err, ErrUnsupported) {
		t.Errorf("labels without marks: %v", err)
	}
}

// TestWindowsOfModelsThatSeeLittle tags a text of several windows with a model in which no layer sees all of it: the scores are nearly those of the text as a
// whole. Then it tags many texts at once, by two threads and by weights of two types: the bits are those of each text alone.
func TestWindowsOfModelsThatSeeLittle(t *testing.T) {
	effort.Turn(t, 8)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture.Path(t, "families/privacy-filter"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, checkpoint.TokenizerConfigFile)); err != nil { // which says that texts have 128 tokens
		t.Fatal(err)
	}
	m, texts := mustLoad(t, dir, nil), readLabels(t, dir).texts
	text := strings.Join(texts, "\n")
	_, tokens, err := tagged(t.Context(), m, text)
	if width := widestWindow(m); err != nil || width != 4*2*8*3 {
		t.Fatalf("windows of %d tokens, %v", width, err)
	}
	text = strings.Repeat(text+"\n", 1+3*widestWindow(m)/len(tokens))
	var tags []Tag
	if tags, tokens, err = tagged(t.Context(), m, text); err != nil || len(tokens) < 3*widestWindow(m) || len(tokens) > m.LongestText() {
		t.Fatalf("%d tokens, %v", len(tokens), err)
	}
	l := labelling{model: m, texts: [][]Token{tokens}}
	whole, err := l.numbers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := len(m.config.Head.Labels)
	for i, tag := range tags {
		scores := whole[0][i*n:][:n]
		if softmax(scores); farthest(scores, tag.Scores) > 1e-4 {
			t.Fatalf("token %d: scores differ by %.2g from those of the whole text", i, farthest(scores, tag.Scores))
		}
	}
	for _, as := range []tensor.DType{0, tensor.Q8_0} {
		one, several := mustLoad(t, dir, &LoadOptions{Threads: 1, Weights: as}), mustLoad(t, dir, &LoadOptions{Threads: 2, Weights: as})
		var all sync.WaitGroup
		for _, text := range append(texts, text) {
			alone, err := one.Tags(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				if again, err := several.Tags(t.Context(), text); err != nil || !reflect.DeepEqual(again, alone) {
					t.Errorf("as %v: other tags of %.20q in company, %v", as, text, err)
				}
			})
		}
		all.Wait()
	}
}
