package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/tools/internal/importance"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestImportanceByExpert rounds experts with importance matrices that differ in one expert: its matrix becomes another one, and no other does.
// One of the matrices never chose an expert, which is named.
func TestImportanceByExpert(t *testing.T) {
	folder := fixture.Path(t, "families/qwen3moe")
	const name = "blk.1.ffn_up_exps.weight"
	write := func(change func(s *importance.Sums)) string {
		m := importance.New(1)
		c, err := folderOf(folder).Config()
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Of(name, c.Experts.Count, c.HiddenSize)
		if err != nil {
			t.Fatal(err)
		}
		for e := range s.Counts {
			row := make([]float32, c.HiddenSize)
			for i := range row {
				row[i] = float32(1 + i%7)
			}
			s.Row(e, row)
		}
		change(s)
		path := filepath.Join(t.TempDir(), "imatrix.gguf")
		if err := m.Write(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	columns := 0
	matrix := func(path string) (experts [][]byte) {
		f := parseGGUF(t, readFile(t, quantized(t, folder, "-type", "q4_0", "-imatrix", path)))
		stored, ok := f.Tensor(name)
		if !ok || stored.DType != tensor.Q4_0 {
			t.Fatalf("%s is %+v", name, stored.Type)
		}
		columns = stored.Shape[2]
		return slices.Collect(slices.Chunk(stored.Data, len(stored.Data)/stored.Shape[0]))
	}
	same := matrix(write(func(*importance.Sums) {}))
	unchosen := write(func(s *importance.Sums) {
		s.Counts[2] = 0
		clear(s.Squares[2*columns:][:columns])
	})
	for e, data := range matrix(unchosen) {
		if bytes.Equal(data, same[e]) != (e != 2) {
			t.Errorf("expert %d: equal %v", e, e == 2)
		}
	}
	var words strings.Builder
	planned(t, folder, "-type", "q4_0", "-imatrix", unchosen).warn(&words)
	if !strings.Contains(words.String(), "1 matrices of experts were never chosen") {
		t.Errorf("the warning is %q", words.String())
	}
}

// TestMXFP4StaysAsItIs finds the experts of gpt-oss in MXFP4 in a mix of few bits, since the model was trained so, and their blocks unchanged.
func TestMXFP4StaysAsItIs(t *testing.T) {
	folder := fixture.Path(t, "families/gptoss")
	const name = "blk.1.ffn_down_exps.weight"
	var want []byte
	for _, mix := range []string{"mxfp4_moe", "q4_k_m", "q8_0"} {
		stored, ok := parseGGUF(t, readFile(t, quantized(t, folder, "-type", mix))).Tensor(name)
		if !ok || stored.DType != tensor.MXFP4 {
			t.Fatalf("%s: %s is %v", mix, name, stored.Type)
		}
		if want == nil {
			want = slices.Clone(stored.Data)
		}
		if !bytes.Equal(stored.Data, want) {
			t.Errorf("%s: other blocks", mix)
		}
	}
}
