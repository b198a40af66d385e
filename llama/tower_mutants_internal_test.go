package llama

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/picture"
)

// Mutants of towers are the fixtures' folders and mmproj files, changed in parsed form. Each is loaded and, if that works, encodes a picture. Nothing may
// panic, and a mutant takes at most 64 MB more than eight times its files: what a configuration claims is held against the tensors before.

// towerMutants is how many are tried.
var towerMutants = effort.Of(60, 2000, 2000)

// mutantBases are the fixtures' files, read once.
var mutantBases = sync.OnceValue(func() *bases { return &bases{folders: map[string]fstest.MapFS{}, towers: map[string]*families.File{}} })

type bases struct {
	mu      sync.Mutex
	folders map[string]fstest.MapFS
	towers  map[string]*families.File
}

// of returns a copy of a fixture's folder, and its tower as a file.
func (b *bases) of(t testing.TB, name string) (fstest.MapFS, *families.File) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.folders[name] == nil {
		dir := fixture.Path(t, "families/"+name)
		files := fstest.MapFS{}
		for _, file := range []string{"config.json", "preprocessor_config.json", "processor_config.json", "model.safetensors"} {
			data, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			files[file] = &fstest.MapFile{Data: data}
		}
		b.folders[name], b.towers[name] = files, families.Tower(t, dir)
	}
	files := fstest.MapFS{}
	for file, f := range b.folders[name] {
		files[file] = f
	}
	return files, b.towers[name].Clone()
}

func TestTowerMutants(t *testing.T) {
	effort.Turn(t, 8)
	t.Parallel()
	loaded := 0
	for seed := range uint64(towerMutants) {
		if tryTowerMutant(t, seed) {
			loaded++
		}
	}
	t.Logf("%d of %d were loaded", loaded, towerMutants)
	if loaded < towerMutants/20 {
		t.Errorf("only %d of %d mutants were loaded: what comes after loading is not tested", loaded, towerMutants)
	}
}

func FuzzTowerMutants(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { tryTowerMutant(t, seed) })
}

// tryTowerMutant makes and uses a mutant, and reports whether it was loaded.
func tryTowerMutant(t *testing.T, seed uint64) (loaded bool) {
	r := rand.New(rand.NewPCG(seed, 0x746f776572))
	files, tower := mutantBases().of(t, thatSee[r.IntN(len(thatSee))])
	o := &LoadOptions{Threads: 1}
	if r.IntN(2) == 0 {
		for range 1 + r.IntN(2) {
			mutateTower(r, tower)
		}
		data := tower.Bytes(t)
		if r.IntN(8) == 0 {
			data = data[:r.IntN(len(data))]
		}
		files["t.gguf"], o.Towers = &fstest.MapFile{Data: data}, []string{"t.gguf"}
	} else {
		for range 1 + r.IntN(2) {
			mutateFolder(t, r, files)
		}
	}
	size := 0
	for _, f := range files {
		size += len(f.Data)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := LoadFS(t.Context(), files, ".", o)
	var panicked *parallel.PanicError
	if errors.As(err, &panicked) {
		t.Fatalf("mutant %d: %v\n%s", seed, err, panicked.Stack)
	}
	if err != nil {
		return false
	}
	defer m.Close()
	f, _, _, err := m.encode(t.Context(), &picture.RGB{Width: 24, Height: 16, Pix: make([]byte, 3*24*16)}, 0)
	if err == nil {
		f.Free()
	}
	runtime.ReadMemStats(&after)
	if taken, most := after.TotalAlloc-before.TotalAlloc+uint64(m.MemoryUsage().Weights), uint64(8*size+64<<20); taken > most {
		t.Errorf("mutant %d takes %d bytes, more than %d: %v", seed, taken, most, err)
	}
	return true
}

// mutateTower changes a key or a tensor of a file.
func mutateTower(r *rand.Rand, f *families.File) {
	if r.IntN(2) == 0 {
		i := r.IntN(len(f.Keys))
		if r.IntN(6) == 0 {
			f.Keys = slices.Delete(slices.Clone(f.Keys), i, i+1)
			return
		}
		values := []gguf.Value{
			gguf.ValueOf(uint32(0)), gguf.ValueOf(uint32(1)), gguf.ValueOf(uint32(3)), gguf.ValueOf(uint32(math.MaxUint32)), gguf.ValueOf(int32(-1)), gguf.ValueOf(uint64(1) << 40),
			gguf.ValueOf(float32(math.NaN())), gguf.ValueOf(float32(1e30)), gguf.ValueOf("gemma4uv"), gguf.ValueOf("qwen3vl_merger"), gguf.ValueOf(""), gguf.ValueOf(true), gguf.ValueOf(false),
			gguf.ArrayOf([]bool{true, true, true}), gguf.ArrayOf([]float32{1}), gguf.ArrayOf([]float32{0, 0, 0}), gguf.ArrayOf([]int32{7, 7, 7}), gguf.ArrayOf(make([]bool, 5000)),
		}
		f.Keys[i].Value = values[r.IntN(len(values))]
		return
	}
	i := r.IntN(len(f.Tensors))
	t := &f.Tensors[i]
	switch r.IntN(5) {
	case 0:
		f.Tensors = slices.Delete(f.Tensors, i, i+1)
	case 1:
		t.Name = f.Tensors[r.IntN(len(f.Tensors))].Name + ".x"
	case 2: // other dimensions of as many elements
		n := 1
		for _, d := range t.Shape {
			n *= d
		}
		t.Shape = [][]int{{n}, {1, n}, {n, 1}, {1, 1, 1, n}}[r.IntN(4)]
	case 3: // fewer rows
		if rows := t.Shape[0]; rows > 1 {
			less := 1 + r.IntN(rows-1)
			t.Data = t.Data[:len(t.Data)/rows*less]
			t.Shape = slices.Clone(t.Shape)
			t.Shape[0] = less
		}
	case 4: // other numbers
		t.Data = slices.Clone(t.Data)
		for range 1 + r.IntN(8) {
			t.Data[r.IntN(len(t.Data))] = byte(r.IntN(256))
		}
	}
}

// mutateFolder changes a value of a configuration of a folder.
func mutateFolder(t testing.TB, r *rand.Rand, files fstest.MapFS) {
	name := []string{"config.json", "config.json", "preprocessor_config.json", "processor_config.json"}[r.IntN(4)]
	var object map[string]any
	if err := json.Unmarshal(files[name].Data, &object); err != nil {
		t.Fatal(err)
	}
	at := object
	for _, inner := range []string{"vision_config", "image_processor"} {
		if in, ok := object[inner].(map[string]any); ok && r.IntN(8) > 0 {
			at = in
		}
	}
	var keys []string
	for key := range at {
		if !strings.Contains(key, "label") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	values := []any{0, 1, -1, 3, 1 << 20, 1e30, 0.5, "x", "gelu", nil, true, false, []int{0, 0}, []int{5, 1}, []float64{1, 2, 3}, map[string]any{"rope_theta": 0}}
	key := keys[r.IntN(len(keys))]
	if v := r.IntN(len(values) + 1); v < len(values) {
		at[key] = values[v]
	} else {
		delete(at, key)
	}
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	files[name] = &fstest.MapFile{Data: data}
}
