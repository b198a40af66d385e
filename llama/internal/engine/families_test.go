package engine_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
	"github.com/antigravity-go/antigravity/tensor"
)

// tolerances are the largest relative errors of logits, 1e-5 if not listed.
var tolerances = map[string]float64{
	"phi3-longrope":   4e-5, // the reference itself moves by 1e-5 from one version of torch to another
	"phi4mini":        4e-5, // as phi3-longrope
	"mtp-deepseek-v3": 4e-5, // as glm4moelite
	"glm4moelite":     4e-5, // the reference computes with the keys and values of heads, and not with rows
	"gemma3n":         4e-5, // what the streams gain is small next to the streams
	"gptoss":          2e-5, // YaRN multiplies cosines by a factor that the reference has in float32
	"qwen35moe":       4e-5, // as qwen35
	"qwen3next":       4e-5, // as qwen35
	"qwen35":          4e-5, // the reference computes the delta rule of 64 tokens at a time
	"gemma3":          2e-4, // embeddings are scaled by a BF16 number, as in models of BF16, but in the reference by a float32
}

// compared is a fixture, its model, which is loaded once for all comparisons, and what transformers computed.
type compared struct {
	name, dir string
	model     *llama.Model
	golden    families.Golden[llama.Token]
	logits    []float32 // the model's after the prompt
}

// TestFamilies compares each family's fixture, of random weights, with transformers, with its GGUF file, and with itself on a device that
// has warmed up.
func TestFamilies(t *testing.T) {
	for _, name := range families.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompared(t, name, "families/"+name)
			lengths, kv := []int{1, 5, 100}, tensor.F32
			t.Run("logits", func(t *testing.T) { c.logitsEqual(t, cmp.Or(tolerances[name], 1e-5), effort.Long(), lengths...) })
			t.Run("greedy", func(t *testing.T) { c.greedyEqual(t, &llama.SessionOptions{KV: kv}) })
			t.Run("GGUF", c.sameInGGUF)
			t.Run("warm", c.sameAfterWarmingUp)
		})
	}
}

// TestLlamaEqualsTransformers does it with Llamas.
func TestLlamaEqualsTransformers(t *testing.T) {
	for _, name := range []string{"llama32-tied-bf16", "llama32-sharded-f16", "llama2-mha-f32"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompared(t, name, "hf/"+name)
			t.Run("logits", func(t *testing.T) { c.logitsEqual(t, 1e-5, true, 5) })
			t.Run("greedy", func(t *testing.T) { c.greedyEqual(t, nil) })
			t.Run("GGUF", c.sameInGGUF)
			t.Run("warm", c.sameAfterWarmingUp)
		})
	}
}

// TestFolderAlone compares what GGUF has no place for with transformers: a Falcon-H1 with norms and groups of heads, and a table of embeddings that is
// multiplied by another number than logits are.
func TestFolderAlone(t *testing.T) {
	c := newCompared(t, "falcon-h1-normed", "families/falcon-h1-normed")
	c.logitsEqual(t, 1e-5, false, 1, 5, 100)
	c.greedyEqual(t, nil)
}

// newCompared loads a fixture.
func newCompared(t *testing.T, name, folder string) *compared {
	t.Helper()
	dir := fixture.Path(t, folder)
	var o *llama.LoadOptions
	if name == "gptoss" { // products with its four-bit experts round activations
		o = &llama.LoadOptions{Weights: tensor.F32}
	}
	c := &compared{name: name, dir: dir, model: llamatest.Load(t, dir, o), golden: families.ReadGolden[llama.Token](t, filepath.Join(dir, "golden.safetensors"))}
	c.logits = prefilled(t, c.model, c.golden.Input)
	return c
}

// prefilled returns the logits of a model after tokens.
func prefilled(t *testing.T, m *llama.Model, tokens []llama.Token) []float32 {
	t.Helper()
	s := llamatest.Session(t, m, &llama.SessionOptions{KV: tensor.F32})
	if err := s.Prefill(t.Context(), tokens); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(llamatest.Logits(s))
}

