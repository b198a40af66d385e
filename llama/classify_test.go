package llama

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/tensor"
)

// The fixtures of models that put labels on texts, and of those that put them on tokens.
var (
	classifiers = []string{"cls-bert", "cls-xlmr", "cls-modernbert", "cls-deberta"}
	taggers     = []string{"tok-bert", "tok-modernbert", "tok-deberta", "privacy-filter"}
)

// goldenLabels are the texts of such a fixture, and what transformers computed: tokens and logits of each text and, of classifiers, of
// each of the first texts with the next one.
type goldenLabels struct {
	texts              []string
	tokens, pairs      [][]Token
	types              [][]int32
	logits, pairLogits [][]float32
	names              []string
	any                bool // any number of labels is right
}

func readLabels(t *testing.T, dir string) (g goldenLabels) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "texts.json"))
	must(err)
	must(json.Unmarshal(data, &g.texts))
	data, err = os.ReadFile(filepath.Join(dir, "golden.safetensors"))
	must(err)
	f, err := safetensors.Parse(data)
	must(err)
	words := func(name string) (list []uint32) {
		stored, _ := f.Tensor(name)
		for b := stored.Data; len(b) > 0; b = b[4:] {
			list = append(list, binary.LittleEndian.Uint32(b))
		}
		return list
	}
	floats := func(name string) (list []float32) {
		for _, w := range words(name) {
			list = append(list, math.Float32frombits(w))
		}
		return list
	}
	tokens := func(name string) (list []Token) {
		for _, w := range words(name) {
			list = append(list, Token(w))
		}
		return list
	}
	for i := range g.texts {
		n := strconv.Itoa(i)
		g.tokens, g.logits = append(g.tokens, tokens("ids."+n)), append(g.logits, floats("logits."+n))
		if pair := tokens("pair_ids." + n); pair != nil {
			g.pairs, g.pairLogits = append(g.pairs, pair), append(g.pairLogits, floats("pair_logits."+n))
			types := make([]int32, len(pair))
			for j, w := range words("pair_types." + n) {
				types[j] = int32(w)
			}
			g.types = append(g.types, types)
		}
	}
	var config struct {
		Names   map[string]string `json:"id2label"`
		Problem string            `json:"problem_type"`
	}
	data, err = os.ReadFile(filepath.Join(dir, checkpoint.ConfigFile))
	must(err)
	must(json.Unmarshal(data, &config))
	for i := range len(config.Names) {
		g.names = append(g.names, config.Names[strconv.Itoa(i)])
	}
	g.any = config.Problem == "multi_label_classification"
	return g
}

// wantLabels returns the labels that logits make, by the definitions.
func (g *goldenLabels) wantLabels(logits []float32) (list []Label) {
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v))
	}
	for i, v := range logits {
		score := math.Exp(float64(v)) / sum
		if g.any {
			score = 1 / (1 + math.Exp(-float64(v)))
		}
		list = append(list, Label{g.names[i], float32(score)})
	}
	return list
}

// same reports whether labels have the names that are wanted, and nearly the scores.
func sameLabels(got, want []Label) bool {
	return slices.EqualFunc(got, want, func(a, b Label) bool { return a.Name == b.Name && math.Abs(float64(a.Score-b.Score)) < 1e-4 })
}

// TestClassifiersEqualTransformers compares logits, labels and scores, of texts and of pairs.
func TestClassifiersEqualTransformers(t *testing.T) {
	for _, name := range classifiers {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "families/"+name)
			m, g := mustLoad(t, dir, nil), readLabels(t, dir)
			if m.Kind() != Classifier || !slices.Equal(m.Config().Labels, g.names) || m.Config().LabelsTokens {
				t.Errorf("the kind is %v, the labels %q", m.Kind(), m.Config().Labels)
			}
			pairs := make([][2]string, len(g.pairs))
			for i := range pairs {
				pairs[i] = [2]string{g.texts[i], g.texts[i+1]}
			}
			check := func(what string, tokens [][]Token, types [][]int32, logits [][]float32, labels [][]Label, err error) {
				t.Helper()
				if err != nil || len(labels) != len(logits) {
					t.Fatalf("%s: %d labels, %v", what, len(labels), err)
				}
				l := labelling{m, tokens, types}
				got, err := l.numbers(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for i := range logits {
					if d := farthest(got[i], logits[i]); d > 1e-4 {
						t.Errorf("%s %d: logits differ by %.2g", what, i, d)
					}
					if want := g.wantLabels(logits[i]); !sameLabels(labels[i], want) {
						t.Errorf("%s %d: %v, want %v", what, i, labels[i], want)
					}
				}
			}
			labels, err := m.Classify(t.Context(), g.texts...)
			check("text", g.tokens, nil, g.logits, labels, err)
			labels, err = m.ClassifyPairs(t.Context(), pairs...)
			check("pair", g.pairs, g.types, g.pairLogits, labels, err)
		})
	}
}

