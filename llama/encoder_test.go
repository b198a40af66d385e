package llama

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// The fixtures of models that read a text as a whole: those that make vectors, and those that score pairs of texts.
var (
	encoders  = []string{"enc-bert", "enc-xlmr", "enc-nomic", "enc-nomic-moe", "enc-modernbert", "enc-gemma", "enc-mpnet", "enc-gemma2"}
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
				if d := m.config.Dense; len(d) > 0 && d[0].Folder == "" { // they are projected states
					var err error
					if states, err = m.weights.Pooled(states, len(states)/d[0].In); err != nil {
						t.Fatal(err)
					}
				}
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

// TestTextsChangeNoByteOfOthers computes texts alone, together and by many goroutines at once, with one thread and with several, by weights
// of several types: the bits are the same.
func TestTextsChangeNoByteOfOthers(t *testing.T) {
	effort.Turn(t, 8)
	for _, name := range encoders {
		for _, d := range []tensor.DType{0, tensor.F16, tensor.Q8_0, tensor.Q4_0} {
			t.Run(name+" as "+d.String(), func(t *testing.T) {
				dir := fixture.Path(t, "families/"+name)
				one, several := mustLoad(t, dir, &LoadOptions{Threads: 1, Weights: d}), mustLoad(t, dir, &LoadOptions{Threads: 3, Weights: d})
				texts := readTexts(t, dir).texts
				for n := range 12 { // of many lengths, so that passes are full
					texts = append(texts, strings.Repeat("wood chuck ", 1+n%5))
				}
				together, err := one.Embed(t.Context(), texts...)
				if err != nil {
					t.Fatal(err)
				}
				var all sync.WaitGroup
				for i, text := range texts {
					all.Go(func() {
						for _, m := range []*Model{one, several} {
							if alone, err := m.Embed(t.Context(), text); err != nil || !slices.Equal(alone[0], together[i]) {
								t.Errorf("text %d alone: %v, or other bits", i, err)
							}
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// TestScoresChangeNoByteOfOthers is TestTextsChangeNoByteOfOthers for rerankers.
func TestScoresChangeNoByteOfOthers(t *testing.T) {
	for _, name := range rerankers {
		dir := fixture.Path(t, "families/"+name)
		m, texts := mustLoad(t, dir, nil), readTexts(t, dir).texts
		together, err := m.Rerank(t.Context(), texts[0], texts...)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if alone, err := m.Rerank(t.Context(), texts[0], text); err != nil || alone[0] != together[i] {
				t.Errorf("%s: document %d alone: %v, %v; with others %v", name, i, alone, err, together[i])
			}
		}
	}
}

// TestEncodersRefuseWhatTheyCannot asks for what an encoder has not.
func TestEncodersRefuseWhatTheyCannot(t *testing.T) {
	encoder, reranker := mustLoad(t, fixture.Path(t, "families/enc-bert"), nil), mustLoad(t, fixture.Path(t, "families/rank-bert"), nil)
	if _, err := encoder.NewSession(nil); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "Model.Embed") {
		t.Errorf("a session of an encoder: %v", err)
	}
	if _, err := encoder.NewPool(nil); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "Model.Embed") {
		t.Errorf("a pool of an encoder: %v", err)
	}
	if _, err := encoder.Restore(strings.NewReader(""), nil); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a saved state for an encoder: %v", err)
	}
	if _, err := reranker.NewSession(nil); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "Model.Rerank") {
		t.Errorf("a session of a reranker: %v", err)
	}
	if _, err := encoder.Rerank(t.Context(), "a", "b"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("Rerank of an encoder: %v", err)
	}
	var full *ContextFullError
	if _, err := encoder.Embed(t.Context(), "a", strings.Repeat("wood ", 140)); !errors.As(err, &full) || full.Room != 128 {
		t.Errorf("a text beyond max_seq_length: %v", err)
	}
	if _, err := reranker.Rerank(t.Context(), strings.Repeat("wood ", 80), strings.Repeat("wood ", 80)); !errors.As(err, &full) || full.Room != 128 {
		t.Errorf("a pair beyond model_max_length: %v", err)
	}
	var param *ParamError
	for _, o := range []EmbedOptions{{Task: "poetry"}, {Dimensions: -1}, {Dimensions: 65}} {
		if _, err := encoder.EmbedWith(t.Context(), o, "a"); !errors.As(err, &param) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := encoder.Embed(ctx, "a", "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if err := encoder.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := encoder.Embed(t.Context(), "a"); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed model: %v", err)
	}
}

// TestEmbedWithOptions cuts vectors, and puts prompts before texts.
func TestEmbedWithOptions(t *testing.T) {
	dir := fixture.Path(t, "families/enc-bert")
	prompts := `{"prompts":{"query":"query: ","passage":"passage: "},"default_prompt_name":null}`
	if err := os.WriteFile(filepath.Join(dir, checkpoint.PromptsFile), []byte(prompts), 0o644); err != nil {
		t.Fatal(err)
	}
	m := mustLoad(t, dir, nil)
	embed := func(o EmbedOptions, text string) []float32 {
		v, err := m.EmbedWith(t.Context(), o, text)
		if err != nil {
			t.Fatal(err)
		}
		return v[0]
	}
	for task, prompt := range map[string]string{"": "", "query": "query: ", "document": "passage: ", "passage": "passage: "} {
		if !slices.Equal(embed(EmbedOptions{Task: task}, "wood"), embed(EmbedOptions{}, prompt+"wood")) {
			t.Errorf("the task %q does not put %q before a text", task, prompt)
		}
	}
	whole, cut := embed(EmbedOptions{}, "wood"), embed(EmbedOptions{Dimensions: 16}, "wood")
	length := 0.0
	for _, v := range whole[:16] {
		length += float64(v) * float64(v)
	}
	for i := range whole[:16] {
		whole[i] /= float32(math.Sqrt(length))
	}
	if len(cut) != 16 || farthest(cut, whole[:16]) > 1e-6 {
		t.Errorf("16 dimensions: %v, want %v", cut, whole[:16])
	}
}

// TestEncodersAreTheSameInGGUF compares vectors and scores of a folder with those of the same model as a GGUF file.
func TestEncodersAreTheSameInGGUF(t *testing.T) {
	for _, name := range slices.Concat(encoders, rerankers) {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "families/"+name)
			g := readTexts(t, dir)
			m := mustLoad(t, asGGUF(t, dir), nil)
			if name := m.Config().Family; name == "" {
				t.Error("no family")
			}
			if slices.Contains(rerankers, name) {
				got, err := scores(t.Context(), m, g.tokens, pairTypes(g.tokens, m.config.Types))
				if d := farthest(got, g.scores); err != nil || d > 1e-4 {
					t.Errorf("scores differ by %.2g, %v", d, err)
				}
				return
			}
			e := embedding{model: m}
			got, err := e.tokens(t.Context(), g.tokens)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if d := farthest(got[i], g.vectors[i]); d > 1e-4 {
					t.Errorf("text %d: the vector differs by %.2g", i, d)
				}
			}
		})
	}
}

// pairTypes returns the types of pairs' tokens in BERT's manner: those after the first [SEP], which is 3, have the type 1.
func pairTypes(pairs [][]Token, types int) (all [][]int32) {
	for _, tokens := range pairs {
		list, kind := make([]int32, len(tokens)), int32(0)
		for i, token := range tokens {
			if list[i] = kind; token == 3 && types > 1 {
				kind = 1
			}
		}
		all = append(all, list)
	}
	return all
}

// TestAdaptersOfEncoders compares merged weights with adapters apart from them. PEFT names their tensors as AutoModel names the modules.
func TestAdaptersOfEncoders(t *testing.T) {
	for name, modules := range map[string][]string{
		"enc-bert": {"query", "value", "dense"}, "enc-nomic": {"Wqkv", "fc11", "fc2"}, "enc-modernbert": {"Wqkv", "Wi", "Wo"}, "enc-gemma": {"q_proj", "down_proj"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, folder := fixture.Path(t, "families/"+name), t.TempDir()
			m, text := mustLoad(t, dir, nil), "How much wood?"
			list := randomAdapter(m, 1, 5, modules...)
			for i := range list {
				list[i].name = strings.Replace(list[i].name, ".model.model.", ".model.", 1)
			}
			for file, content := range peftFolder(t, plainConfig(t, map[string]any{"r": 5, "target_modules": modules}), list) {
				mustWrite(t, filepath.Join(folder, file), content.Data)
			}
			a := mustAdapter(t, m, folder)
			plain, err1 := m.Embed(t.Context(), text)
			beside, err2 := a.Embed(t.Context(), m, 0, text)
			off, err3 := a.Embed(t.Context(), m, AdapterOff, text)
			merged, err4 := mustLoad(t, dir, &LoadOptions{Adapters: []AdapterFile{{Path: folder}}, Weights: tensor.F32}).Embed(t.Context(), text)
			if err := errors.Join(err1, err2, err3, err4); err != nil {
				t.Fatal(err)
			}
			if d, far := farthest(beside[0], merged[0]), farthest(plain[0], merged[0]); d > 1e-4 || far < 0.01 || !slices.Equal(off[0], plain[0]) {
				t.Errorf("beside and merged differ by %.2g, without the adapter by %.2g", d, far)
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Embed(t.Context(), m, 0, text); !errors.Is(err, ErrClosed) {
				t.Errorf("a closed adapter: %v", err)
			}
		})
	}
}

// TestCloseStopsTexts closes a model while goroutines embed: each call ends with vectors or with ErrClosed.
func TestCloseStopsTexts(t *testing.T) {
	effort.Turn(t, 8)
	m := mustLoad(t, fixture.Path(t, "families/enc-bert"), &LoadOptions{Threads: 2})
	texts := make([]string, 200)
	for i := range texts {
		texts[i] = strings.Repeat("wood chuck ", 1+i%30)
	}
	var all sync.WaitGroup
	began := make(chan struct{}, 4)
	for range 4 {
		all.Go(func() {
			for n := 0; ; n++ {
				if n == 1 {
					began <- struct{}{}
				}
				if _, err := m.Embed(t.Context(), texts...); err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Errorf("while the model is closed: %v", err)
					}
					return
				}
			}
		})
	}
	for range 4 {
		<-began
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
}

