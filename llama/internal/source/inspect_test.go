package source_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// modelsIn returns the models in a folder of fixtures: GGUF files, and folders with a config.json.
func modelsIn(t *testing.T, root string) (paths []string) {
	t.Helper()
	data := os.DirFS(fixture.Path(t, "."))
	err := fs.WalkDir(data, root, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".gguf") {
			paths = append(paths, fixture.Path(t, name))
		} else if err == nil && entry.Name() == "config.json" {
			paths = append(paths, fixture.Path(t, path.Dir(name)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// Inspect and Load agree: on what loads, and on what it is.
func TestInspectAgreesWithLoad(t *testing.T) {
	var paths []string
	for _, root := range []string{"hf", "families", "quants", "pebble", "tokenizer"} {
		paths = append(paths, modelsIn(t, root)...)
	}
	tried, loaded := 0, 0
	for i, path := range paths {
		if !effort.Share(i, 3) {
			continue
		}
		tried++
		t.Run(filepath.Base(path), func(t *testing.T) {
			r, err := llama.Inspect(path)
			if err != nil {
				t.Fatal(err)
			}
			m, err := llama.Load(path, nil)
			if (err == nil) != (len(r.Problems) == 0) {
				t.Fatalf("Load says %v, Inspect %v", err, r.Problems)
			}
			if err != nil {
				if r.Problems[0].Error() != err.Error() {
					t.Errorf("Load says %v, Inspect %v", err, r.Problems[0])
				}
				return
			}
			defer m.Close()
			loaded++
			if got, want := r.Weights, m.MemoryUsage().Weights; got != int64(want) {
				t.Errorf("%s: %d bytes of weights, of which Inspect says %d", path, want, got)
			}
			if got, want := r.Config, m.Config(); got.Layers != want.Layers || len(got.EOS) != len(want.EOS) || got.Family != want.Family {
				t.Errorf("Inspect says %+v, Load %+v", got, want)
			}
			for _, i := range r.Ignored {
				if i.What == "" || i.Why == "" {
					t.Errorf("%+v is not used", i)
				}
				t.Logf("%s is not used: %s", i.What, i.Why)
			}
			if (r.Tokens != nil) != (m.Tokenizer().Text(0) != "") {
				t.Errorf("a tokenizer: %v", r.Tokens != nil)
			}
		})
	}
	if loaded < tried/2 {
		t.Errorf("only %d of %d models load", loaded, tried)
	}
}

// Of mutants of models, too.
func TestInspectMutants(t *testing.T) {
	effort.Turn(t, 8)
	mutants, good := effort.Of(120, 300, 3000), 0
	if testing.Short() {
		mutants = 60
	}
	for seed := range uint64(mutants) {
		r := rand.New(rand.NewPCG(seed, 0x696e73))
		files, name := fstest.MapFS{}, "."
		if seed%2 == 0 {
			name = "m.gguf"
			files[name] = &fstest.MapFile{Data: ggufMutant(r)}
		} else {
			for name, data := range folderMutant(r) {
				files[name] = &fstest.MapFile{Data: data}
			}
		}
		report, err := llama.InspectFS(t.Context(), files, name)
		m, wrong := llama.LoadFS(t.Context(), files, name, &llama.LoadOptions{Threads: 2})
		switch {
		case wrong == nil:
			m.Close()
			good++
			if err != nil || len(report.Problems) > 0 {
				t.Errorf("seed %d loads; Inspect says %v, %v", seed, err, report)
			}
		case err == nil && len(report.Problems) == 0:
			t.Errorf("seed %d: Inspect sees nothing wrong; %v", seed, wrong)
		case err == nil && slices.ContainsFunc(report.Problems, func(err error) bool { return errors.As(err, new(*parallel.PanicError)) }):
			t.Errorf("seed %d: Inspect panicked: %v", seed, report.Problems)
		}
	}
	if good < mutants/10 {
		t.Errorf("only %d of %d mutants load", good, mutants)
	}
}

// All that is wrong is told of.
func TestInspectTellsEverything(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture.Path(t, "hf/llama2-mha-f32"))); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	config = []byte(strings.Replace(string(config), `"vocab_size": `, `"vocab_size": 1`, 1)) // which the embedding and the head are not
	for name, data := range map[string][]byte{"config.json": config, "tokenizer.json": []byte(`{"model":{"type":"Morse"}}`)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := llama.Inspect(dir)
	if err != nil || len(r.Problems) != 3 {
		t.Fatalf("%v, problems %v", err, r)
	}
	for i, want := range []string{"embed_tokens", "lm_head", "Morse"} {
		if !strings.Contains(r.Problems[i].Error(), want) {
			t.Errorf("problem %d is %v, want one about %s", i, r.Problems[i], want)
		}
	}
}

func TestCacheBytes(t *testing.T) {
	c := llama.Config{Layers: 3, KVHeads: 2, HeadDim: 64}
	if got, want := c.CacheBytes(1000, tensor.F16), int64(3*2*1000*128*2); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	c.Window, c.Windowed = 100, []bool{true, false, true}
	if got, want := c.CacheBytes(1000, tensor.F16), int64(2*1200*128*2); got != want {
		t.Errorf("with windows %d bytes, want %d", got, want)
	}
}