// TestTaggersEqualTransformers compares the logits of each token.
func TestTaggersEqualTransformers(t *testing.T) {
	for _, name := range taggers {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "families/"+name)
			m, g := mustLoad(t, dir, nil), readLabels(t, dir)
			if m.Kind() != Tagger || !slices.Equal(m.Config().Labels, g.names) || !m.Config().LabelsTokens {
				t.Errorf("the kind is %v, the labels %q", m.Kind(), m.Config().Labels)
			}
			l := labelling{model: m, texts: g.tokens}
			got, err := l.numbers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if d := farthest(got[i], g.logits[i]); d > 1e-4 {
					t.Errorf("text %d: logits differ by %.2g", i, d)
				}
			}
		})
	}
}

// TestLabelsAreTheSameInGGUF compares logits of a folder with those of the same model as a GGUF file, and how the latter names labels.
func TestLabelsAreTheSameInGGUF(t *testing.T) {
	for _, name := range slices.Concat(classifiers, taggers) {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "families/"+name)
			g := readLabels(t, dir)
			m := mustLoad(t, asGGUF(t, dir), nil)
			l := labelling{model: m, texts: g.tokens}
			got, err := l.numbers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if d := farthest(got[i], g.logits[i]); d > 1e-4 {
					t.Errorf("text %d: logits differ by %.2g", i, d)
				}
			}
			folder := mustLoad(t, dir, nil)
			if !slices.Equal(m.Config().Labels, g.names) || m.Kind() != folder.Kind() || m.config.Head.Problem != folder.config.Head.Problem {
				t.Errorf("%v with the labels %q", m.Kind(), m.Config().Labels)
			}
		})
	}
}

// TestLabelsChangeNoByteOfOthers classifies texts together, alone and by many goroutines, with one thread and with several: the bits are the same.
func TestLabelsChangeNoByteOfOthers(t *testing.T) {
	effort.Turn(t, 8)
	for _, name := range classifiers {
		for _, d := range []tensor.DType{0, tensor.Q8_0} {
			dir := fixture.Path(t, "families/"+name)
			one, several := mustLoad(t, dir, &LoadOptions{Threads: 1, Weights: d}), mustLoad(t, dir, &LoadOptions{Threads: 3, Weights: d})
			texts := readLabels(t, dir).texts
			for n := range 8 {
				texts = append(texts, strings.Repeat("wood chuck ", 1+n%5))
			}
			together, err := one.Classify(t.Context(), texts...)
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for i, text := range texts {
				all.Go(func() {
					for _, m := range []*Model{one, several} {
						if alone, err := m.Classify(t.Context(), text); err != nil || !slices.Equal(alone[0], together[i]) {
							t.Errorf("%s as %v: text %d alone: %v, or other bits", name, d, i, err)
						}
					}
				})
			}
			all.Wait()
		}
	}
}

// TestDecodersWithHeads makes the output head of models that go on with texts one that labels them: its logits are those after a text's last token.
func TestDecodersWithHeads(t *testing.T) {
	for name, class := range map[string]string{"families/qwen3": "Qwen3", "families/gemma2": "Gemma2", "hf/llama32-tied-bf16": "Llama"} {
		tokens := []Token{5, 9, 44, 17, 3, 3}
		want := logitsAfter(t, mustLoad(t, fixture.Path(t, name), nil), tokens[:4])
		for kind, end := range map[Kind]string{Classifier: "ForSequenceClassification", Tagger: "ForTokenClassification"} {
			dir := fixture.Path(t, name)
			families.EditHead(t, dir, class+end, "score", kind == Tagger)
			families.EditConfig(t, dir, map[string]any{"pad_token_id": 3})
			m := mustLoad(t, dir, nil)
			if m.Kind() != kind {
				t.Fatalf("%s: the kind is %v", class+end, m.Kind())
			}
			l := labelling{model: m, texts: [][]Token{tokens, tokens[:4]}} // 3 at the end is padding
			got, err := l.numbers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, numbers := range got {
				if kind == Tagger {
					numbers = numbers[3*len(want):][:len(want)]
				}
				if d := farthest(numbers, want); d > 2e-4 {
					t.Errorf("%s: text %d: logits differ by %.2g", class+end, i, d)
				}
			}
			if _, err := m.NewSession(nil); !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s: a session: %v", class+end, err)
			}
			if kind == Classifier {
				file := mustLoad(t, asGGUF(t, dir), nil)
				l := labelling{model: file, texts: l.texts}
				again, err := l.numbers(t.Context())
				if err != nil || farthest(again[0], got[0]) > 1e-5 || file.Kind() != kind {
					t.Errorf("%s as a GGUF file: %v, %v", class, file.Kind(), err)
				}
			}
		}
	}
}

