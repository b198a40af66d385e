//go:build opencl && (amd64 || arm64)

package opencl

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// fallbacks counts the operations that the host computes in place of the device, by their names.
type fallbacks map[string]int

// watch begins to count.
func watch(b *Backend) fallbacks {
	found := fallbacks{}
	b.queue.portable.Lock()
	defer b.queue.portable.Unlock()
	b.queue.fellBack = func(operation string) { found[operation]++ }
	return found
}

// accepted are the operations that the host computes in a model's passes, with the reasons.
var accepted = map[string]map[string]string{
	"gemma4-e": {"Gather": "the table of the layers' own embeddings stays in its file, and few of its rows are read"},
	"pebble":   {"Prepare": "it reads the matrix that turns keys from the host's memory, as it reads weights"},
}

// compare reports operations that were counted and are not accepted, and those that are accepted without need.
func (f fallbacks) compare(t *testing.T, name string) {
	t.Helper()
	for _, op := range slices.Sorted(maps.Keys(f)) {
		if accepted[name][op] == "" {
			t.Errorf("the host has computed %s %d times", op, f[op])
		}
	}
	for op := range accepted[name] {
		if f[op] == 0 {
			t.Errorf("the host need not compute %s", op)
		}
	}
}

// TestNothingFallsBack computes passes of models of every kind, and looks whether the device computes all of their operations.
func TestNothingFallsBack(t *testing.T) {
	decoders := []string{"gemma2", "gptoss", "phi3", "olmo2", "gemma4-e", "qwen35", "lfm2", "granite4h-moe"}
	if effort.Long() {
		decoders = append(decoders, "mistral", "qwen2", "qwen3", "smollm3", "granite", "phi3-longrope", "gemma3", "gemma", "olmo3", "qwen3-yarn",
			"llama-yarn", "phi4mini", "ministral3", "granite4h", "qwen35moe", "qwen3next", "qwen3moe", "mixtral", "granite-moe", "glm4moe",
			"gemma4-dense", "gemma4-moe", "nemotron-h", "nemotron-h-latent", "glm4moelite")
	}
	b := openTest(t, Options{})
	b.selections.selects = true // as on devices that are no processors
	load := func(t *testing.T, path string) *llama.Model {
		m, err := llama.Load(fixture.Path(t, path), &llama.LoadOptions{Backend: b})
		must(t, err)
		t.Cleanup(func() { m.Close() })
		return m
	}
	for _, name := range decoders {
		t.Run(name, func(t *testing.T) {
			m := load(t, "families/"+name)
			found := watch(b)
			liveTogether(t, m, nil, nil)
			found.compare(t, name)
		})
	}
	for _, name := range []string{"enc-bert", "enc-modernbert", "enc-nomic", "enc-nomic-moe", "enc-gemma", "rank-xlmr"} {
		t.Run(name, func(t *testing.T) {
			m := load(t, "families/"+name)
			found := watch(b)
			var err error
			if m.Kind() == llama.Reranker {
				_, err = m.Rerank(t.Context(), "capital", "Paris is the capital of France.", "a")
			} else {
				_, err = m.Embed(t.Context(), "Paris is the capital of France.", "a")
			}
			must(t, err)
			found.compare(t, name)
		})
	}
	t.Run("adapters", func(t *testing.T) {
		m := load(t, "families/lora-all/base")
		adapter, err := m.LoadAdapter(fixture.Path(t, "families/lora-all/adapter"))
		must(t, err)
		defer adapter.Close()
		must(t, liveAlone(t, m, &llama.SessionOptions{Adapter: adapter}, 3)) // which copies its matrices
		found := watch(b)
		liveTogether(t, m, &llama.SessionOptions{Adapter: adapter}, nil)
		found.compare(t, "adapters")
	})
}

// TestPebbleFallsBackNowhere does the same with caches of all types, and with all policies.
func TestPebbleFallsBackNowhere(t *testing.T) {
	b := openTest(t, Options{})
	b.selections.selects = true
	m, err := pebble.Load(&llama.LoadOptions{Backend: b})
	must(t, err)
	defer m.Close()
	found := watch(b)
	for _, kv := range []tensor.DType{tensor.F32, tensor.Q8_0, tensor.Q4_0} {
		must(t, liveAlone(t, m, &llama.SessionOptions{KV: kv}, 20))
	}
	for _, name := range eviction.Names() {
		policy, err := eviction.ByName(name, eviction.Options{Budget: 24})
		must(t, err)
		must(t, liveAlone(t, m, &llama.SessionOptions{Capacity: 96, Chunk: 20, Eviction: policy}, 40))
	}
	found.compare(t, "pebble")
}

// liveTogether computes the tokens of two sessions, alone and in passes that they share.
func liveTogether(t *testing.T, m *llama.Model, first, second *llama.SessionOptions) {
	var all sync.WaitGroup
	for i, o := range []*llama.SessionOptions{first, second} {
		all.Go(func() {
			if err := liveAlone(t, m, o, 170-40*i); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// liveAlone computes a prompt, a greedy answer, and one that is drawn.
func liveAlone(t *testing.T, m *llama.Model, o *llama.SessionOptions, tokens int) error {
	s, err := m.NewSession(o)
	if err != nil {
		return err
	}
	defer s.Close()
	prompt := make([]llama.Token, min(tokens, m.Config().ContextLength-20))
	for i := range prompt {
		prompt[i] = llama.Token(i * 7919 % m.Config().VocabSize)
	}
	for _, p := range []llama.Params{{}, {Temperature: 1, TopK: 5}, {Temperature: 0.8, TopP: 0.9}, {Temperature: 0.8, MinP: 0.1}} {
		p.MaxTokens = 3
		if _, err := llama.Collect(s.Generate(t.Context(), prompt, p)); err != nil {
			return err
		}
		prompt = prompt[:1]
	}
	return nil
}
