package llama

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/fixture"
)

// modernHead is ModernBERT's head that classifies, as transformers defines it: classifier(norm(gelu(dense(pooled)))).
type modernHead struct {
	dense, denseBias, norm, out, outBias []float32
}

// newModernHead makes a head of random weights, with a bias of its first layer or without.
func newModernHead(hidden int, biased bool) modernHead {
	r := rand.New(rand.NewPCG(3, 4))
	floats := func(n int) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(r.NormFloat64()) / 4
		}
		return list
	}
	h := modernHead{dense: floats(hidden * hidden), norm: floats(hidden), out: floats(hidden), outBias: floats(1)}
	if biased {
		h.denseBias = floats(hidden)
	}
	return h
}

// score computes the head in double precision.
func (h *modernHead) score(pooled []float64) float64 {
	n := len(pooled)
	x := make([]float64, n)
	mean, squares := 0.0, 0.0
	for i := range x {
		for j, v := range pooled {
			x[i] += v * float64(h.dense[i*n+j])
		}
		if h.denseBias != nil {
			x[i] += float64(h.denseBias[i])
		}
		x[i] *= (1 + math.Erf(x[i]/math.Sqrt2)) / 2
		mean += x[i] / float64(n)
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean) / float64(n)
	}
	score := float64(h.outBias[0])
	for i, v := range x {
		score += (v - mean) / math.Sqrt(squares+1e-5) * float64(h.norm[i]) * float64(h.out[i])
	}
	return score
}

// write makes the folder of an encoder that of a model with the head, with some more members in config.json.
func (h *modernHead) write(t *testing.T, dir, members string) {
	t.Helper()
	path := filepath.Join(dir, checkpoint.WeightsFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	size := binary.LittleEndian.Uint64(data)
	head, tensors := map[string]json.RawMessage{}, map[string]any{}
	if err := json.Unmarshal(data[8:8+size], &head); err != nil {
		t.Fatal(err)
	}
	for name, one := range head {
		if name != "__metadata__" {
			tensors["model."+strings.TrimPrefix(name, "model.")] = one
		}
	}
	data = data[8+size:]
	add := func(name string, x []float32, shape ...int) {
		if x == nil {
			return
		}
		first := len(data)
		for _, v := range x {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		tensors[name] = entry{"F32", shape, [2]int{first, len(data)}}
	}
	hidden := len(h.norm)
	add("head.dense.weight", h.dense, hidden, hidden)
	add("head.dense.bias", h.denseBias, hidden)
	add("head.norm.weight", h.norm, hidden)
	add("classifier.weight", h.out, 1, hidden)
	add("classifier.bias", h.outBias, 1)
	text, err := json.Marshal(tensors)
	if err != nil {
		t.Fatal(err)
	}
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	if err := os.WriteFile(path, append(file, data...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "modules.json")); err != nil { // it is that of an encoder
		t.Fatal(err)
	}
	path = filepath.Join(dir, checkpoint.ConfigFile)
	config, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(config), "ModernBertModel", "ModernBertForSequenceClassification", 1)
	changed = strings.Replace(changed, `"classifier_bias": false`, members, 1)
	changed = strings.Replace(changed, `"classifier_pooling": "cls"`, `"num_labels": 1`, 1)
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestModernBERTScores compares scores with the head's definition, applied to the states that transformers computed.
func TestModernBERTScores(t *testing.T) {
	for name, c := range map[string]struct {
		mean, biased bool
		members      string
	}{
		"first token":  {false, false, `"classifier_bias": false, "classifier_pooling": "cls"`},
		"nothing said": {false, false, `"classifier_dropout": 0`},
		"mean":         {true, true, `"classifier_bias": true, "classifier_pooling": "mean"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "families/enc-modernbert")
			g, h := readTexts(t, dir), newModernHead(64, c.biased)
			h.write(t, dir, c.members)
			m := mustLoad(t, dir, nil)
			if m.Kind() != Reranker {
				t.Fatalf("the kind is %v", m.Kind())
			}
			got, err := scores(t.Context(), m, g.tokens, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, states := range g.hidden {
				pooled, rows := make([]float64, 64), 1
				if c.mean {
					rows = len(states) / 64
				}
				for j, v := range states[:rows*64] {
					pooled[j%64] += float64(v) / float64(rows)
				}
				if want := h.score(pooled); math.Abs(want-float64(got[i])) > 1e-4 {
					t.Errorf("text %d: the score is %g, want %g", i, got[i], want)
				}
			}
			pair, _ := m.Tokenizer().EncodePair(g.texts[0], g.texts[1])
			alone, err := scores(t.Context(), m, [][]Token{pair}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if reranked, err := m.Rerank(t.Context(), g.texts[0], g.texts[1]); err != nil || reranked[0] != alone[0] {
				t.Errorf("Rerank: %v, %v; want %v", reranked, err, alone)
			}
		})
	}
}
