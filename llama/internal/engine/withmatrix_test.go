package engine_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// matrixFamilies are families that have all kinds of matrices together.
var matrixFamilies = []string{"qwen3", "gemma3", "qwen35", "phi3", "lfm2"}

// matrices are what GGUF calls the matrices of a layer that may have scales; biased are those that may have biases, too.
var (
	biased   = []string{"attn_q", "attn_k", "attn_v", "attn_qkv", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}
	matrices = append(slices.Clone(biased), "attn_gate", "ssm_in", "ssm_out", "ssm_alpha", "ssm_beta", "shortconv.in_proj", "shortconv.out_proj", "ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp")
)

// eachMatrixFile calls try with a family's file in floats of 32 bits.
func eachMatrixFile(t *testing.T, try func(t *testing.T, f *families.File)) {
	names := matrixFamilies
	if effort.Long() {
		names = families.Names
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			try(t, families.ReadFile(t, families.GGUF(t, fixture.Path(t, "families/"+name))))
		})
	}
}

// logitsOfFile returns what a file computes after some tokens.
func logitsOfFile(t *testing.T, f *families.File) []float32 {
	t.Helper()
	m, err := llama.LoadFS(t.Context(), fstest.MapFS{"m.gguf": {Data: f.Bytes(t)}}, "m.gguf", &llama.LoadOptions{Weights: tensor.F32})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	return prefilled(t, m, []llama.Token{1, 5, 9, 20, 33, 7, 11, 2, 30})
}

// named reports whether a tensor is the weight of one of some parts of a layer.
func named(tensor *gguf.Tensor, parts []string) bool {
	layer, ok := strings.CutPrefix(tensor.Name, "blk.")
	_, part, _ := strings.Cut(layer, ".")
	stem, weight := strings.CutSuffix(part, ".weight")
	return ok && weight && slices.Contains(parts, stem)
}

// TestScalesAreMultiplied gives matrices scales of powers of two: then the bits are those of the file with the products.
func TestScalesAreMultiplied(t *testing.T) {
	eachMatrixFile(t, func(t *testing.T, clean *families.File) {
		scaled, product := clean.Clone(), clean.Clone()
		r := rand.New(rand.NewPCG(3, 5))
		count := 0
		for i := range clean.Tensors {
			w := &clean.Tensors[i]
			if !named(w, matrices) || r.IntN(2) == 0 {
				continue
			}
			count++
			scale := []float32{0.5, 2, 0.25, 1}[r.IntN(4)]
			scaled.Add(t, strings.TrimSuffix(w.Name, "weight")+"scale", []int{1}, scale)
			scaled.Add(t, strings.TrimSuffix(w.Name, "weight")+"input_scale", []int{1}, 77)
			values := make([]float32, len(w.Data)/4)
			if err := tensor.F32.Format().Dequantize(values, w.Data); err != nil {
				t.Fatal(err)
			}
			for n := range values {
				values[n] *= scale
			}
			again := &families.File{}
			again.Add(t, w.Name, w.Shape, values...)
			product.Tensors[i] = again.Tensors[0]
		}
		if want := logitsOfFile(t, product); count < 4 || !slices.Equal(logitsOfFile(t, scaled), want) || slices.Equal(want, logitsOfFile(t, clean)) {
			t.Errorf("%d scales are not what products are multiplied by", count)
		}
	})
}

// TestScalesOfExpertsAreMultiplied gives experts scales of powers of two, a number for each: then the bits are those of the file with the products.
func TestScalesOfExpertsAreMultiplied(t *testing.T) {
	names := []string{"qwen3moe", "granite-moe", "glm4moe"} // Gemma 4 has scales of its own already
	for at, name := range names {
		if !effort.Share(at, 2) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clean := families.ReadFile(t, families.GGUF(t, fixture.Path(t, "families/"+name)))
			scaled, product := clean.Clone(), clean.Clone()
			r := rand.New(rand.NewPCG(3, 5))
			count := 0
			for i := range clean.Tensors {
				w := &clean.Tensors[i]
				scaleName := strings.TrimSuffix(w.Name, "weight") + "scale"
				there := slices.ContainsFunc(clean.Tensors, func(t gguf.Tensor) bool { return t.Name == scaleName })
				if there || !named(w, []string{"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"}) || r.IntN(3) == 0 {
					continue
				}
				count++
				values := make([]float32, len(w.Data)/4)
				if err := tensor.F32.Format().Dequantize(values, w.Data); err != nil {
					t.Fatal(err)
				}
				experts := w.Shape[0]
				scales := make([]float32, experts)
				for e := range scales {
					scales[e] = []float32{0.5, 2, 0.25, 1}[r.IntN(4)]
					for n := range len(values) / experts {
						values[e*len(values)/experts+n] *= scales[e]
					}
				}
				scaled.Add(t, scaleName, []int{experts}, scales...)
				again := &families.File{}
				again.Add(t, w.Name, w.Shape, values...)
				product.Tensors[i] = again.Tensors[0]
			}
			if want := logitsOfFile(t, product); count < 2 || !slices.Equal(logitsOfFile(t, scaled), want) || slices.Equal(want, logitsOfFile(t, clean)) {
				t.Errorf("%d scales are not what the products of experts are multiplied by", count)
			}
		})
	}
}

// TestBiasesOfAnyLayer gives some matrices biases. Then the bits are those of a file in which all have biases, the others of zeros.
func TestBiasesOfAnyLayer(t *testing.T) {
	eachMatrixFile(t, func(t *testing.T, clean *families.File) {
		some, all := clean.Clone(), clean.Clone()
		r := rand.New(rand.NewPCG(3, 7))
		count := 0
		for i := range clean.Tensors {
			w := &clean.Tensors[i]
			name := strings.TrimSuffix(w.Name, "weight") + "bias"
			if !named(w, biased) || hasState(clean, w) || slices.ContainsFunc(clean.Tensors, func(t gguf.Tensor) bool { return t.Name == name }) {
				continue
			}
			values := make([]float32, w.Shape[0])
			if r.IntN(3) == 0 {
				count++
				for n := range values {
					values[n] = r.Float32() - 0.5
				}
				some.Add(t, name, w.Shape[:1], values...)
			}
			all.Add(t, name, w.Shape[:1], values...)
		}
		if want := logitsOfFile(t, all); count < 2 || !slices.Equal(logitsOfFile(t, some), want) || slices.Equal(want, logitsOfFile(t, clean)) {
			t.Errorf("%d biases are not what is added", count)
		}
	})
}

// hasState reports whether a tensor belongs to a layer with a state: its matrices have no biases.
func hasState(f *families.File, w *gguf.Tensor) bool {
	layer := strings.Join(strings.SplitAfter(w.Name, ".")[:2], "")
	return slices.ContainsFunc(f.Tensors, func(t gguf.Tensor) bool { return strings.HasPrefix(t.Name, layer+"ssm_") })
}
