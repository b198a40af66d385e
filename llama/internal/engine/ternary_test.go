package engine_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/x448/float16"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestTernary compares models of BitNet's with transformers: matrices of digits with numbers that products are multiplied or divided by, matrices of floats
// that are rounded while loading, and a Llama with such matrices. Only the first one's rows are whole blocks of 256.
func TestTernary(t *testing.T) {
	for _, name := range []string{"bitnet-packed", "bitnet-online", "bitnet-bitlinear", "bitnet-llama"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompared(t, name, "families/"+name)
			c.logitsEqual(t, 1e-5, false, 1, 5, 100)
			c.greedyEqual(t, &llama.SessionOptions{KV: tensor.F32})
			asked := llamaModel(t, c.dir, tensor.F32) // ternary matrices stay as they are
			if got := prefilled(t, asked, c.golden.Input); !slices.Equal(got, c.logits) {
				t.Errorf("with another type of weights logits are %v, want %v", got[:4], c.logits[:4])
			}
			c.sameAfterWarmingUp(t)
		})
	}
}

func llamaModel(t *testing.T, dir string, weights tensor.DType) *llama.Model {
	t.Helper()
	m, err := llama.Load(dir, &llama.LoadOptions{Weights: weights})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestTernaryGGUF writes a folder's matrices in TQ2_0, as llama.cpp's files have them: with a scale of each matrix next to it the bits are the folder's, and
// with one in each block, which is half precision, logits are nearly so. A file of floats is computed in floats.
func TestTernaryGGUF(t *testing.T) {
	c := newCompared(t, "bitnet-packed", "families/bitnet-packed")
	floats := families.ReadFile(t, families.GGUF(t, c.dir))
	for _, apart := range []bool{true, false} {
		f := floats.Clone()
		for i := range floats.Tensors {
			w := &f.Tensors[i]
			stem, scaled := strings.CutSuffix(w.Name, "scale")
			if !scaled {
				continue
			}
			scale := make([]float32, 1)
			if err := tensor.F32.Format().Dequantize(scale, w.Data); err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(f.Tensors, func(t gguf.Tensor) bool { return t.Name == stem+"weight" })
			if apart {
				f.Tensors[at] = tq2(t, &f.Tensors[at], 1)
				continue
			}
			f.Tensors[at] = tq2(t, &f.Tensors[at], scale[0])
			w.Data = binary.LittleEndian.AppendUint32(nil, 0x3f800000)
		}
		m, err := llama.LoadFS(t.Context(), fstest.MapFS{"m.gguf": {Data: f.Bytes(t)}}, "m.gguf", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := prefilled(t, m, c.golden.Input)
		if e := families.RelativeError(got, c.logits); apart && !slices.Equal(got, c.logits) || e > 1e-5 {
			t.Errorf("scales apart %v: the relative error is %g", apart, e)
		}
		m.Close()
	}
}

// tq2 returns a matrix of −1, 0 and 1 in TQ2_0, with a scale in each block.
func tq2(t *testing.T, w *gguf.Tensor, scale float32) gguf.Tensor {
	t.Helper()
	values := make([]float32, len(w.Data)/4)
	if err := tensor.F32.Format().Dequantize(values, w.Data); err != nil {
		t.Fatal(err)
	}
	var data []byte
	for block := range slices.Chunk(values, 256) {
		b := make([]byte, 66)
		for i, v := range block {
			b[i/128*32+i%32] |= byte(v+1) << (i % 128 / 32 * 2)
		}
		binary.LittleEndian.PutUint16(b[64:], float16.Fromfloat32(scale).Bits())
		data = append(data, b...)
	}
	const number = 35
	return gguf.Tensor{Name: w.Name, Type: number, Shape: w.Shape, Data: data}
}

// TestTernaryAdapters refuses adapters that would be added to matrices of −1, 0 and 1.
func TestTernaryAdapters(t *testing.T) {
	_, err := llama.Load(fixture.Path(t, "families/bitnet-packed"), &llama.LoadOptions{Adapters: []llama.AdapterFile{{Path: fixture.Path(t, "families/lora-all/adapter")}}})
	if err == nil || !strings.Contains(err.Error(), "ternary") {
		t.Errorf("the error is %v", err)
	}
}
