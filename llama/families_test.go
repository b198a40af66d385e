package llama

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/tensor"
)

// familyNames are the fixtures of families other than Llama.
var familyNames = []string{"mistral", "qwen2", "qwen3", "smollm3", "granite", "phi3", "phi3-longrope", "olmo2", "gemma3", "gemma", "gemma2", "olmo3", "qwen3-yarn", "llama-yarn", "gemma3-wrapper", "mistral3-wrapper", "qwen3vl-wrapper", "phi4mini", "ministral3",
	"qwen35", "qwen35-wrapper", "lfm2", "granite4h", "qwen35moe", "qwen3next", "qwen3moe", "mixtral", "granite-moe", "granite4h-moe", "glm4moe", "gptoss", "gemma4-e", "gemma4-dense", "gemma4-moe"}

// family returns a family's model and its golden results.
func family(t *testing.T, name string) (*Model, golden) {
	t.Helper()
	dir := fixture.Path(t, "families/"+name)
	var o *LoadOptions
	if name == "gptoss" { // products with its four-bit experts round activations
		o = &LoadOptions{Weights: tensor.F32}
	}
	return mustLoad(t, dir, o), readGolden(t, filepath.Join(dir, "golden.safetensors"))
}

// tolerances are the largest relative errors of logits, 1e-5 if not listed.
var tolerances = map[string]float64{
	"phi3-longrope": 4e-5, // the reference itself moves by 1e-5 from one version of torch to another
	"phi4mini":      4e-5, // as phi3-longrope
	"gptoss":        2e-5, // YaRN multiplies cosines by a factor that the reference has in float32
	"qwen35moe":     4e-5, // as qwen35
	"qwen3next":     4e-5, // as qwen35
	"qwen35":        4e-5, // the reference computes the delta rule of 64 tokens at a time
	"gemma3":        2e-4, // embeddings are scaled by a BF16 number, as in models of BF16, but in the reference by a float32
}

// TestFamiliesEqualTransformers compares logits with those of transformers.
func TestFamiliesEqualTransformers(t *testing.T) {
	ctx := context.Background()
	for _, name := range familyNames {
		t.Run(name, func(t *testing.T) {
			m, g := family(t, name)
			worst, tolerance := 0.0, cmp.Or(tolerances[name], 1e-5)
			check := func(s *Session, n int, how string) {
				e := relativeError(logitsOf(s), g.logits[n-1])
				worst = max(worst, e)
				if e > tolerance {
					t.Errorf("%s, %d tokens: relative error %.2g", how, n, e)
				}
			}
			chunks := []int{1, 5, 100}
			for i, chunk := range chunks {
				o := &SessionOptions{KV: tensor.F32, Chunk: chunk}
				for n := 1; n <= len(g.input); n++ {
					if n < len(g.input) && n%len(chunks) != i && !effort.Long() {
						continue // lengths take turns with chunks
					}
					s := mustSession(t, m, o)
					if err := s.Prefill(ctx, g.input[:n]); err != nil {
						t.Fatal(err)
					}
					check(s, n, "prefill")
					s.Close()
				}
			}
			s := mustSession(t, m, &SessionOptions{KV: tensor.F32})
			for i, token := range g.input {
				if err := s.Prefill(ctx, []Token{token}); err != nil {
					t.Fatal(err)
				}
				check(s, i+1, "one by one")
			}
			t.Logf("largest relative error %.2g", worst)
		})
	}
}

// TestFamiliesGreedyTokensEqualTransformers goes on greedily. transformers gives all tokens of longrope the angles of the present length,
// and so do we for a session that may become that long: beyond the original context the conversation is computed anew.
func TestFamiliesGreedyTokensEqualTransformers(t *testing.T) {
	const prompt = 8
	for _, name := range familyNames {
		t.Run(name, func(t *testing.T) {
			m, g := family(t, name)
			original := m.config.RoPE.OriginalContext
			o := &SessionOptions{KV: tensor.F32}
			if m.config.RoPE.Long != nil {
				o.Capacity = original
			}
			s := mustSession(t, m, o)
			got := slices.Clone(g.greedy[:prompt])
			if err := s.Prefill(t.Context(), got); err != nil {
				t.Fatal(err)
			}
			for len(got) < len(g.greedy) { // end-of-text is ignored, so not Generate
				logits := logitsOf(s)
				got = append(got, Token(slices.Index(logits, slices.Max(logits))))
				fresh := got[len(got)-1:]
				if m.config.RoPE.Long != nil && len(got) == original+1 {
					s, fresh = mustSession(t, m, &SessionOptions{KV: tensor.F32}), got
				}
				if err := s.Prefill(t.Context(), fresh); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, g.greedy) {
				t.Errorf("greedy tokens %v, want %v", got, g.greedy)
			}
		})
	}
}