// logitsEqual compares logits after prompts of every length, and after each token alone. Unless all is asked for, lengths take turns with the sizes
// of chunks, and of those that are more than 12 a tenth is tried.
func (c *compared) logitsEqual(t *testing.T, tolerance float64, all bool, chunks ...int) {
	worst, g := 0.0, c.golden
	check := func(s *llama.Session, n int, how string) {
		e := families.RelativeError(llamatest.Logits(s), g.Logits[n-1])
		worst = max(worst, e)
		if e > tolerance {
			t.Errorf("%s, %d tokens: relative error %.2g", how, n, e)
		}
	}
	for i, chunk := range chunks {
		o := &llama.SessionOptions{KV: tensor.F32, Chunk: chunk}
		for n := 1; n <= len(g.Input); n++ {
			if n < len(g.Input) && !all && (n%len(chunks) != i || n > 12 && !effort.Share(n/len(chunks), 10)) {
				continue
			}
			s := llamatest.Session(t, c.model, o)
			if err := s.Prefill(t.Context(), g.Input[:n]); err != nil {
				t.Fatal(err)
			}
			check(s, n, fmt.Sprint("chunks of ", chunk))
			s.Close()
		}
	}
	s := llamatest.Session(t, c.model, &llama.SessionOptions{KV: tensor.F32})
	for i, token := range g.Input {
		if err := s.Prefill(t.Context(), []llama.Token{token}); err != nil {
			t.Fatal(err)
		}
		check(s, i+1, "one by one")
	}
	t.Logf("largest relative error %.2g", worst)
}

// greedyEqual goes on greedily. transformers gives all tokens of longrope the angles of the present length, and so do we for a session that
// may become that long: beyond the original context the conversation is computed anew.
func (c *compared) greedyEqual(t *testing.T, o *llama.SessionOptions) {
	const prompt = 8
	rope, want := c.model.Config().RoPE, c.golden.Greedy
	long := rope.Long != nil
	first := o
	if long {
		short := *o
		short.Capacity = rope.OriginalContext
		first = &short
	}
	s := llamatest.Session(t, c.model, first)
	got := slices.Clone(want[:prompt])
	if err := s.Prefill(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	for len(got) < len(want) { // end-of-text is ignored, so not Generate
		logits := llamatest.Logits(s)
		got = append(got, llama.Token(slices.Index(logits, slices.Max(logits))))
		fresh := got[len(got)-1:]
		if long && len(got) == rope.OriginalContext+1 {
			s, fresh = llamatest.Session(t, c.model, o), got
		}
		if err := s.Prefill(t.Context(), fresh); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("greedy tokens %v, want %v", got, want)
	}
}

// sameInGGUF compares logits with those of the same model as a GGUF file, in floats of 32 bits.
func (c *compared) sameInGGUF(t *testing.T) {
	m := llamatest.Load(t, families.GGUF(t, c.dir), &llama.LoadOptions{Weights: tensor.F32})
	if e := families.RelativeError(prefilled(t, m, c.golden.Input), c.logits); e > 1e-5 { // longrope: GGUF has the factor of attention in 32 bits
		t.Errorf("relative error %.2g", e)
	}
}

// sameAfterWarmingUp loads the model for a device that computes passes before the first session, and compares logits.
func (c *compared) sameAfterWarmingUp(t *testing.T) {
	w := newWarmer(t, [2]int{1, 1}, [2]int{5, 1}, [2]int{1, 40}, [2]int{64, 1}, [2]int{1, 1 << 20})
	var progress []string
	o := &llama.LoadOptions{Backend: w, Warming: func(done, total int) { progress = append(progress, fmt.Sprint(done, "/", total)) }}
	want := c.logits
	if c.name == "gptoss" {
		want = prefilled(t, llamatest.Load(t, c.dir, nil), c.golden.Input)
	}
	m := llamatest.Load(t, c.dir, o)
	if got := strings.Join(progress, " "); got != "1/5 2/5 3/5 4/5 5/5" || w.warming.Within <= 0 {
		t.Errorf("progress %s, within %v", got, w.warming.Within)
	}
	if w.used[0] != w.used[1] {
		t.Errorf("memory is %d bytes after warming up, %d before", w.used[1], w.used[0])
	}
	if !slices.Equal(prefilled(t, m, c.golden.Input), want) {
		t.Error("the logits are others after warming up")
	}
}
