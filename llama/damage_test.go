package llama_test

import (
	"bytes"
	"context"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// damages are tensors with one row that begins with a block rounded from huge numbers, as a flipped bit of an exponent makes them.
var damages = []struct {
	tensor string
	row    int
}{
	{"blk.2.attn_v.weight", 5}, {"blk.2.attn_k.weight", 5}, {"blk.2.attn_q.weight", 5}, {"blk.2.attn_output.weight", 7},
	{"blk.2.ffn_gate.weight", 9}, {"blk.2.ffn_up.weight", 9}, {"blk.2.ffn_down.weight", 11}, {"blk.2.attn_norm.weight", 0},
	{"blk.2.ffn_norm.weight", 0}, {"output_norm.weight", 0}, {"token_embd.weight", 20},
}

// damaged returns a copy of a GGUF file with one of the damages.
func damaged(t *testing.T, file []byte, name string, row int, value float32) []byte {
	t.Helper()
	file = bytes.Clone(file)
	f, err := gguf.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	w, ok := f.Tensor(name)
	if !ok {
		t.Fatalf("there is no tensor %s", name)
	}
	format, cols := w.DType.Format(), w.Shape[len(w.Shape)-1]
	block := make([]float32, max(32, format.BlockLen()))
	for i := range block {
		block[i] = value
	}
	if err := format.Quantize(w.Data[row*format.Bytes(cols):][:format.Bytes(len(block))], block); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDamageIsSaid loads models of every kind of type, each with a damaged tensor, and generates, with caches of every kind: the error
// says that the weights are damaged. Rounding activations must not hide it, and norms must not.
func TestDamageIsSaid(t *testing.T) {
	effort.Turn(t, 8)
	fixtureFile := func(name string) []byte {
		data, err := os.ReadFile(fixture.Path(t, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	files := map[string][]byte{
		"q4_k_m": fixtureFile("pebble/gguf/pebble-Q4_K_M.gguf"), "bf16": pebbleAs(t, tensor.BF16),
		"q4_0": pebbleAs(t, tensor.Q4_0), "q4_1": pebbleAs(t, tensor.Q4_1), "q8_0": pebbleAs(t, tensor.Q8_0),
	}
	caches := []tensor.DType{tensor.F16, tensor.Q8_0, tensor.Q4_0, tensor.F32}
	values := []float32{float32(math.NaN()), float32(math.Inf(-1)), 3e38}
	for turn, kind := range slices.Sorted(maps.Keys(files)) {
		file := files[kind]
		t.Run(kind, func(t *testing.T) {
			for i, d := range damages {
				if i > 0 && !effort.Share(i+turn, 6) {
					continue // each kind has its share, and values that are not numbers
				}
				value, kv := values[(i+turn)%len(values)], caches[i%len(caches)]
				data := damaged(t, file, d.tensor, d.row, value)
				m, err := llama.LoadFS(context.Background(), fstest.MapFS{"m.gguf": {Data: data}}, "m.gguf", nil)
				if err != nil {
					t.Fatal(err)
				}
				s, err := m.NewSession(&llama.SessionOptions{KV: kv})
				if err != nil {
					t.Fatal(err)
				}
				_, err = llama.Collect(s.Generate(t.Context(), []llama.Token{1, 20, 30, 40}, llama.Params{MaxTokens: 2}))
				if err == nil || !strings.Contains(err.Error(), "damaged") {
					t.Errorf("%s, row %d of %g, a cache of %v: %v", d.tensor, d.row, value, kv, err)
				}
				m.Close()
			}
		})
	}
}

// TestDamageIsRefused rounds damaged weights while loading them: the error names the tensor and the row.
func TestDamageIsRefused(t *testing.T) {
	effort.Turn(t, 8)
	file := damaged(t, pebbleAs(t, tensor.BF16), "blk.2.ffn_down.weight", 11, 3e38)
	for _, d := range []tensor.DType{tensor.Q4_0, tensor.Q4_1, tensor.Q8_0, tensor.F16, tensor.Q4_K} {
		_, err := llama.LoadFS(context.Background(), fstest.MapFS{"m.gguf": {Data: file}}, "m.gguf", &llama.LoadOptions{Weights: d})
		if err == nil || !strings.Contains(err.Error(), "blk.2.ffn_down") && !strings.Contains(err.Error(), "layers.2.mlp.down_proj") ||
			!strings.Contains(err.Error(), "row 11") {
			t.Errorf("%v: %v", d, err)
		}
	}
}