// expertFloats returns the elements of a tensor of experts, in whichever form a folder has it.
func expertFloats(t *testing.T, weights *checkpoint.Weights, w *checkpoint.Tensor) (values []float32) {
	for _, form := range w.Forms.HuggingFace {
		if _, _, err := weights.Tensor(form.Of(0)); err != nil {
			continue
		}
		for e := range w.Shape[0] {
			stored, _, err := weights.Tensor(form.Of(e))
			if err != nil {
				t.Fatal(err)
			}
			var all []float32
			if form.Exponents != "" {
				exponents, _, err := weights.Tensor(form.Exponents)
				if err != nil {
					t.Fatal(err)
				}
				for i, b := range stored.Data {
					scale := math.Ldexp(1, int(exponents.Data[i/16])-127)
					all = append(all, float32(scale*e2m1[b&15]), float32(scale*e2m1[b>>4]))
				}
			} else {
				d, _ := stored.ElementType()
				all = make([]float32, len(stored.Data)/d.Format().Bytes(1))
				if err := d.Format().Dequantize(all, stored.Data); err != nil {
					t.Fatal(err)
				}
			}
			if !form.Each() {
				n := len(all) / w.Shape[0]
				all = all[e*n:][:n]
			}
			width := len(all) / form.Rows
			for row := range w.Shape[1] {
				values = append(values, all[(form.First+row*form.Step)*width:][:width]...)
			}
		}
		return values
	}
	t.Fatalf("%v is in none of the forms", w.Forms.HuggingFace)
	return nil
}

// e2m1 are the numbers of four bits of MXFP4.
var e2m1 = []float64{0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6}

// partOf returns the elements of a tensor of a folder as GGUF has them.
func partOf(t *testing.T, weights *checkpoint.Weights, w *checkpoint.Tensor) []float32 {
	t.Helper()
	from, row := w.HuggingFace, func(row int) int { return row }
	if whole := &w.Within.HuggingFace; whole.Name != "" {
		from, row = whole.Name, whole.Row
	}
	stored, _, err := weights.Tensor(from)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := stored.ElementType()
	all := make([]float32, len(stored.Data)/d.Format().Bytes(1))
	if err := d.Format().Dequantize(all, stored.Data); err != nil {
		t.Fatal(err)
	}
	width := len(all) / stored.Shape[0]
	values := make([]float32, w.Shape[0]*width)
	for i := range w.Shape[0] {
		to := i
		switch {
		case w.HeadDim != 0:
			to = checkpoint.PairedRow(i, w.HeadDim)
		case w.Tiled.KeyHeads != 0 && !w.Tiled.Columns:
			to = w.Tiled.Tiled(i)
		}
		copy(values[to*width:][:width], all[row(i)*width:])
	}
	if w.Tiled.Columns {
		grouped := slices.Clone(values)
		for i := range values {
			values[i] = grouped[i-i%width+w.Tiled.Grouped(i%width)]
		}
	}
	for i, v := range values {
		switch {
		case w.PlusOne:
			values[i]++
		case w.Change == checkpoint.Decayed:
			values[i] = float32(-math.Exp(float64(v)))
		}
	}
	return values
}

