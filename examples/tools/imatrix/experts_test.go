package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/examples/tools/internal/importance"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// filled returns a tensor with some elements.
func filled[E tensor.Element](t *testing.T, d tensor.DType, elements []E, dims ...int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.New(cpu.New(1), d, tensor.ShapeOf(dims...))
	if err != nil {
		t.Fatal(err)
	}
	to, err := tensor.Mut[E](x)
	if err != nil {
		t.Fatal(err)
	}
	copy(to, elements)
	return x
}

// TestSumsByExpert multiplies two rows with two experts each, first the rows themselves and then those of their pairs.
func TestSumsByExpert(t *testing.T) {
	device := cpu.New(1)
	defer device.Close()
	w := newWatcher(device, importance.New(2))
	weights := filled(t, tensor.F32, make([]float32, 3*16*2), 3, 16, 2)
	chosen := filled(t, tensor.I32, []int32{2, 0, 2, 0}, 2, 2)
	out := filled(t, tensor.F32, make([]float32, 4*16), 4, 16)
	w.names = map[*tensor.Tensor]string{weights: "shared"}
	if err := w.Run(&backend.MatMulExperts{X: filled(t, tensor.F32, []float32{1, 2, 3, 4}, 2, 2), W: weights, Chosen: chosen, Out: out}); err != nil {
		t.Fatal(err)
	}
	w.names[weights] = "pairs"
	if err := w.Run(&backend.MatMulExperts{X: filled(t, tensor.F32, []float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2), W: weights, Chosen: chosen, Out: out}); err != nil {
		t.Fatal(err)
	}
	for name, squares := range map[string][]float64{"shared": {10, 20, 0, 0, 10, 20}, "pairs": {58, 80, 0, 0, 26, 40}} {
		if s := w.sums.Tensors[name]; !slices.Equal(s.Squares, squares) || !slices.Equal(s.Counts, []float64{2, 0, 2}) {
			t.Errorf("%s: sums %v, counts %v", name, s.Squares, s.Counts)
		}
	}
	if err := w.Run(&backend.MatMulExperts{X: filled(t, tensor.F32, []float32{1, 2, 3, 4}, 2, 2), W: weights, Chosen: filled(t, tensor.I32, []int32{2, 0, 3, 0}, 2, 2), Out: out}); err == nil {
		t.Error("an expert that there is not was counted")
	}
}

// TestExpertsOfModels runs the program on models with experts: each token is counted for each expert that it chose, by the same ones in all matrices of a layer.
func TestExpertsOfModels(t *testing.T) {
	tokens := make([]llama.Token, 40)
	for i := range tokens {
		tokens[i] = llama.Token(i * 7919 % 300)
	}
	for _, family := range []string{"qwen3moe", "granite4h-moe", "gptoss"} {
		device := cpu.New(2)
		defer device.Close()
		w := newWatcher(device, importance.New(len(tokens)))
		m, err := llama.Load(fixture.Path(t, "families/"+family), &llama.LoadOptions{Backend: w})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		w.watch(m, false)
		if err := readChunk(t.Context(), m, tokens); err != nil {
			t.Fatal(err)
		}
		if missed := w.unseen(); len(missed) > 0 {
			t.Errorf("%s: not seen: %v", family, missed)
		}
		gate, down := w.sums.Tensors["blk.1.ffn_gate_exps.weight"], w.sums.Tensors["blk.1.ffn_down_exps.weight"]
		if gate == nil || down == nil {
			t.Fatalf("%s: the tensors are %v", family, w.sums.Names())
		}
		total := 0.0
		for _, n := range gate.Counts {
			total += n
		}
		if e := m.Config().Experts; len(gate.Counts) != e.Count || total != float64(len(tokens)*e.Chosen) || !slices.Equal(gate.Counts, down.Counts) {
			t.Errorf("%s: counts %v and %v", family, gate.Counts, down.Counts)
		}
		file := filepath.Join(t.TempDir(), "imatrix.gguf")
		if err := w.sums.Write(file); err != nil {
			t.Fatal(err)
		}
		if again, err := importance.Read(file); err != nil || !slices.Equal(again.Tensors["blk.1.ffn_gate_exps.weight"].Counts, gate.Counts) {
			t.Errorf("%s: the counts of the file are others: %v", family, err)
		}
	}
}

// TestUnchosenExpertsAreNamed reads a text so short that some experts compute no token of it.
func TestUnchosenExpertsAreNamed(t *testing.T) {
	device := cpu.New(2)
	defer device.Close()
	w := newWatcher(device, importance.New(2))
	m, err := llama.Load(fixture.Path(t, "families/qwen3moe"), &llama.LoadOptions{Backend: w})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	w.watch(m, false)
	if err := readChunk(t.Context(), m, []llama.Token{5, 9}); err != nil {
		t.Fatal(err)
	}
	var words bytes.Buffer
	warn(&words, w.sums)
	if !strings.Contains(words.String(), "matrices of experts were never chosen") {
		t.Errorf("the warning is %q", words.String())
	}
}
