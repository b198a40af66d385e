package engine_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
	"github.com/antigravity-go/antigravity/tensor"
)

// An adapter of each family has all targets that there are, and each its own rank. Which one follows from a number: with 64 numbers every target
// has had every rank from 1 to 64. The model with the adapter apart, and with the adapter merged into it, from folders and from GGUF files, is
// compared with a folder of weights W + scale·B·A that are computed here, in float64, from the tensors of the files.

// ranks is how many ranks there are.
const ranks = 64

// target is a matrix of a folder that an adapter changes.
type target struct {
	name       string // in the folder's files
	rank       int
	scale      float64
	a, b       []float64 // [rank, in], [out, rank]
	out, in    int
	model      []*checkpoint.Tensor // what the model has of it: one tensor, or several that are rows of it
	rankFactor float64              // alpha/rank, which GGUF multiplies by
}

// alpha is the lora_alpha of all adapters.
const alpha = 16

// targets returns those of a folder, with random numbers in them.
func targets(t *testing.T, files map[string]safetensors.Tensor, tensors []checkpoint.Tensor, number int) (list []*target) {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(number), 11))
	stored := func(usual string) string { // wrappers have a prefix of their own, models without a head no prefix, and heads that predict tokens are not adapted
		for name := range files {
			if rest := strings.TrimPrefix(usual, "model."); usual != "" && (name == rest || strings.HasSuffix(name, "."+rest)) && !strings.Contains(name, "vision") && !strings.HasPrefix(name, "mtp.") {
				return name
			}
		}
		return ""
	}
	found := map[string]*target{}
	for i := range tensors {
		w := &tensors[i]
		if w.Role != model.Linear || w.Bias {
			continue
		}
		name := stored(w.HuggingFace.Within.Name)
		if name == "" {
			name = stored(w.HuggingFace.Name)
		}
		if name == "" {
			t.Fatalf("the files have no %s", w.HuggingFace.Name)
		}
		if of := found[name]; of != nil {
			of.model = append(of.model, w)
			continue
		}
		shape := files[name].Shape
		of := &target{name: name, rank: 1 + (number+7*len(list))%ranks, out: shape[0], in: shape[1], model: []*checkpoint.Tensor{w}}
		of.rankFactor = alpha / float64(of.rank)
		if of.scale = of.rankFactor; number%2 == 1 { // use_rslora
			of.scale = alpha / math.Sqrt(float64(of.rank))
		}
		fill := func(n int, spread float64) []float64 {
			values := make([]float64, n)
			for i := range values {
				values[i] = float64(float32(random.NormFloat64() * spread))
			}
			return values
		}
		of.a = fill(of.rank*of.in, 1/math.Sqrt(float64(of.in)))
		of.b = fill(of.out*of.rank, 0.3/math.Sqrt(float64(of.rank))/of.scale)
		found[name], list = of, append(list, of)
	}
	return list
}

// floatBytes returns numbers as files have them.
func floatBytes(values []float64) []byte {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	}
	return data
}

