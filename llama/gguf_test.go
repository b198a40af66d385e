package llama_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// pebbleAs writes Pebble as a GGUF file with matrices of the given type, as llama.cpp's converter would: the metadata and the vectors of
// the Q4_K_M file, and the folder's weights with the rows of q and k permuted.
func pebbleAs(t *testing.T, d tensor.DType) []byte {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(fixture.Path(t, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	original, err := gguf.Parse(read("pebble/gguf/pebble-Q4_K_M.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := safetensors.Parse(read("pebble/hf/model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	config, _, err := checkpoint.ConfigOf(original)
	if err != nil {
		t.Fatal(err)
	}
	matrices := map[string]checkpoint.Tensor{}
	for _, w := range checkpoint.Tensors(config) {
		if w.Role != model.Vector {
			matrices[w.GGUF.Name] = w
		}
	}
	kind, _ := gguf.TypeOf(d)
	var infos []gguf.TensorInfo
	var data [][]byte
	for _, stored := range original.Tensors() {
		info, bytes := stored.Info(), stored.Data
		if matrix, ok := matrices[stored.Name]; ok {
			w, _ := folder.Tensor(matrix.HuggingFace.Name)
			wide := make([]float32, w.Shape[0]*w.Shape[1])
			if err := tensor.BF16.Format().Dequantize(wide, w.Data); err != nil {
				t.Fatal(err)
			}
			if paired, ok := matrix.GGUF.Rows.(storage.Paired); ok {
				wide = interleave(wide, w.Shape[1], paired.HeadDim)
			}
			info.Type, bytes = kind, make([]byte, d.Format().Bytes(len(wide)))
			if err := d.Format().Quantize(bytes, wide); err != nil {
				t.Fatal(err)
			}
		}
		infos, data = append(infos, info), append(data, bytes)
	}
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, original.Metadata(), infos)
	if err != nil {
		t.Fatal(err)
	}
	for i, info := range infos {
		if err := w.WriteTensor(info.Name, data[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// interleave puts row i of each head's second half after row i of its first.
func interleave(w []float32, cols, headDim int) (out []float32) {
	for head := 0; head < len(w)/cols; head += headDim {
		for i := range headDim / 2 {
			for _, row := range []int{head + i, head + headDim/2 + i} {
				out = append(out, w[row*cols:(row+1)*cols]...)
			}
		}
	}
	return out
}

// TestGGUFLogitsNearTheFolders compares a GGUF file's logits with those of the Hugging Face folder.
func TestGGUFLogitsNearTheFolders(t *testing.T) {
	logits := func(m *llama.Model, err error) ([]llama.Token, []float32) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		prompt, err := m.Tokenizer().Template(user("Which animal meows, and what is 12 + 30?"), llama.TemplateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(t, m, &llama.SessionOptions{KV: tensor.F32})
		if err := s.Prefill(context.Background(), prompt); err != nil {
			t.Fatal(err)
		}
		return prompt, logitsOf(s)
	}
	folder, err := llama.Load(fixture.Path(t, "pebble/hf"), nil)
	wantPrompt, want := logits(folder, err)
	for i, c := range []struct {
		d         tensor.DType
		tolerance float64
	}{{tensor.F32, 1e-6}, {tensor.BF16, 1e-6}, {tensor.F16, 1e-3}, {tensor.Q8_0, 2e-2}, {tensor.Q4_1, 0.3}} {
		if !effort.Share(i, 3) {
			continue
		}
		file := fstest.MapFS{"pebble.gguf": {Data: pebbleAs(t, c.d)}}
		gotPrompt, got := logits(llama.LoadFS(context.Background(), file, "pebble.gguf", nil))
		if len(gotPrompt) != len(wantPrompt) {
			t.Errorf("%v: %d prompt tokens, the folder has %d", c.d, len(gotPrompt), len(wantPrompt))
		}
		var square, errorSquare float64
		for i, w := range want {
			square += float64(w) * float64(w)
			errorSquare += (float64(got[i]) - float64(w)) * (float64(got[i]) - float64(w))
		}
		if e := math.Sqrt(errorSquare / square); e > c.tolerance {
			t.Errorf("%v: relative error %.2g, want at most %g", c.d, e, c.tolerance)
		} else {
			t.Logf("%v: relative error %.2g", c.d, e)
		}
	}
}

func TestGGUFConfigEqualsTheFolders(t *testing.T) {
	file, err := llama.Load(fixture.Path(t, "pebble/gguf/pebble-Q4_K_M.gguf"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	folder, err := llama.Load(fixture.Path(t, "pebble/hf"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	got, want := file.Config(), folder.Config()
	if len(got.EOS) != len(want.EOS) {
		t.Errorf("ends %v, the folder has %v", got.EOS, want.EOS)
	}
	got.EOS, want.EOS = nil, nil
	got.RoPE, want.RoPE = llama.RoPE{}, llama.RoPE{} // divisors instead of factors
	if g, w := got, want; g.HiddenSize != w.HiddenSize || g.IntermediateSize != w.IntermediateSize || g.Layers != w.Layers || g.Heads != w.Heads ||
		g.KVHeads != w.KVHeads || g.HeadDim != w.HeadDim || g.VocabSize != w.VocabSize || g.ContextLength != w.ContextLength ||
		g.RMSNormEps != w.RMSNormEps || g.TiedEmbeddings != w.TiedEmbeddings || g.BOS != w.BOS {
		t.Errorf("%+v, the folder has %+v", got, want)
	}
}
