package llama

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// The fixtures of models that read a text as a whole: those that make vectors, and those that score pairs of texts.
var (
	encoders  = []string{"enc-bert", "enc-xlmr", "enc-nomic", "enc-modernbert", "enc-gemma"}
	rerankers = []string{"rank-bert", "rank-xlmr"}
)

// goldenTexts are the texts of an encoder's fixture, with the tokens, states, vectors and scores of transformers.
type goldenTexts struct {
	texts           []string
	tokens          [][]Token
	hidden, vectors [][]float32
	scores          []float32
}

// readTexts reads an encoder's fixture in a folder.
func readTexts(t *testing.T, dir string) (g goldenTexts) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "texts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &g.texts); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(filepath.Join(dir, "golden.safetensors")); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	floats := func(name string) (list []float32) {
		stored, _ := f.Tensor(name)
		for b := stored.Data; len(b) > 0; b = b[4:] {
			list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		return list
	}
	for i := range g.texts {
		number := strconv.Itoa(i)
		var ids []Token
		for _, v := range floats("ids." + number) {
			ids = append(ids, Token(math.Float32bits(v)))
		}
		g.tokens = append(g.tokens, ids)
		g.hidden, g.vectors = append(g.hidden, floats("hidden."+number)), append(g.vectors, floats("embedding."+number))
		g.scores = append(g.scores, floats("score."+number)...)
	}
	return g
}

// farthest returns the largest difference of elements.
func farthest(a, b []float32) (worst float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for i := range a {
		if d := math.Abs(float64(a[i] - b[i])); !(d <= worst) {
			worst = d
		}
	}
	return worst
}

// hiddenStates computes the states of texts' tokens in one call.
func hiddenStates(t *testing.T, m *Model, texts [][]Token) [][]float32 {
	t.Helper()
	all, jobs := make([][]float32, len(texts)), make([]*engine.Job, len(texts))
	for i, tokens := range texts {
		jobs[i] = &engine.Job{Request: engine.Request{Tokens: toInt32(tokens), Output: engine.Output{Hide: true, Each: func(x *tensor.Tensor) error {
			part := make([]float32, x.Shape().NumElements())
			err := backend.ReadFloats(m.backend, x, part)
			all[i] = append(all[i], part...)
			return err
		}}}}
	}
	if err := m.batch.RunAll(jobs...); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEncodersEqualTransformers compares states and vectors.
func TestEncodersEqualTransformers(t *testing.T) {
	for _, name := range encoders {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "families/"+name)
			m, g := mustLoad(t, dir, nil), readTexts(t, dir)
			worst := 0.0
			for i, states := range hiddenStates(t, m, g.tokens) {
				d := farthest(states, g.hidden[i])
				worst = max(worst, d)
				if d > 1e-4 {
					t.Errorf("text %d: states differ by %.2g", i, d)
				}
			}
			vectors, err := m.Embed(t.Context(), g.texts...)
			if err != nil {
				t.Fatal(err)
			}
			for i := range vectors {
				d := farthest(vectors[i], g.vectors[i])
				worst = max(worst, d)
				if d > 1e-4 {
					t.Errorf("text %d: vectors differ by %.2g", i, d)
				}
			}
			t.Logf("largest difference %.2g", worst)
		})
	}
}

// TestRerankersEqualTransformers compares scores of each text with the next one.
func TestRerankersEqualTransformers(t *testing.T) {
	for _, name := range rerankers {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "families/"+name)
			m, g := mustLoad(t, dir, nil), readTexts(t, dir)
			if m.Kind() != Reranker {
				t.Errorf("the kind is %v", m.Kind())
			}
			for i, text := range g.texts {
				scores, err := m.Rerank(t.Context(), text, g.texts[(i+1)%len(g.texts)])
				if err != nil {
					t.Fatal(err)
				}
				if d := farthest(scores, g.scores[i:i+1]); d > 1e-4 {
					t.Errorf("text %d: the score differs by %.2g", i, d)
				}
			}
			if _, err := m.Embed(t.Context(), "text"); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "Model.Rerank") {
				t.Errorf("Embed: %v", err)
			}
			if scores, err := m.Rerank(t.Context(), "text"); len(scores) != 0 || err != nil {
				t.Errorf("no documents: %v, %v", scores, err)
			}
		})
	}
}