// writeTensors writes a file of safetensors, ordered by name.
func writeTensors(t *testing.T, path string, tensors map[string]safetensors.Tensor) {
	t.Helper()
	var infos []safetensors.TensorInfo
	for name, s := range tensors {
		infos = append(infos, safetensors.TensorInfo{Name: name, DType: s.DType, Shape: s.Shape})
	}
	slices.SortFunc(infos, func(a, b safetensors.TensorInfo) int { return strings.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	w, err := safetensors.NewWriter(&b, nil, infos)
	for _, info := range infos {
		if err == nil {
			err = w.WriteTensor(info.Name, tensors[info.Name].Data)
		}
	}
	if err = errors.Join(err, w.Close()); err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tensorsIn returns the tensors of a folder's files.
func tensorsIn(t *testing.T, dir string) map[string]safetensors.Tensor {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "model*.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]safetensors.Tensor{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := safetensors.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Tensors() {
			all[s.Name] = s
		}
	}
	return all
}

// mergedFolder returns a copy of a folder with the adapter in its weights.
func mergedFolder(t *testing.T, dir string, list []*target) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	all := tensorsIn(t, to)
	for _, of := range list {
		s := all[of.name]
		d, _ := s.ElementType()
		weights := make([]float32, of.out*of.in)
		if err := d.Format().Dequantize(weights, s.Data); err != nil {
			t.Fatal(err)
		}
		sum := make([]float64, len(weights))
		for row := range of.out {
			for k := range of.rank {
				factor := of.scale * of.b[row*of.rank+k]
				for col := range of.in {
					sum[row*of.in+col] += factor * of.a[k*of.in+col]
				}
			}
		}
		for i, v := range weights {
			sum[i] += float64(v)
		}
		s.DType, s.Data = "F32", floatBytes(sum)
		all[of.name] = s
	}
	old, err := filepath.Glob(filepath.Join(to, "model*.safetensors*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	writeTensors(t, filepath.Join(to, "model.safetensors"), all)
	return to
}

// peft writes the adapter as PEFT does.
func peft(t *testing.T, list []*target, number int) string {
	t.Helper()
	dir, tensors, pattern := t.TempDir(), map[string]safetensors.Tensor{}, map[string]int{}
	var modules []string
	for _, of := range list {
		module := strings.TrimSuffix(of.name, ".weight")
		tensors["base_model.model."+module+".lora_A.weight"] = safetensors.Tensor{DType: "F32", Shape: []int{of.rank, of.in}, Data: floatBytes(of.a)}
		tensors["base_model.model."+module+".lora_B.weight"] = safetensors.Tensor{DType: "F32", Shape: []int{of.out, of.rank}, Data: floatBytes(of.b)}
		pattern[module] = of.rank
		modules = append(modules, module[strings.LastIndexByte(module, '.')+1:])
	}
	slices.Sort(modules)
	config, err := json.Marshal(map[string]any{"peft_type": "LORA", "r": 8, "lora_alpha": alpha, "use_rslora": number%2 == 1, "bias": "none",
		"target_modules": slices.Compact(modules), "rank_pattern": pattern})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "adapter_config.json"), config, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	writeTensors(t, filepath.Join(dir, "adapter_model.safetensors"), tensors)
	return dir
}

// ggufAdapter writes the adapter as llama.cpp's conversion does: rows and columns are in the order of the model's in GGUF.
func ggufAdapter(t *testing.T, c *model.Config, list []*target) string {
	t.Helper()
	var infos []gguf.TensorInfo
	var data [][]byte
	add := func(name string, rows, cols int, values []float64) {
		infos, data = append(infos, gguf.TensorInfo{Name: name, Type: gguf.F32, Shape: []int{rows, cols}}), append(data, floatBytes(values))
	}
	for _, of := range list {
		for _, w := range of.model {
			a, b := slices.Clone(of.a), make([]float64, w.Shape[0]*of.rank)
			for row := range w.Shape[0] {
				from, to := row, row
				if whole := &w.HuggingFace.Within; len(of.model) > 1 || whole.Rows == of.out && whole.Rows > 0 {
					from = whole.Row(row)
				}
				if order := storage.Between(&w.GGUF, &w.HuggingFace); order != nil {
					to = order(row)
				}
				for k := range of.rank {
					b[to*of.rank+k] = of.b[from*of.rank+k] * (of.scale / of.rankFactor)
				}
			}
			if order := storage.ColumnsBetween(&w.HuggingFace, &w.GGUF); order != nil {
				for i := range a {
					a[i] = of.a[i-i%of.in+order(i%of.in)]
				}
			}
			nameA, nameB := w.AdapterGGUF()
			add(nameA, of.rank, of.in, a)
			add(nameB, w.Shape[0], of.rank, b)
		}
	}
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, checkpoint.AdapterMetadata(c, "all", alpha), infos)
	for i := range infos {
		if err == nil {
			err = w.WriteTensor(infos[i].Name, data[i])
		}
	}
	path := filepath.Join(t.TempDir(), "adapter.gguf")
	if err == nil {
		err = errors.Join(w.Close(), os.WriteFile(path, file.Bytes(), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// adapterTolerance is the largest relative error of logits with an adapter; its products have another order than those of merged weights.
const adapterTolerance = 5e-5

// TestAdaptersOfAllTargets compares the ways to compute with an adapter. A run of all tests tries some families, with one number.
func TestAdaptersOfAllTargets(t *testing.T) {
	for i, name := range append([]string{"../hf/llama32-tied-bf16", "../hf/llama32-sharded-f16"}, families.Names...) {
		if !effort.Share(i, 8) {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			dir := fixture.Path(t, filepath.ToSlash(filepath.Join("families", name)))
			file := families.GGUF(t, dir)
			c, err := checkpoint.Folder(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) }).Config()
			if err != nil {
				t.Fatal(err)
			}
			tokens := families.ReadGolden[llama.Token](t, filepath.Join(dir, "golden.safetensors")).Input[:12]
			models := map[string]*llama.Model{}
			for _, path := range []string{dir, file} {
				models[path] = llamatest.Load(t, path, &llama.LoadOptions{Weights: tensor.F32})
			}
			plain := prefilled(t, models[dir], tokens)
			worst, numbers := 0.0, effort.Of(1, 16, ranks)
			for n := range numbers {
				number := n*ranks/numbers + i
				list := targets(t, tensorsIn(t, dir), checkpoint.Tensors(c), number)
				reference := llamatest.Load(t, mergedFolder(t, dir, list), &llama.LoadOptions{Weights: tensor.F32})
				want := prefilled(t, reference, tokens)
				reference.Close()
				if e := families.RelativeError(plain, want); e < 0.02 {
					t.Errorf("number %d: the adapter changes logits by %.2g alone", number, e)
				}
				for _, adapter := range []string{peft(t, list, number), ggufAdapter(t, c, list)} {
					for path, m := range models {
						a, err := m.LoadAdapter(adapter)
						if c.Multiplied != (model.PartSet{}) && errors.Is(err, errors.ErrUnsupported) {
							if _, err := llama.Load(path, &llama.LoadOptions{Adapters: []llama.AdapterFile{{Path: adapter}}}); !errors.Is(err, errors.ErrUnsupported) {
								t.Errorf("an adapter of products that the model multiplies is added to the matrices: %v", err)
							}
							continue
						}
						if err != nil {
							t.Fatal(err)
						}
						s := llamatest.Session(t, m, &llama.SessionOptions{Adapter: a, KV: tensor.F32})
						if err := s.Prefill(t.Context(), tokens); err != nil {
							t.Fatal(err)
						}
						beside := families.RelativeError(llamatest.Logits(s), want)
						a.Close()
						with, err := llama.Load(path, &llama.LoadOptions{Weights: tensor.F32, Adapters: []llama.AdapterFile{{Path: adapter}}})
						merged := 0.0
						switch {
						case err == nil:
							merged = families.RelativeError(prefilled(t, with, tokens), want)
							with.Close()
						case len(c.Scales) == 0 || !errors.Is(err, errors.ErrUnsupported): // weights with scales of their own are refused
							t.Fatal(err)
						}
						if worst = max(worst, beside, merged); beside > adapterTolerance || merged > adapterTolerance {
							t.Errorf("number %d, the adapter %s with the model %s: relative error %.2g beside the weights, %.2g merged into them",
								number, filepath.Base(adapter), filepath.Base(path), beside, merged)
						}
					}
				}
			}
			t.Logf("largest relative error %.2g", worst)
		})
	}
}

// TestAdaptersOfAllTargetsOfEncoders does it with vectors of texts, from folders.
func TestAdaptersOfAllTargetsOfEncoders(t *testing.T) {
	for i, name := range []string{"enc-bert", "enc-xlmr", "enc-nomic", "enc-modernbert", "enc-gemma", "enc-qwen3"} {
		if !effort.Share(i, 3) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Path(t, "families/"+name)
			c, err := checkpoint.Folder(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) }).Config()
			if err != nil {
				t.Fatal(err)
			}
			const text = "How much wood would a woodchuck chuck?"
			model := llamatest.Load(t, dir, &llama.LoadOptions{Weights: tensor.F32})
			vector := func(m *llama.Model) []float32 {
				v, err := m.Embed(t.Context(), text)
				if err != nil {
					t.Fatal(err)
				}
				return v[0]
			}
			once := func(dir string, o llama.LoadOptions) []float32 { // without the models of all numbers at the same time
				m := llamatest.Load(t, dir, &o)
				defer m.Close()
				return vector(m)
			}
			numbers := effort.Of(1, 16, ranks)
			for n := range numbers {
				number := n*ranks/numbers + i
				list := targets(t, tensorsIn(t, dir), checkpoint.Tensors(c), number)
				adapter := peft(t, list, number)
				want := once(mergedFolder(t, dir, list), llama.LoadOptions{Weights: tensor.F32})
				if e := families.RelativeError(vector(model), want); e < 0.02 {
					t.Errorf("number %d: the adapter changes vectors by %.2g alone", number, e)
				}
				a, err := model.LoadAdapter(adapter)
				if err != nil {
					t.Fatal(err)
				}
				beside, err := a.Embed(t.Context(), model, 1, text)
				if err != nil {
					t.Fatal(err)
				}
				a.Close()
				merged := once(dir, llama.LoadOptions{Weights: tensor.F32, Adapters: []llama.AdapterFile{{Path: adapter}}})
				for way, got := range map[string][]float32{"beside the weights": beside[0], "merged into them": merged} {
					if e := families.RelativeError(got, want); e > adapterTolerance {
						t.Errorf("number %d: relative error %.2g %s", number, e, way)
					}
				}
			}
		})
	}
}
