package llama

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/picture"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/tensor"
)

// thatSee are the fixtures of models that see, with towers that are implemented.
var thatSee = []string{"vl-qwen3vl", "vl-qwen35", "vl-glmocr", "vl-qwen2vl", "vl-qwen25vl", "vl-gemma4-e", "vl-gemma4-dense", "vl-gemma4-unified", "vl-gemma3", "vl-smolvlm", "vl-lfm2", "vl-mistral3"}

// featuresTolerance is the largest relative error of features.
const featuresTolerance = 1e-5

// sightOf is a fixture, its model, its pictures, and what transformers computed.
type sightOf struct {
	name, dir string
	model     *Model
	pictures  []*picture.RGB
	golden    *safetensors.File
}

func newSight(t testing.TB, name string) *sightOf {
	t.Helper()
	f := &sightOf{name: name, dir: fixture.Path(t, "families/"+name)}
	f.model = loadSeeing(t, f.dir, nil)
	data, err := os.ReadFile(filepath.Join(f.dir, "golden.safetensors"))
	if err == nil {
		f.golden, err = safetensors.Parse(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		data, err := os.ReadFile(filepath.Join(f.dir, fmt.Sprintf("image.%d.png", i)))
		if err != nil {
			t.Fatal(err)
		}
		rgb, err := picture.Decode(data, picture.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		f.pictures = append(f.pictures, rgb)
	}
	return f
}

func loadSeeing(t testing.TB, path string, o *LoadOptions) *Model {
	t.Helper()
	m, err := Load(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if m.tower == nil {
		t.Fatalf("%s has no tower: %s", path, m.files.Blind)
	}
	return m
}

// floats returns a golden tensor.
func (f *sightOf) floats(t testing.TB, name string) (values []float32) {
	t.Helper()
	stored, ok := f.golden.Tensor(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	for b := stored.Data; len(b) > 0; b = b[4:] {
		values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return values
}

// features returns all features of a picture, those of each depth.
func features(t testing.TB, m *Model, rgb *picture.RGB) [][]float32 {
	t.Helper()
	f, _, _, err := m.encode(t.Context(), rgb, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	var list [][]float32
	for _, x := range append([]*tensor.Tensor{f.X}, f.Deep...) {
		values, err := tensor.As[float32](x)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, slices.Clone(values))
	}
	return list
}

// TestTowers compares the features of each fixture's pictures with those of transformers, with the bits of the portable reference and of other numbers of threads, and those of pictures that are
// encoded together with those of each alone. A fourth of the fixtures is compared with itself on other devices and in company in a run, all of them with
// transformers and with their digests.
func TestTowers(t *testing.T) {
	for number, name := range thatSee {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newSight(t, name)
			want := make([][][]float32, len(f.pictures))
			for i, rgb := range f.pictures {
				want[i] = features(t, f.model, rgb)
				golden := [][]float32{f.floats(t, fmt.Sprintf("image_features.%d", i))}
				for k := range f.model.tower.Config.Deep() {
					golden = append(golden, f.floats(t, fmt.Sprintf("deepstack.%d.%d", i, k)))
				}
				for k := range golden {
					e := families.RelativeError(want[i][k], golden[k])
					t.Logf("picture %d, features %d: relative error %.2g", i, k, e)
					if e > featuresTolerance {
						t.Errorf("picture %d, features %d: relative error %.2g", i, k, e)
					}
				}
			}
			if got := digestOf(want); got != featureDigests[name] {
				t.Errorf("the features have the digest %s, and had %s", got, featureDigests[name])
			}
			t.Run("GGUF", func(t *testing.T) { f.sameInGGUF(t, want) })
			if !effort.Share(number, 4) {
				return
			}
			t.Run("together", func(t *testing.T) { f.sameTogether(t, want) })
			t.Run("reference", func(t *testing.T) {
				f.same(t, want[2:], &LoadOptions{Backend: host.NewReference()})
			})
			for _, threads := range []int{1, 3} {
				t.Run(fmt.Sprint("threads ", threads), func(t *testing.T) { f.same(t, want, &LoadOptions{Threads: threads}) })
			}
		})
	}
}

// TestOldNames loads a file as older converters of llama.cpp wrote it: the matrices of networks have each other's names, and the width of networks is that of
// the model of text.
func TestOldNames(t *testing.T) {
	f := newSight(t, "vl-qwen2vl")
	old := families.Tower(t, f.dir)
	old.Set("clip.vision.feed_forward_length", gguf.ValueOf(uint32(64)))
	for i, w := range old.Tensors {
		if strings.Contains(w.Name, ".ffn_up.") {
			old.Tensors[i].Name = strings.Replace(w.Name, "ffn_up", "ffn_down", 1)
		} else {
			old.Tensors[i].Name = strings.Replace(w.Name, "ffn_down", "ffn_up", 1)
		}
	}
	path := filepath.Join(t.TempDir(), "mmproj.gguf")
	old.WriteFile(t, path)
	m := loadSeeing(t, f.dir, &LoadOptions{Towers: []string{path}})
	if !equalFeatures(features(t, m, f.pictures[0]), features(t, f.model, f.pictures[0])) {
		t.Error("the picture has other features")
	}
}

// featureDigests are of the features of all pictures, which have the same bits on every processor.
var featureDigests = map[string]string{
	"vl-qwen3vl":        "dee806c5953f6413565383323e1a4904",
	"vl-qwen35":         "c6fbbafa07e517acd0e87bc17538e1d9",
	"vl-glmocr":         "07ff3e6376cc03ddad934a31b25b8fae",
	"vl-qwen2vl":        "b849aa59d8bddac63d9bdb8b03ac33d3",
	"vl-qwen25vl":       "61e552de45f9b878cd079094582aeda9",
	"vl-gemma4-e":       "56173b2f12b379414f00e5c6b447bfb4",
	"vl-gemma4-dense":   "f1120347d39fb767895d1cbaf8632791",
	"vl-gemma4-unified": "da05c3a5105704e68f6b636c4c5c5843",
	"vl-gemma3":         "883d7553360c279e8ecd64033ea04ca4",
	"vl-smolvlm":        "f9f477c071bd4fe5e7071e8e899e9d9a",
	"vl-lfm2":           "f83ddbab86b2f0012230c2102ba1da18",
	"vl-mistral3":       "68b7ebbb0bfe93f93bdcdc3e3249fb9d",
}

// digestOf returns a digest of features.
func digestOf(pictures [][][]float32) string {
	sum := sha256.New()
	for _, p := range pictures {
		for _, x := range p {
			for _, v := range x {
				sum.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// TestTowersAreCancelled ends contexts at every look: a picture that is not encoded leaves no memory behind.
func TestTowersAreCancelled(t *testing.T) {
	for _, name := range []string{"vl-qwen3vl", "vl-gemma4-e", "vl-mistral3"} {
		f := newSight(t, name)
		values, err := f.model.pixels.Process(nil, f.pictures[2], 0)
		if err != nil {
			t.Fatal(err)
		}
		looks := 0
		for ; ; looks++ {
			got, err := f.model.tower.Encode(countdown.New(t.Context(), looks), values)
			if err == nil {
				got.Free()
				break
			}
			if _, _, working := f.model.tower.Usage(); working != 0 || !errors.Is(err, context.Canceled) || got != nil {
				t.Fatalf("%s, after %d looks: %v, and %d bytes are held", name, looks, err, working)
			}
		}
		if layers := f.model.tower.Config.Layers; looks < 2*layers {
			t.Errorf("%s: the context was looked at %d times, the tower has %d layers", name, looks, layers)
		}
	}
}

// same checks that a model that is loaded otherwise gives the same bits for the last pictures.
func (f *sightOf) same(t *testing.T, want [][][]float32, o *LoadOptions) {
	m := loadSeeing(t, f.dir, o)
	for i, rgb := range f.pictures[len(f.pictures)-len(want):] {
		if !equalFeatures(features(t, m, rgb), want[i]) {
			t.Errorf("picture %d has other features", i)
		}
	}
}

// sameInGGUF loads the model as two GGUF files: the tower's is found next to the model's, by its name, in memory, too.
func (f *sightOf) sameInGGUF(t *testing.T, want [][][]float32) {
	text := families.GGUF(t, f.dir)
	dir := filepath.Dir(text)
	tower := families.Tower(t, f.dir)
	tower.WriteFile(t, filepath.Join(dir, "mmproj-model-F32.gguf"))
	if err := os.WriteFile(filepath.Join(dir, "mmproj-damaged-F16.gguf"), []byte("GGUF"), 0o600); err != nil { // tried first
		t.Fatal(err)
	}
	swapped := families.Tower(t, f.dir) // as some files of 2025 are
	for i := range swapped.Tensors {
		if name := &swapped.Tensors[i].Name; strings.Contains(*name, "ffn_up") {
			*name = strings.Replace(*name, "ffn_up", "ffn_down", 1)
		} else {
			*name = strings.Replace(*name, "ffn_down", "ffn_up", 1)
		}
	}
	models := map[string]*Model{"next to it": loadSeeing(t, text, nil), "named": loadSeeing(t, f.dir, &LoadOptions{Towers: []string{filepath.Join(dir, "mmproj-model-F32.gguf")}})}
	if f.name == "vl-gemma3" {
		path := filepath.Join(dir, "swapped.gguf")
		swapped.WriteFile(t, path)
		models["swapped"] = loadSeeing(t, f.dir, &LoadOptions{Towers: []string{path}})
	}
	in, err := LoadFS(t.Context(), os.DirFS(dir), filepath.Base(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	models["in a file system"] = in
	for name, m := range models {
		for i, rgb := range f.pictures {
			if !equalFeatures(features(t, m, rgb), want[i]) {
				t.Errorf("%s: picture %d has other features", name, i)
			}
		}
	}
	blind, err := Load(text, &LoadOptions{Towers: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer blind.Close()
	if _, _, _, err := blind.encode(t.Context(), f.pictures[0], 0); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a model without its tower encodes a picture: %v", err)
	}
}

// sameTogether encodes all pictures as one.
func (f *sightOf) sameTogether(t *testing.T, want [][][]float32) {
	var all pixels.Values
	var joined [][]float32
	for i, rgb := range f.pictures {
		values, err := f.model.files.Tower.Pixels.Process(nil, rgb, 0)
		if err != nil {
			t.Fatal(err)
		}
		all.Views, all.Pixels = append(all.Views, values.Views...), append(all.Pixels, values.Pixels...)
		for k, x := range want[i] {
			if i == 0 {
				joined = append(joined, nil)
			}
			joined[k] = append(joined[k], x...)
		}
	}
	got, err := f.model.tower.Encode(t.Context(), &all)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Free()
	for k, x := range append([]*tensor.Tensor{got.X}, got.Deep...) {
		if values, err := tensor.As[float32](x); err != nil || !slices.Equal(values, joined[k]) {
			t.Errorf("features %d of pictures that are encoded together are others: %v", k, err)
		}
	}
}

func equalFeatures(a, b [][]float32) bool {
	return slices.EqualFunc(a, b, func(x, y []float32) bool {
		return slices.EqualFunc(x, y, func(v, w float32) bool { return math.Float32bits(v) == math.Float32bits(w) })
	})
}
