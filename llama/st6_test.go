package llama_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// saved is what sentence-transformers 6 computed with a pipeline that it had saved.
type saved struct {
	Texts   []string
	Vectors map[string][][]float32 // by task
	Scores  []float32              // of the pairs (text i, text i+1)
	Longest int
	Tokens  int `json:"long_tokens"` // of a long text
}

// savedPipeline returns a folder with a pipeline that sentence-transformers 6 saved.
func savedPipeline(t *testing.T, name string) (dir string, g saved) {
	t.Helper()
	from := fixture.Path(t, "st6/"+name)
	base, err := os.ReadFile(filepath.Join(from, "base.txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir = fixture.Path(t, "families/"+strings.TrimSpace(string(base)))
	if err := os.RemoveAll(filepath.Join(dir, "1_Pooling")); err != nil { // the base's
		t.Fatal(err)
	}
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		to := filepath.Join(dir, rel)
		data, err := os.ReadFile(path)
		if err == nil && rel == "golden.json" {
			err = json.Unmarshal(data, &g)
		}
		if err == nil {
			os.Remove(to)
			err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, g
}

// TestPipelinesOfSentenceTransformers6 compares vectors and scores of all pipelines that the fixtures have.
func TestPipelinesOfSentenceTransformers6(t *testing.T) {
	entries, err := os.ReadDir(fixture.Path(t, "st6"))
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{"gelu": "torch.nn.modules.activation.GELU", "residual": "use_residual"}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			dir, g := savedPipeline(t, e.Name())
			m, err := llama.Load(dir, nil)
			if what := refused[e.Name()]; what != "" {
				if !errors.Is(err, llama.ErrUnsupported) || !strings.Contains(err.Error(), what) {
					t.Errorf("%v, and must refuse %s", err, what)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for task, want := range g.Vectors {
				got, err := m.EmbedWith(t.Context(), llama.EmbedOptions{Task: task}, g.Texts...)
				if err != nil {
					t.Fatal(err)
				}
				for i := range want {
					scale := 1.0
					for _, v := range want[i] {
						scale = max(scale, math.Abs(float64(v)))
					}
					if d := distance(got[i], want[i]); !(d <= 2e-5*scale) {
						t.Errorf("task %q, %q: the vector differs by %.2g of %.2g", task, g.Texts[i], d, scale)
					}
				}
			}
			longest := g.Longest
			if g.Tokens > 0 {
				longest = min(longest, g.Tokens)
			}
			if n := m.LongestText(); n != longest {
				t.Errorf("the longest text has %d tokens, want %d", n, longest)
			}
			for i, want := range g.Scores {
				got, err := m.Rerank(t.Context(), g.Texts[i], g.Texts[(i+1)%len(g.Texts)])
				if err != nil {
					t.Fatal(err)
				}
				if d := math.Abs(float64(got[0] - want)); !(d <= 2e-5*max(1, math.Abs(float64(want)))) {
					t.Errorf("pair %d: the score is %g, want %g", i, got[0], want)
				}
			}
			if r, err := llama.Inspect(dir); err != nil || len(r.Problems) > 0 {
				t.Errorf("Inspect: %v, %v", r.Problems, err)
			}
		})
	}
}

// TestEverySettingOfAPipelineIsRead gives each file of a pipeline one more setting, and each of its settings a value of another type: an error
// that names the setting, or the vectors that it has without.
func TestEverySettingOfAPipelineIsRead(t *testing.T) {
	effort.Turn(t, 8)
	harmless := []string{"similarity_fn_name", "requirements", "activation_fn", "__version__", "unpad_inputs"}
	for _, name := range []string{"dense", "logits-template", "processing"} {
		dir, _ := savedPipeline(t, name)
		var files []string
		for _, pattern := range []string{"*_*/config.json", "sentence_bert_config.json", "config_sentence_transformers.json"} {
			found, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, found...)
		}
		for i, file := range files {
			if !effort.Share(i, 2) {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var settings map[string]any
			if err := json.Unmarshal(data, &settings); err != nil {
				t.Fatal(err)
			}
			settings["another"] = nil
			for key, was := range settings {
				for _, other := range []any{7.5, "text", true, []any{1}, map[string]any{"x": 1}} {
					if settings[key] = other; reflect.DeepEqual(was, other) {
						continue
					}
					changed, err := json.Marshal(settings)
					if err == nil {
						err = os.WriteFile(file, changed, 0o644)
					}
					if err != nil {
						t.Fatal(err)
					}
					r, err := llama.Inspect(dir)
					if err != nil {
						t.Fatal(err)
					}
					err = errors.Join(r.Problems...)
					rel, _ := filepath.Rel(dir, file)
					known := slices.Contains(harmless, key) || key == "bias" && other == true || key == "include_prompt"
					if err == nil && !known || err != nil && !strings.Contains(err.Error(), filepath.Base(file)) && !strings.Contains(err.Error(), "modules.json") {
						t.Errorf("%s: %s: %s is %v: %v", name, rel, key, other, err)
					}
				}
				settings[key] = was
			}
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