// logitsAfter returns a model's logits after tokens, without a limit on them.
func logitsAfter(t *testing.T, m *Model, tokens []Token) []float32 {
	t.Helper()
	s, err := m.NewSession(&SessionOptions{KV: tensor.F32})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Prefill(t.Context(), tokens); err != nil {
		t.Fatal(err)
	}
	logits, err := s.Logits()
	if err != nil {
		t.Fatal(err)
	}
	logits = slices.Clone(logits)
	if c := m.config.LogitCap; c != 0 {
		for i, v := range logits {
			logits[i] = float32(c * math.Atanh(float64(v)/c))
		}
	}
	return logits
}

// TestDistilBERT makes DistilBERT of a BERT: another way to name the same, but for the types of tokens, which are added to positions here. The head's
// first layer has another activation.
func TestDistilBERT(t *testing.T) {
	dir := fixture.Path(t, "families/enc-bert")
	g := readTexts(t, dir)
	renamed := strings.NewReplacer("encoder.layer.", "transformer.layer.", "attention.self.query", "attention.q_lin", "attention.self.key", "attention.k_lin",
		"attention.self.value", "attention.v_lin", "attention.output.dense", "attention.out_lin", "attention.output.LayerNorm", "sa_layer_norm",
		"intermediate.dense", "ffn.lin1", "output.dense", "ffn.lin2", "output.LayerNorm", "output_layer_norm")
	families.EditTensors(t, dir, func(list []safetensors.Tensor) (result []safetensors.Tensor) {
		var types []byte
		for _, one := range list {
			if strings.Contains(one.Name, "token_type_embeddings") {
				types = one.Data
			}
		}
		for _, one := range list {
			switch {
			case strings.Contains(one.Name, "token_type_embeddings"), strings.Contains(one.Name, "pooler"):
				continue
			case strings.Contains(one.Name, "position_embeddings"):
				one.Data = slices.Clone(one.Data)
				for i := 0; i < len(one.Data); i += 4 {
					at := func(b []byte, i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[i:])) }
					binary.LittleEndian.PutUint32(one.Data[i:], math.Float32bits(at(one.Data, i)+at(types, i%(4*64))))
				}
			}
			one.Name = renamed.Replace(one.Name)
			result = append(result, one)
		}
		return result
	})
	c := mustLoad(t, fixture.Path(t, "families/enc-bert"), nil).Config()
	families.EditConfig(t, dir, map[string]any{"architectures": []string{"DistilBertModel"}, "model_type": "distilbert", "dim": c.HiddenSize, "hidden_size": nil,
		"n_heads": c.Heads, "num_attention_heads": nil, "n_layers": c.Layers, "num_hidden_layers": nil, "hidden_dim": c.IntermediateSize, "intermediate_size": nil,
		"type_vocab_size": nil, "activation": "gelu", "hidden_act": nil, "layer_norm_eps": nil})
	for _, m := range []*Model{mustLoad(t, dir, nil), mustLoad(t, asGGUF(t, dir), nil)} {
		e := embedding{model: m}
		vectors, err := e.tokens(t.Context(), g.tokens)
		if err != nil {
			t.Fatal(err)
		}
		for i := range vectors {
			if d := farthest(vectors[i], g.vectors[i]); d > 1e-4 {
				t.Errorf("text %d: vectors differ by %.2g", i, d)
			}
		}
	}
	one := func(name string, shape ...int) safetensors.Tensor {
		n := 4
		for _, d := range shape {
			n *= d
		}
		data := make([]byte, n)
		for i := 0; i < n; i += 4 {
			binary.LittleEndian.PutUint32(data[i:], math.Float32bits(float32(math.Sin(float64(i+len(name))))/4))
		}
		return safetensors.Tensor{Name: name, DType: "F32", Shape: shape, Data: data}
	}
	head := []safetensors.Tensor{one("pre_classifier.weight", 64, 64), one("pre_classifier.bias", 64), one("classifier.weight", 2, 64), one("classifier.bias", 2)}
	families.EditTensors(t, dir, func(list []safetensors.Tensor) []safetensors.Tensor {
		for i := range list {
			list[i].Name = "distilbert." + strings.TrimPrefix(list[i].Name, "distilbert.")
		}
		return append(list, head...)
	})
	families.EditConfig(t, dir, map[string]any{"architectures": []string{"DistilBertForSequenceClassification"}})
	if err := os.Remove(filepath.Join(dir, checkpoint.ModulesFile)); err != nil {
		t.Fatal(err)
	}
	m := mustLoad(t, dir, nil)
	l := labelling{model: m, texts: g.tokens}
	got, err := l.numbers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := func(n, i int) float64 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(head[n].Data[4*i:])))
	}
	for i, states := range g.hidden {
		want := []float32{0, 0}
		for label := range want {
			sum := at(3, label)
			for j := range 64 {
				x := at(1, j)
				for k := range 64 {
					x += at(0, 64*j+k) * float64(states[k])
				}
				sum += at(2, 64*label+j) * max(x, 0)
			}
			want[label] = float32(sum)
		}
		if d := farthest(got[i], want); d > 1e-4 {
			t.Errorf("text %d: logits differ by %.2g", i, d)
		}
	}
}

