package engine_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
)

// withZeros returns a copy of a folder in which the tensors with matching names are zero.
func withZeros(t *testing.T, dir, names string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(to, "model.safetensors")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin := 8 + int(binary.LittleEndian.Uint64(data))
	var header map[string]struct {
		Offsets []int `json:"data_offsets"`
	}
	if err := json.Unmarshal(data[8:begin], &header); err != nil {
		t.Fatal(err)
	}
	matching, found := regexp.MustCompile(names), false
	for name, entry := range header {
		if matching.MatchString(name) {
			clear(data[begin+entry.Offsets[0] : begin+entry.Offsets[1]])
			found = true
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil || !found {
		t.Fatalf("%v; %s found: %v", err, names, found)
	}
	return to
}

// TestEqualScoresChooseTheFirstExperts gives all experts the same scores: then the first ones compute each token, however rows are cut, and the others do
// not count.
func TestEqualScoresChooseTheFirstExperts(t *testing.T) {
	dir := withZeros(t, fixture.Path(t, "families/qwen3moe"), `mlp\.gate\.weight$`)
	tokens := make([]llama.Token, 40)
	for i := range tokens {
		tokens[i] = llama.Token(i * 7919 % 317)
	}
	var want []float32
	for _, dir := range []string{dir, withZeros(t, dir, `experts\.[3-7]\.`)} {
		m := llamatest.Load(t, dir, nil)
		for _, chunk := range []int{1, 5, 40} {
			s := llamatest.Session(t, m, &llama.SessionOptions{Chunk: chunk})
			if err := s.Prefill(t.Context(), tokens); err != nil {
				t.Fatal(err)
			}
			got := slices.Clone(llamatest.Logits(s))
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("chunks of %d: other logits", chunk)
			}
		}
	}
	other := llamatest.Load(t, withZeros(t, dir, `experts\.2\.`), nil)
	s := llamatest.Session(t, other, nil)
	if err := s.Prefill(t.Context(), tokens); err != nil {
		t.Fatal(err)
	}
	if slices.Equal(llamatest.Logits(s), want) {
		t.Error("the third expert does not count")
	}
}

// TestMappedExperts computes with experts that stay in a mapped file.
func TestMappedExperts(t *testing.T) {
	path := families.GGUF(t, fixture.Path(t, "families/qwen3moe"))
	var logits [2][]float32
	for i, mapped := range []bool{false, true} {
		m := llamatest.Load(t, path, &llama.LoadOptions{MapExperts: mapped})
		s := llamatest.Session(t, m, nil)
		if err := s.Prefill(t.Context(), []llama.Token{5, 9, 7, 11, 200, 3}); err != nil {
			t.Fatal(err)
		}
		logits[i] = slices.Clone(llamatest.Logits(s))
	}
	if !slices.Equal(logits[0], logits[1]) {
		t.Error("experts in the file give other logits than those in memory")
	}
}

// TestReportOfMemory compares what Inspect says of memory with what the loaded model takes, with experts in memory and in the file.
func TestReportOfMemory(t *testing.T) {
	for _, family := range []string{"qwen3moe", "gptoss", "granite4h-moe"} {
		path := families.GGUF(t, fixture.Path(t, "families/"+family))
		r, err := llama.Inspect(path)
		if err != nil || len(r.Problems) > 0 {
			t.Fatal(err, r.Problems)
		}
		if r.Experts == 0 || r.Mappable == 0 || r.Mappable > r.Experts || r.Tables+r.Experts > r.Weights {
			t.Errorf("%s: %d bytes, %d of tables, %d of experts, %d of them mappable", family, r.Weights, r.Tables, r.Experts, r.Mappable)
		}
		for _, mapped := range []bool{false, true} {
			device := cpu.New(1)
			defer device.Close()
			m := llamatest.Load(t, path, &llama.LoadOptions{Backend: device, MapExperts: mapped})
			want := r.Weights - r.Tables
			if mapped {
				want -= r.Mappable
			}
			// Vectors may be views of the file, too, and prepared weights are rounded up to cache lines.
			if used := device.Memory().Used() - m.MemoryUsage().Workspaces; used < want*9/10 || used > want*11/10 {
				t.Errorf("%s, mapped %v: %d bytes in memory, Inspect said %d", family, mapped, used, want)
			}
		}
	}
}
