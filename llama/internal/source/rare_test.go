package source_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/rare"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
	"github.com/antigravity-go/antigravity/tensor"
)

// rareTypes lists the types that are rewritten while loading.
func rareTypes() (list []gguf.GGMLType) {
	for t := range gguf.GGMLType(64) {
		if rare.Of(t) != nil {
			list = append(list, t)
		}
	}
	return list
}

// quantFile returns one of the files that other programs quantised, parsed.
func quantFile(t *testing.T, name string) *gguf.File {
	t.Helper()
	data, err := os.ReadFile(fixture.Path(t, "quants/"+name))
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// writeMatrices writes a file like f, with matrices of a type and the data that of returns.
func writeMatrices(t *testing.T, f *gguf.File, kind gguf.GGMLType, of func(m *gguf.Tensor) []byte) []byte {
	t.Helper()
	tensors := f.Tensors()
	var infos []gguf.TensorInfo
	for i := range tensors {
		info := gguf.TensorInfo{Name: tensors[i].Name, Type: tensors[i].Type, Shape: tensors[i].Shape}
		if len(info.Shape) == 2 {
			info.Type = kind
		}
		infos = append(infos, info)
	}
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, f.Metadata(), infos)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tensors {
		data := tensors[i].Data
		if len(tensors[i].Shape) == 2 {
			data = of(&tensors[i])
		}
		if err := errors.Join(w.Begin(tensors[i].Name), second(w.Write(data))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func second(_ int, err error) error { return err }

// anyBlocks returns random data of a rare type for a matrix. Wherever a type has its scales, they get sizes that weights have.
func anyBlocks(kind gguf.GGMLType, m *gguf.Tensor, random *rand.Rand) []byte {
	few := []byte{0x10, 0x11, 0x12, 0x18, 0x21}
	data := make([]byte, rare.Of(kind).Bytes(m.Shape[0]*m.Shape[1]))
	for i := range data {
		data[i] = few[random.IntN(len(few))]
	}
	return data
}

// logitsOfFile loads a file and computes a few tokens.
func logitsOfFile(t *testing.T, data []byte, o *llama.LoadOptions) []float32 {
	t.Helper()
	m, err := llama.LoadFS(t.Context(), fstest.MapFS{"m": {Data: data}}, "m", o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := llamatest.Session(t, m, nil)
	if err := s.Prefill(t.Context(), []llama.Token{1, 2, 3, 4, 5}); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(llamatest.Logits(s))
}

// A file of a rare type gives the bits of a file that has its matrices in the type that they are rewritten as, on the processor, on a
// device that takes converted tensors, and converted to floats.
func TestRareTypes(t *testing.T) {
	effort.Turn(t, 8)
	f := quantFile(t, "q5_0.gguf")
	for _, kind := range rareTypes() {
		t.Run(kind.String(), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(kind), 0))
			blocks := map[string][]byte{}
			stored := writeMatrices(t, f, kind, func(m *gguf.Tensor) []byte {
				blocks[m.Name] = anyBlocks(kind, m, random)
				return blocks[m.Name]
			})
			target := rare.Of(kind).Target()
			as, _ := gguf.TypeOf(target)
			rewritten := writeMatrices(t, f, as, func(m *gguf.Tensor) []byte {
				data := make([]byte, target.Format().Bytes(m.Shape[0]*m.Shape[1]))
				if err := rare.Of(kind).Rewrite(data, blocks[m.Name], m.Shape[1]); err != nil {
					t.Fatal(err)
				}
				return data
			})
			for _, c := range []struct {
				name    string
				weights tensor.DType
				device  func() backend.Backend
			}{
				{"processor", 0, func() backend.Backend { return nil }},
				{"processor, f32", tensor.F32, func() backend.Backend { return nil }},
				{"another device", 0, func() backend.Backend { return host.NewReference() }},
			} {
				got := logitsOfFile(t, stored, &llama.LoadOptions{Weights: c.weights, Backend: c.device()})
				want := logitsOfFile(t, rewritten, &llama.LoadOptions{Weights: c.weights, Backend: c.device()})
				if !slices.Equal(got, want) {
					t.Errorf("%s: the logits of %v differ from those of %v", c.name, kind, target)
				}
				if slices.Max(want) == slices.Min(want) {
					t.Errorf("%s: all logits are %g, which says nothing", c.name, want[0])
				}
			}
		})
	}
}

// The log names each type that is rewritten, once.
func TestRareTypesAreLogged(t *testing.T) {
	var log strings.Builder
	m, err := llama.Load(fixture.Path(t, "quants/iq3_s.gguf"), &llama.LoadOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if n := strings.Count(log.String(), "type=IQ3_S as=q4_k tensors=9"); n != 1 {
		t.Errorf("IQ3_S is named %d times:\n%s", n, log.String())
	}
}

// What cannot be rewritten is an error that names the tensor, and loading ends when its context does.
func TestRareTypesThatFail(t *testing.T) {
	f := quantFile(t, "q5_0.gguf")
	const iq1 gguf.GGMLType = 19 // its minimums may be larger than its scales
	huge := writeMatrices(t, f, iq1, func(m *gguf.Tensor) []byte {
		return bytes.Repeat([]byte{0x7b}, rare.Of(iq1).Bytes(m.Shape[0]*m.Shape[1]))
	})
	_, err := llama.LoadFS(t.Context(), fstest.MapFS{"m": {Data: huge}}, "m", nil)
	if err == nil || !strings.Contains(err.Error(), "IQ1_S") || !strings.Contains(err.Error(), "the tensor model.") {
		t.Errorf("scales of 61280: %v", err)
	}
	file := fixture.Path(t, "quants/iq3_s.gguf")
	for looks := range 4 {
		m, err := llama.LoadContext(countdown.New(t.Context(), looks), file, nil)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after %d looks: %v", looks, err)
		}
		if m != nil {
			m.Close()
		}
	}
}
