package importance

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/atomicfile/filetest"
)

// golden is what testdata's files hold, which a program in Python wrote.
var golden = map[string]Sums{
	"blk.0.attn_q.weight":        {[]float64{1.5, 2, 0.25, 8}, []float64{10}},
	"blk.0.ffn_down_exps.weight": {[]float64{1, 2, 3, 4, 0, 0}, []float64{5, 7, 0}},
}

func near(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Abs(float64(x-y)) <= 1e-6*math.Abs(float64(y)) })
}

func TestReadGolden(t *testing.T) {
	for _, file := range []string{"golden.gguf", "golden.dat"} {
		m, err := Read("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Tensors) != len(golden) {
			t.Errorf("%s: the tensors are %v", file, m.Names())
		}
		for name, want := range golden {
			got := m.Tensors[name]
			if got == nil || !near(got.Means(), want.Means()) {
				t.Errorf("%s: %s is %v, want %v", file, name, got, want)
			}
			if file == "golden.gguf" && (!slices.Equal(got.Squares, want.Squares) || !slices.Equal(got.Counts, want.Counts)) {
				t.Errorf("%s: %s is %v, want %v", file, name, got, want)
			}
		}
		if file == "golden.gguf" && (m.Chunk != 5 || m.Chunks() != 2 || !slices.Equal(m.Datasets, []string{"a.txt", "b.txt"})) {
			t.Errorf("%s: chunks of %d, %d of them, of %v", file, m.Chunk, m.Chunks(), m.Datasets)
		}
		if file == "golden.dat" && !slices.Equal(m.Datasets, []string{"text.txt"}) {
			t.Errorf("%s: of %v", file, m.Datasets)
		}
	}
}

// TestWrittenAsGolden writes what the golden files hold: the same bytes come out.
func TestWrittenAsGolden(t *testing.T) {
	dir := t.TempDir()
	for file, datasets := range map[string][]string{"golden.gguf": {"a.txt", "b.txt"}, "golden.dat": {"text.txt"}} {
		m := New(5)
		m.Datasets = datasets
		for name, s := range golden {
			m.Tensors[name] = &s
		}
		path := filepath.Join(dir, file)
		if err := m.Write(path); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs:\n%q\n%q", file, got, want)
		}
	}
}

func TestAdd(t *testing.T) {
	m, other := New(4), New(4)
	a, err := m.Of("a", 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	a.Row(1, []float32{1, 2, 3})
	b, _ := other.Of("a", 2, 3)
	b.Row(0, []float32{4, 0, 0})
	b.Row(1, []float32{1, 1, 1})
	other.Datasets = []string{"x"}
	if err := m.Add(other); err != nil {
		t.Fatal(err)
	}
	if want := []float32{16, 0, 0, 1, 2.5, 5}; !slices.Equal(a.Means(), want) || len(m.Datasets) != 1 {
		t.Errorf("the means are %v, want %v", a.Means(), want)
	}
	other.Tensors["a"] = &Sums{make([]float64, 4), make([]float64, 2)}
	if err := m.Add(other); err == nil || !strings.Contains(err.Error(), "columns") {
		t.Errorf("another shape: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	whole, err := os.ReadFile("testdata/golden.gguf")
	if err != nil {
		t.Fatal(err)
	}
	dat, err := os.ReadFile("testdata/golden.dat")
	if err != nil {
		t.Fatal(err)
	}
	negative := bytes.Clone(dat)
	binary.LittleEndian.PutUint32(negative[4+4+19+4+4:], math.Float32bits(-1))
	path := filepath.Join(dir, "file")
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":          {nil, "middle"},
		"cut short":      {dat[:40], "middle"},
		"a long name":    {[]byte("\x01\x00\x00\x00\xff\xff\xff\x00"), "name"},
		"a huge tensor":  {[]byte("\x01\x00\x00\x00\x01\x00\x00\x00a\x01\x00\x00\x00\xff\xff\xff\x7f"), "middle"},
		"negative":       {[]byte("\xff\xff\xff\xff"), "no importance matrix"},
		"negative sums":  {negative, "negative"},
		"another type":   {bytes.Replace(whole, []byte("imatrix"), []byte("imatrox"), 1), "kind"},
		"without counts": {bytes.Replace(whole, []byte("weight.counts"), []byte("weight.cuonts"), 1), "no tensor"},
	} {
		if err := os.WriteFile(path, c.data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
	if _, err := Read(dir); err == nil {
		t.Error("a folder was read")
	}
	if err := New(1).Write(filepath.Join(dir, "empty.gguf")); err == nil {
		t.Error("a matrix without tensors was written")
	}
}

// FuzzRead reads arbitrary bytes in both forms.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"golden.gguf", "golden.dat"} {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, parse := range []func([]byte) (*Matrix, error){parseDat, parseGGUF} {
			if m, err := parse(data); err == nil && m.check() == nil {
				for _, s := range m.Tensors {
					s.Means()
				}
				m.Chunks()
			}
		}
	})
}

// TestStopped stops the writer at every step.
func TestStopped(t *testing.T) {
	for _, name := range []string{"m.gguf", "m.dat"} {
		filetest.EveryStep(t, func(folder string) {
			for _, name := range []string{name, name + ".part"} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte("old"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}, func(s atomicfile.System, folder string) error {
			m := New(5)
			for name, sums := range golden {
				m.Tensors[name] = &sums
			}
			return m.writeTo(s, filepath.Join(folder, name))
		}, nil)
	}
}