// asGGUF writes a folder's model as a GGUF file as llama.cpp's conversion does: rows in pairs and fused tensors if the architecture has
// them, and the weights of norms as factors.
func asGGUF(t *testing.T, dir string) string {
	t.Helper()
	read := checkpoint.Folder(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) })
	c, err := read.Config()
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := read.Pipeline()
	if err != nil {
		t.Fatal(err)
	}
	c.Dense = pipeline.Dense
	weights, err := read.Weights(read, c.Dense...)
	if err != nil {
		t.Fatal(err)
	}
	var infos []gguf.TensorInfo
	var all [][]byte
	add := func(name string, shape []int, values []float32) {
		data := make([]byte, 4*len(values))
		if err := tensor.F32.Format().Quantize(data, values); err != nil {
			t.Fatal(err)
		}
		infos, all = append(infos, gguf.TensorInfo{Name: name, Type: gguf.F32, Shape: shape}), append(all, data)
	}
	divisors, err := c.GGUFDivisors()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range divisors {
		add(d.Name, []int{len(d.List)}, d.List)
	}
	wholes, filled := map[string][]float32{}, map[string]int{} // tensors of several parts
	for _, w := range c.Tensors() {
		if w.Forms.GGUF != nil {
			form, values := w.Forms.GGUF[0], expertFloats(t, weights, &w)
			if form.Rows == w.Shape[1] {
				add(w.GGUF, w.Shape, values)
				continue
			}
			experts, width := w.Shape[0], w.Shape[2] // gate and up in one
			if wholes[form.Name] == nil {
				wholes[form.Name] = make([]float32, experts*form.Rows*width)
			}
			for e := range experts {
				copy(wholes[form.Name][(e*form.Rows+form.First)*width:], values[e*w.Shape[1]*width:][:w.Shape[1]*width])
			}
			if filled[form.Name] += w.Shape[1]; filled[form.Name] == form.Rows {
				add(form.Name, []int{experts, form.Rows, width}, wholes[form.Name])
			}
			continue
		}
		values := partOf(t, weights, &w)
		shape, whole := w.Shape, &w.Within.GGUF
		if w.GGUFShape != nil {
			shape = w.GGUFShape
		}
		if whole.Name == "" {
			add(w.GGUF, shape, values)
			continue
		}
		width := len(values) / w.Shape[0]
		if wholes[whole.Name] == nil {
			wholes[whole.Name] = make([]float32, whole.Rows*width)
		}
		for row := range w.Shape[0] {
			copy(wholes[whole.Name][whole.Row(row)*width:], values[row*width:][:width])
		}
		filled[whole.Name] += w.Shape[0]
		if filled[whole.Name] == whole.Rows {
			shape = slices.Clone(shape)
			shape[0] = whole.Rows
			add(whole.Name, shape, wholes[whole.Name])
		}
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pooling, err := pipeline.Metadata(c)
	if err != nil {
		t.Fatal(err)
	}
	w, err := gguf.NewWriter(file, append(c.Metadata("test"), pooling...), infos)
	if err != nil {
		t.Fatal(err)
	}
	for i, info := range infos {
		if err := w.WriteTensor(info.Name, all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFamiliesAreTheSameInGGUF compares logits of a folder, in floats of 32 bits, with those of the same model as a GGUF file.
func TestFamiliesAreTheSameInGGUF(t *testing.T) {
	for _, name := range familyNames {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "families/"+name)
			g := readGolden(t, filepath.Join(dir, "golden.safetensors"))
			var logits [2][]float32
			for i, path := range []string{dir, asGGUF(t, dir)} {
				m := mustLoad(t, path, &LoadOptions{Weights: tensor.F32})
				s := mustSession(t, m, &SessionOptions{KV: tensor.F32})
				if err := s.Prefill(t.Context(), g.input); err != nil {
					t.Fatal(err)
				}
				logits[i] = logitsOf(s)
			}
			if e := relativeError(logits[1], logits[0]); e > 1e-5 { // longrope: GGUF has the factor of attention in 32 bits
				t.Errorf("relative error %.2g", e)
			}
		})
	}
}

// TestUnknownArchitecturesAreRefused names those that are known.
func TestUnknownArchitecturesAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"model_type":"mamba"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Load(dir, nil)
	if !errors.Is(err, ErrUnsupported) {
		t.Fatalf("%v does not wrap ErrUnsupported", err)
	}
	for _, name := range []string{"mamba", "llama", "mistral", "qwen2", "qwen3", "smollm3", "granite", "phi3", "olmo2", "gemma3_text"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

// TestGemma3nIsRefused loads what says that it is Gemma 3n, as folders, as a wrapper and in GGUF: the error has its name.
func TestGemma3nIsRefused(t *testing.T) {
	refused := func(path, name string) {
		t.Helper()
		if _, err := Load(path, nil); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want an error with %q that wraps ErrUnsupported", err, name)
		}
	}
	for name, config := range map[string]string{
		`"gemma3n_text"`: `{"model_type": "gemma3n_text"}`,
		`"gemma3n"`:      `{"model_type": "gemma3n"}`,
		`gemma3n`:        `{"model_type": "gemma3n", "vision_config": {}, "text_config": {"model_type": "gemma3n_text", "hidden_size": 64}}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		refused(dir, name)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := gguf.NewWriter(file, []gguf.KeyValue{{Key: checkpoint.ArchitectureKey, Value: gguf.ValueOf("gemma3n")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	refused(path, `"gemma3n"`)
}