// TestPublishedEmbeddingGemma2 writes config.json as that of the published model: windows have as many tokens on each side, and layers padded numbers. A tower
// that sees is not loaded, and Ignored says so.
func TestPublishedEmbeddingGemma2(t *testing.T) {
	dir := fixture.Path(t, "families/enc-gemma2")
	g, copied := readTexts(t, dir), t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(copied, checkpoint.ConfigFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for old, now := range map[string]string{`"use_bidirectional_attention": "all",`: "", `"sliding_window": 48`: `"sliding_window": 25`, `"2": {`: `"02": {`, `"5": {`: `"05": {`,
		`"attention_k_eq_v": false,`: "", `"vision_config": null`: `"vision_config": {"model_type": "gemma4_vision"}`} {
		if !strings.Contains(string(data), old) {
			t.Fatalf("config.json has no %s", old)
		}
		data = []byte(strings.Replace(string(data), old, now, 1))
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	families.EditTensors(t, copied, func(list []safetensors.Tensor) []safetensors.Tensor {
		return append(list, safetensors.Tensor{Name: "vision_tower.patch.weight", DType: "F32", Shape: []int{1}, Data: make([]byte, 4)})
	})
	m := mustLoad(t, copied, nil)
	ignored := fmt.Sprint(ignoredOf(m.files))
	vectors, err := m.Embed(t.Context(), g.texts...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range vectors {
		if d := farthest(vectors[i], g.vectors[i]); d > 1e-4 {
			t.Errorf("text %d: vectors differ by %.2g", i, d)
		}
	}
	if m.Kind() != Embedder || len(vectors[0]) != 96 || !strings.Contains(ignored, "sees or hears") {
		t.Errorf("%v, %d elements, %s ignored", m.Kind(), len(vectors[0]), ignored)
	}
}