// TestClassifyRefuses asks for labels that there are not.
func TestClassifyRefuses(t *testing.T) {
	classifier, tagger := mustLoad(t, fixture.Path(t, "families/cls-bert"), nil), mustLoad(t, fixture.Path(t, "families/tok-bert"), nil)
	reranker, encoder := mustLoad(t, fixture.Path(t, "families/rank-bert"), nil), mustLoad(t, fixture.Path(t, "families/enc-bert"), nil)
	for _, m := range []*Model{tagger, encoder} {
		if _, err := m.Classify(t.Context(), "a"); !errors.Is(err, ErrUnsupported) {
			t.Errorf("Classify of %v: %v", m.Kind(), err)
		}
	}
	if _, err := classifier.Rerank(t.Context(), "a", "b"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("Rerank: %v", err)
	}
	if _, err := classifier.Embed(t.Context(), "a"); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "Model.Classify") {
		t.Errorf("Embed: %v", err)
	}
	if _, err := tagger.NewPool(nil); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "Model.Entities") {
		t.Errorf("a pool: %v", err)
	}
	var full *ContextFullError
	long := strings.Repeat("wood ", 200)
	if _, err := classifier.Classify(t.Context(), "a", long); !errors.As(err, &full) || full.Room != classifier.LongestText() {
		t.Errorf("a text beyond the context: %v", err)
	}
	if _, err := classifier.ClassifyPairs(t.Context(), [2]string{"a", long}); !errors.As(err, &full) {
		t.Errorf("a pair beyond the context: %v", err)
	}
	if all, err := classifier.Classify(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("no texts: %v, %v", all, err)
	}
	scores, err := reranker.Rerank(t.Context(), "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	labels, err := reranker.ClassifyPairs(t.Context(), [2]string{"a", "b"})
	if want := 1 / (1 + math.Exp(-float64(scores[0]))); err != nil || len(labels[0]) != 1 || math.Abs(float64(labels[0][0].Score)-want) > 1e-6 {
		t.Errorf("the label of a reranker: %v, %v, want %g", labels, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := classifier.Classify(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestHeadsOfFolders reads what config.json says of heads.
func TestHeadsOfFolders(t *testing.T) {
	load := func(members map[string]any) (*Model, error) {
		dir := fixture.Path(t, "families/cls-bert")
		families.EditConfig(t, dir, members)
		return Load(dir, nil)
	}
	for _, c := range []struct {
		members map[string]any
		labels  string
		problem string // of the scores
	}{
		{map[string]any{"id2label": nil, "num_labels": 4}, "LABEL_0 LABEL_1 LABEL_2 LABEL_3", "sum"},
		{map[string]any{"id2label": map[string]any{"3": "d", "1": "b", "0": 7, "2": "c"}}, "7 b c d", "sum"},
		{map[string]any{"problem_type": "regression"}, "negative neutral positive mixed", "plain"},
		{map[string]any{"problem_type": "multi_label_classification"}, "negative neutral positive mixed", "each"},
	} {
		m, err := load(c.members)
		if err != nil {
			t.Errorf("%v: %v", c.members, err)
			continue
		}
		labels, err := m.Classify(t.Context(), "wood")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		sum, inside := 0.0, true
		for _, l := range labels[0] {
			names, sum, inside = append(names, l.Name), sum+float64(l.Score), inside && l.Score > 0 && l.Score < 1
		}
		one := math.Abs(sum-1) < 1e-6
		if got := strings.Join(names, " "); got != c.labels || (c.problem == "sum") != one || (c.problem == "each") != (inside && !one) {
			t.Errorf("%v: %v", c.members, labels[0])
		}
		m.Close()
	}
	for text, members := range map[string]map[string]any{
		"problem_type": {"problem_type": "guessing"}, "numbers of 2 labels": {"id2label": map[string]any{"0": "a", "2": "b"}}, "no text": {"id2label": map[string]any{"0": []int{1}}},
		"num_labels is -1": {"id2label": nil, "num_labels": -1}, "classifier.weight": {"id2label": map[string]any{"0": "a", "1": "b"}},
	} {
		if m, err := load(members); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %v, want an error about %s", members, err, text)
			if m != nil {
				m.Close()
			}
		}
	}
}
