package llama

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/tensor"
)

// matrix is a tensor of an adapter's file, of type F32.
type matrix struct {
	name   string
	shape  []int
	values []float32
}

// bytes returns the values as files have them.
func (m *matrix) bytes() []byte {
	b := make([]byte, 4*len(m.values))
	for i, v := range m.values {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
	}
	return b
}

// peftNames returns PEFT's names of the matrices for a tensor of the model, given its name.
func peftNames(name string) (a, b string) {
	module := "base_model.model." + strings.TrimSuffix(name, ".weight")
	return module + ".lora_A.weight", module + ".lora_B.weight"
}

// readAdapter returns the tensors of the fixture's adapter.
func readAdapter(t testing.TB) (list []matrix) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(fixture.Path(t, adapterDir), checkpoint.AdapterWeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Tensors() {
		m := matrix{s.Name, s.Shape, make([]float32, len(s.Data)/4)}
		for i := range m.values {
			m.values[i] = math.Float32frombits(binary.LittleEndian.Uint32(s.Data[4*i:]))
		}
		list = append(list, m)
	}
	return list
}

// randomAdapter makes matrices of a rank for the model's tensors with one of some texts in their names.
func randomAdapter(m *Model, seed uint64, rank int, names ...string) (list []matrix) {
	random := rand.New(rand.NewPCG(seed, 7))
	tensors := checkpoint.Tensors(m.config)
	for i := range tensors {
		of := &tensors[i]
		module, rows, first := of.HuggingFace.Name, of.Shape[0], true
		if w := &of.HuggingFace.Within; w.Rows > 0 {
			module, rows, first = w.Name, w.Rows, w.First == 0
		}
		chosen := false
		for _, name := range names {
			chosen = chosen || strings.Contains(module, name)
		}
		if !chosen || !first || of.Role != model.Linear {
			continue
		}
		a, b := peftNames(module)
		out, in := rows, of.Shape[1]
		for _, x := range []matrix{{a, []int{rank, in}, make([]float32, rank*in)}, {b, []int{out, rank}, make([]float32, out*rank)}} {
			for k := range x.values {
				x.values[k] = float32(random.NormFloat64()) / float32(math.Sqrt(float64(x.shape[1]))) / 2
			}
			list = append(list, x)
		}
	}
	return list
}

// plainConfig is an adapter's configuration as PEFT writes it, with changes; nil takes a key away.
func plainConfig(t testing.TB, changes map[string]any) []byte {
	t.Helper()
	j := map[string]any{"peft_type": "LORA", "r": 8, "lora_alpha": 16, "bias": "none", "target_modules": "all-linear", "use_rslora": false}
	for key, value := range changes {
		if j[key] = value; value == nil {
			delete(j, key)
		}
	}
	data, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// peftFolder returns the files of an adapter as PEFT writes them.
func peftFolder(t testing.TB, config []byte, list []matrix) fstest.MapFS {
	t.Helper()
	var infos []safetensors.TensorInfo
	for i := range list {
		infos = append(infos, safetensors.TensorInfo{Name: list[i].name, DType: "F32", Shape: list[i].shape})
	}
	var b bytes.Buffer
	w, err := safetensors.NewWriter(&b, nil, infos)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if err := w.WriteTensor(list[i].name, list[i].bytes()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{checkpoint.AdapterConfigFile: {Data: config}, checkpoint.AdapterWeightsFile: {Data: b.Bytes()}}
}

// adapterIn loads an adapter of PEFT's files.
func adapterIn(t testing.TB, m *Model, files fstest.MapFS) *Adapter {
	t.Helper()
	a, err := m.LoadAdapterFS(t.Context(), files, ".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// ggufAdapter returns an adapter as a GGUF file: the rows of B as GGUF orders those of the model's matrix. The type is that of A's elements
// and, if its blocks fit, of B's.
func ggufAdapter(t testing.TB, tensors []checkpoint.Tensor, list []matrix, metadata []gguf.KeyValue, d tensor.DType) []byte {
	t.Helper()
	byName := map[string]*matrix{}
	for i := range list {
		byName[list[i].name] = &list[i]
	}
	var infos []gguf.TensorInfo
	var data [][]byte
	add := func(name string, m *matrix, values []float32) {
		kind := d
		if m.shape[1]%d.BlockLen() != 0 {
			kind = tensor.F32
		}
		size, err := kind.Bytes(len(values))
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, size)
		if err := kind.Format().Quantize(b, values); err != nil {
			t.Fatal(err)
		}
		ggml, _ := gguf.TypeOf(kind)
		infos, data = append(infos, gguf.TensorInfo{Name: name, Type: ggml, Shape: m.shape}), append(data, b)
	}
	for i := range tensors {
		nameA, nameB := peftNames(tensors[i].HuggingFace.Name)
		a, b := byName[nameA], byName[nameB]
		if a == nil {
			continue
		}
		ggufA, ggufB := tensors[i].AdapterGGUF()
		add(ggufA, a, a.values)
		rank := b.shape[1]
		values := make([]float32, len(b.values))
		for row := range b.shape[0] {
			to := row
			if order := tensors[i].GGUF.Rows; order != nil {
				to = order.Stored(row)
			}
			copy(values[to*rank:(to+1)*rank], b.values[row*rank:])
		}
		add(ggufB, b, values)
	}
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, metadata, infos)
	if err != nil {
		t.Fatal(err)
	}
	for i := range infos {
		if err := w.WriteTensor(infos[i].Name, data[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// mustWrite writes a file.
func mustWrite(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
