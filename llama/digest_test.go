package llama_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

var updateDigests = flag.Bool("update-digests", false, "write testdata/digests.json anew")

// digest returns a hash of the logits after each of several steps: a prompt in two chunks, the first long enough for every kind of kernel,
// and fewer tokens. A model with sliding windows also gets enough tokens that its caches drop pages.
func digest(t *testing.T, m *llama.Model, kv tensor.DType) string {
	t.Helper()
	steps, capacity := []int{36, 1, 3}, 64
	if m.Config().Window > 0 {
		steps, capacity = []int{36, 1, 3, 250, 1}, 300
	}
	s := newSession(t, m, &llama.SessionOptions{KV: kv, Chunk: 33, Capacity: capacity})
	sum := sha256.New()
	vocab := m.Config().VocabSize
	for _, n := range steps {
		tokens := make([]llama.Token, n)
		for i := range tokens {
			tokens[i] = llama.Token((s.Position() + i) * 7919 % vocab)
		}
		if err := s.Prefill(context.Background(), tokens); err != nil {
			t.Fatal(err)
		}
		for _, l := range logitsOf(s) {
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(l))
			sum.Write(b[:])
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// textDigest returns a hash of the vectors of an encoder's texts, of a reranker's scores, or of a classifier's labels.
func textDigest(t *testing.T, m *llama.Model) string {
	t.Helper()
	texts := []string{"Paris is the capital of France.", "a", "naïve café 😀", strings.Repeat("The library embeds text; it promises the same bits. ", 2)}
	sum := sha256.New()
	add := func(numbers []float32, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range numbers {
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
			sum.Write(b[:])
		}
	}
	switch m.Kind() {
	case llama.Reranker:
		add(m.Rerank(context.Background(), "capital", texts...))
		return hex.EncodeToString(sum.Sum(nil)[:16])
	case llama.Classifier:
		all, err := m.Classify(context.Background(), texts...)
		for _, labels := range all {
			for _, l := range labels {
				add([]float32{l.Score}, err)
			}
		}
		add(nil, err)
		return hex.EncodeToString(sum.Sum(nil)[:16])
	case llama.Tagger:
		for _, text := range append(texts, strings.Repeat("a long text, ", 100)) {
			tags, err := m.Tags(context.Background(), text)
			add(nil, err)
			for _, tag := range tags {
				add([]float32{float32(tag.Start), float32(tag.End)}, nil)
				add(tag.Scores, nil)
			}
		}
		return hex.EncodeToString(sum.Sum(nil)[:16])
	}
	vectors, err := m.Embed(context.Background(), texts...)
	for _, v := range vectors {
		add(v, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// imageDigest returns a hash of the features of a picture, and of the logits after a prompt with the picture.
func imageDigest(t *testing.T, m *llama.Model, dir string) string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(dir, "image.1.png"))
	if err != nil {
		t.Fatal(err)
	}
	image, err := llama.NewImage(file)
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Attach(t.Context(), image, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, m, &llama.SessionOptions{Chunk: 16})
	prompt := slices.Concat([]llama.Token{20, 21, 22}, a.Tokens(), []llama.Token{23, 24})
	if err := s.Prefill(t.Context(), prompt); err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, list := range [][]float32{a.Features(), logitsOf(s)} {
		if err := binary.Write(sum, binary.LittleEndian, list); err != nil {
			t.Fatal(err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// unblocked are the fixtures with rows that are no whole blocks.
var unblocked = []string{latentModel, "nemotron-h-moe", "nemotron-h-latent", "deepseek-v2-lite", "glm4moelite", "lfm2moe", "mtp-deepseek-v3", "gemma3n", "ernie45-moe"}

// digested are the models with a Digest that is written down, too: matrices of floats and of blocks, experts, heads, convolutions and states.
var digested = []string{"pebble q4_0", "pebble q4_k_m", "llama32-tied-bf16", "llama32-tied-bf16 as q8_0", "gptoss", "deepseek-v2-lite", "qwen35moe", "granite4h", "gemma4-e"}

// TestDigests holds the logits to the bits that are written down: the same on every architecture and tier of processors,
// with any number of threads.
func TestDigests(t *testing.T) {
	const file = "testdata/digests.json"
	raw, err := os.ReadFile(file)
	if err != nil && !*updateDigests {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	if err == nil {
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
	}
	add := func(name string, load func() (*llama.Model, error), caches ...tensor.DType) {
		m, err := load()
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if !slices.Contains(digested, name) && !effort.Long() {
			// nothing is written down
		} else if weights, err := llama.Digest(t.Context(), m); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if slices.Contains(digested, name) {
			key := "weights of " + name
			got[key] = hex.EncodeToString(weights[:16])
			if got[key] != want[key] && !*updateDigests {
				t.Errorf("%s on %s have the digest %s, want %s", key, llama.Kernels(), got[key], want[key])
			}
		}
		for _, kv := range caches {
			key := fmt.Sprintf("%s, cache %v", name, kv)
			got[key] = digest(t, m, kv)
			if got[key] != want[key] && !*updateDigests {
				t.Errorf("%s on %s: logits have the digest %s, want %s", key, asm.Tier(), got[key], want[key])
			}
		}
	}
	add("pebble q4_0", func() (*llama.Model, error) { return pebble.Load(nil) }, tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0)
	for _, name := range []string{"llama32-tied-bf16", "llama32-sharded-f16", "llama2-mha-f32"} {
		dir := fixture.Path(t, "hf/"+name)
		add(name, func() (*llama.Model, error) { return llama.Load(dir, nil) }, tensor.F32, tensor.F16)
		for _, w := range []tensor.DType{tensor.Q8_0, tensor.Q4_1} {
			add(fmt.Sprintf("%s as %v", name, w), func() (*llama.Model, error) {
				return llama.Load(dir, &llama.LoadOptions{Weights: w})
			}, tensor.F16)
		}
	}
	for _, name := range families {
		dir := fixture.Path(t, "families/"+name)
		caches := []tensor.DType{tensor.F32, tensor.F16}
		if name == "gemma3" || name == "qwen3" || strings.HasPrefix(name, "gemma4") { // their heads are whole blocks
			caches = append(caches, tensor.Q8_0, tensor.Q4_0)
		}
		add(name, func() (*llama.Model, error) { return llama.Load(dir, nil) }, caches...)
		as := tensor.Q8_0
		if slices.Contains(unblocked, name) {
			as = tensor.F16
		}
		add(fmt.Sprintf("%s as %v", name, as), func() (*llama.Model, error) {
			return llama.Load(dir, &llama.LoadOptions{Weights: as})
		}, tensor.F16)
	}
	for _, name := range []string{"enc-bert", "enc-xlmr", "enc-nomic", "enc-nomic-moe", "enc-modernbert", "enc-gemma", "enc-gemma2", "enc-mpnet", "rank-bert", "rank-xlmr", "cls-bert", "cls-xlmr", "cls-modernbert", "cls-deberta", "tok-bert", "tok-modernbert", "tok-deberta", "privacy-filter"} {
		dir := fixture.Path(t, "families/"+name)
		for _, o := range []*llama.LoadOptions{nil, {Weights: tensor.Q8_0}, {Weights: tensor.F16, Threads: 1}} {
			m, err := llama.Load(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			key := name
			if o != nil {
				key += " as " + o.Weights.String()
			}
			got[key] = textDigest(t, m)
			if got[key] != want[key] && !*updateDigests {
				t.Errorf("%s on %s: vectors or scores have the digest %s, want %s", key, asm.Tier(), got[key], want[key])
			}
			m.Close()
		}
	}
	for _, name := range []string{"vl-qwen3vl", "vl-qwen35", "vl-glmocr", "vl-qwen2vl", "vl-qwen25vl", "vl-gemma4-e", "vl-gemma4-dense", "vl-gemma4-unified", "vl-gemma3", "vl-smolvlm", "vl-lfm2", "vl-mistral3"} {
		dir := fixture.Path(t, "families/"+name)
		m, err := llama.Load(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = imageDigest(t, m, dir)
		if got[name] != want[name] && !*updateDigests {
			t.Errorf("%s on %s: features and logits have the digest %s, want %s", name, asm.Tier(), got[name], want[name])
		}
		m.Close()
	}
	kquants := fixture.Path(t, "pebble/gguf/pebble-Q4_K_M.gguf")
	add("pebble q4_k_m", func() (*llama.Model, error) { return llama.Load(kquants, nil) }, tensor.F16)
	quants, err := filepath.Glob(filepath.Join(fixture.Path(t, "quants"), "*.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range quants {
		add(strings.TrimSuffix(filepath.Base(path), ".gguf"), func() (*llama.Model, error) { return llama.Load(path, nil) }, tensor.F16)
	}
	if *updateDigests {
		raw, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(raw, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
