package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/examples/tools/internal/importance"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
)

// golden reads numbers of 32 bits, float32 or integers of 32 or 64 bits, that transformers computed.
func golden(t *testing.T, f *safetensors.File, name string) []float64 {
	t.Helper()
	stored, ok := f.Tensor(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	n := 1
	for _, d := range stored.Shape {
		n *= d
	}
	values := make([]float64, n)
	for i := range values {
		switch stored.DType {
		case "F32":
			values[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(stored.Data[4*i:])))
		case "I64":
			values[i] = float64(binary.LittleEndian.Uint64(stored.Data[8*i:]))
		case "I32":
			values[i] = float64(binary.LittleEndian.Uint32(stored.Data[4*i:]))
		default:
			t.Fatalf("%s has the type %s", name, stored.DType)
		}
	}
	return values
}

// TestSumsAreTransformers compares the sums with those of transformers' activations: the inputs of a layer, normalised, are what its
// queries, keys and values are computed from.
func TestSumsAreTransformers(t *testing.T) {
	folder := fixture.Path(t, "hf/llama2-mha-f32")
	read := func(name string) *safetensors.File {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		f, err := safetensors.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	results, weights := read("golden.safetensors"), read("model.safetensors")
	var ids []llama.Token
	for _, id := range golden(t, results, "input_ids") {
		ids = append(ids, llama.Token(id))
	}
	device := cpu.New(2)
	defer device.Close()
	w := newWatcher(device, importance.New(len(ids)))
	m, err := llama.Load(folder, &llama.LoadOptions{Backend: w})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	w.watch(m, true)
	if err := readChunk(t.Context(), m, ids); err != nil {
		t.Fatal(err)
	}
	if missed := w.unseen(); len(missed) > 0 {
		t.Errorf("not seen: %v", missed)
	}
	width := m.Config().HiddenSize
	for layer, names := range map[string][]string{
		"0": {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"}, "1": {"blk.1.attn_q.weight"},
	} {
		hidden := golden(t, results, "hidden."+layer)
		norm := golden(t, weights, "model.layers."+layer+".input_layernorm.weight")
		want := make([]float64, width)
		for row := range ids {
			x := hidden[row*width : (row+1)*width]
			square := 0.0
			for _, v := range x {
				square += v * v / float64(width)
			}
			for i, v := range x {
				v *= norm[i]
				want[i] += v * v / (square + float64(m.Config().RMSNormEps))
			}
		}
		for _, name := range names {
			s := w.sums.Tensors[name]
			if s == nil || s.Counts[0] != float64(len(ids)) {
				t.Fatalf("%s: %v rows, want %d", name, s, len(ids))
			}
			for i, v := range s.Squares {
				if math.Abs(v-want[i]) > 1e-3*(want[i]+0.01) {
					t.Errorf("%s: column %d has the sum %g, by transformers %g", name, i, v, want[i])
				}
			}
		}
	}
}

// TestImatrix runs the program on the embedded model, and adds up what it wrote.
func TestImatrix(t *testing.T) {
	dir := t.TempDir()
	text, one, two := filepath.Join(dir, "text.txt"), filepath.Join(dir, "one.gguf"), filepath.Join(dir, "two.dat")
	if err := os.WriteFile(text, []byte(strings.Repeat("What is 17 plus 4? It is 21. ", 20)), 0o666); err != nil {
		t.Fatal(err)
	}
	imatrix := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), args, nil, &out, &out)
		return out.String(), err
	}
	out, err := imatrix("-file", text, "-ctx", "32", "-chunks", "3", "-out", one)
	if err != nil || !strings.Contains(out, "56 tensors, 3 chunks of 32 tokens") {
		t.Fatalf("%s, %v", out, err)
	}
	if out, err = imatrix("-in", one, "-in", one, "-out", two); err != nil || !strings.Contains(out, "6 chunks of 32") {
		t.Fatalf("%s, %v", out, err)
	}
	a, err := importance.Read(one)
	if err != nil {
		t.Fatal(err)
	}
	b, err := importance.Read(two)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range a.Names() {
		x, y := a.Tensors[name].Means(), b.Tensors[name].Means()
		for i := range x {
			if math.Abs(float64(x[i]-y[i])) > 1e-5*float64(x[i]) {
				t.Fatalf("%s: column %d has the mean %g, of two the same %g", name, i, x[i], y[i])
			}
		}
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing to do":   {[]string{"-out", one}, "-file is missing"},
		"nowhere to":      {[]string{"-in", one}, "-out is missing"},
		"no text":         {[]string{"-file", text + "x", "-out", one}, text + "x"},
		"no matrix":       {[]string{"-in", text, "-out", one}, "importance matrix"},
		"too long chunks": {[]string{"-file", text, "-ctx", "1000000", "-out", one}, "context is"},
		"another model's": {[]string{"-file", text, "-ctx", "32", "-model", "flint", "-in", one, "-out", two}, "another model's"},
	} {
		if _, err := imatrix(c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text []llama.Token
		bos  llama.Token
		want string
	}{
		{[]llama.Token{1, 2, 3, 4, 5, 6, 7}, 9, "[[9 1 2] [9 3 4] [9 5 6]]"},
		{[]llama.Token{9, 2, 3, 4, 5}, 9, "[[9 2 3] [9 4 5]]"},
		{[]llama.Token{1, 2, 3, 4}, -1, "[[1 2 3]]"},
		{[]llama.Token{1}, 9, "[[9 1]]"},
		{nil, 9, "[]"},
	} {
		if got := fmt.Sprint(cut(c.text, c.bos, 3)); got != c.want {
			t.Errorf("%v is cut into %s, want %s", c.text, got, c.want)
		}
	}
}
