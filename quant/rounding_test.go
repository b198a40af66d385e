package quant_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/quant"
)

// specimen is rows to round, and the importance of their columns.
type specimen struct {
	name       string
	x          []float32
	importance []float32
}

// specimens returns rows of 512 elements: normal ones, ones of a heavier tail, and ones with a mean.
func specimens() []specimen {
	const cols, rows = 512, 64
	r := rand.New(rand.NewPCG(11, 12))
	importance := make([]float32, cols)
	for i := range importance {
		v := r.NormFloat64() * (0.2 + 2*r.Float64()*r.Float64())
		importance[i] = float32(v*v + 0.01)
	}
	draw := func(name string, next func() float64) specimen {
		x := make([]float32, rows*cols)
		for i := range x {
			x[i] = float32(next())
		}
		return specimen{name, x, importance}
	}
	return []specimen{
		draw("normal", func() float64 { return 0.03 * r.NormFloat64() }),
		draw("heavy", func() float64 { v := r.NormFloat64(); return 0.02 * v * math.Abs(v) }),
		draw("shifted", func() float64 { return 0.02*r.NormFloat64() + 0.01 }),
		draw("uniform", func() float64 { return r.Float64() - 0.5 }),
	}
}

// relativeError is the root of the weighted squares of errors over those of the elements.
func relativeError(x, y, importance []float32) float64 {
	var up, down float64
	for i, v := range x {
		w := 1.0
		if importance != nil {
			w = float64(importance[i%len(importance)])
		}
		up += w * (float64(v) - float64(y[i])) * (float64(v) - float64(y[i]))
		down += w * float64(v) * float64(v)
	}
	return math.Sqrt(up / down)
}

// rounded rounds rows and widens them again.
func rounded(t *testing.T, f quant.Format, x, importance []float32) (packed []byte, y []float32) {
	t.Helper()
	packed, y = make([]byte, f.Bytes(len(x))), make([]float32, len(x))
	if err := f.QuantizeWeighted(packed, x, importance); err != nil {
		t.Fatal(err)
	}
	if err := f.Dequantize(y, packed); err != nil {
		t.Fatal(err)
	}
	return packed, y
}

// readJSON reads a file of testdata.
func readJSON(t *testing.T, name string, content any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(data, content)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRoundingIsAsGoodAsLlamaCpp compares the errors with those of llama.cpp's quantisers (ggml_quantize_chunk as
// node-llama-cpp 3.22.1 has it) for the same rows, with importance and without.
func TestRoundingIsAsGoodAsLlamaCpp(t *testing.T) {
	effort.Turn(t, 8)
	var theirs map[string]map[string]float64
	readJSON(t, "rounding-llamacpp.json", &theirs)
	for _, f := range quantized {
		errors := theirs[f.String()]
		if len(errors) == 0 {
			t.Logf("%s: no figures of llama.cpp's to compare with", f)
			continue
		}
		for _, s := range specimens() {
			for mode, importance := range map[string][]float32{"plain": nil, "weighted": s.importance} {
				_, y := rounded(t, f, s.x, importance)
				mine, other := relativeError(s.x, y, importance), errors[s.name+" "+mode]
				if !(mine <= 1.0001*other) {
					t.Errorf("%s, %s %s: the error is %.5f, llama.cpp's %.5f", f, s.name, mode, mine, other)
				}
			}
		}
	}
}

// TestRoundingKeepsItsBits holds what the search finds to what it found when this was written, on whatever machine: the test runs on
// several architectures.
func TestRoundingKeepsItsBits(t *testing.T) {
	var want map[string]string
	readJSON(t, "rounding-sha256.json", &want)
	got := map[string]string{}
	for _, f := range quantized {
		hash := sha256.New()
		for _, s := range specimens() {
			for _, importance := range [][]float32{nil, s.importance} {
				packed, _ := rounded(t, f, s.x[:4*len(s.importance)], importance)
				hash.Write(packed)
			}
		}
		got[f.String()] = hex.EncodeToString(hash.Sum(nil))
		if got[f.String()] != want[f.String()] {
			t.Errorf("%s rounds otherwise than before", f)
		}
	}
	if t.Failed() {
		list, _ := json.MarshalIndent(got, "", "  ")
		t.Logf("now:\n%s", list)
	}
}

// TestImportanceHelps checks that importance lowers the error that it weighs.
func TestImportanceHelps(t *testing.T) {
	effort.Turn(t, 8)
	for i, f := range quantized {
		if f == quant.Q8_0 || f == quant.MXFP4 { // are always rounded by their formulas
			continue
		}
		for j, s := range specimens() {
			if !effort.Share(i+j, 2) {
				continue
			}
			_, plain := rounded(t, f, s.x, nil)
			_, weighted := rounded(t, f, s.x, s.importance)
			before, after := relativeError(s.x, plain, s.importance), relativeError(s.x, weighted, s.importance)
			if !(after < before) {
				t.Errorf("%s, %s: with importance the error is %.5f, without %.5f", f, s.name, after, before)
			}
		}
	}
}

// TestRowsAreRoundedAlone checks that a row's blocks do not depend on the rows that are rounded with it.
func TestRowsAreRoundedAlone(t *testing.T) {
	s := specimens()[1]
	cols := len(s.importance)
	for _, f := range quantized {
		all, _ := rounded(t, f, s.x[:8*cols], s.importance)
		for row := range 8 {
			one, _ := rounded(t, f, s.x[row*cols:(row+1)*cols], s.importance)
			if string(one) != string(all[row*len(one):(row+1)*len(one)]) {
				t.Errorf("%s: row %d alone is rounded otherwise", f, row)
			}
		}
	}
}

// TestHostileRows rounds what no weights should be: results are finite, and close, wherever numbers of the format can be. Otherwise
// FirstNotFinite finds a block.
func TestHostileRows(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	const cols = 256
	importance := make([]float32, cols)
	for i := range importance {
		importance[i] = float32(i % 3)
	}
	huge := make([]float32, cols)
	for i := range huge {
		huge[i] = math.MaxFloat32 / float32(1+i%5)
	}
	tiny := make([]float32, cols)
	for i := range tiny {
		tiny[i] = math.SmallestNonzeroFloat32 * float32(i%7)
	}
	for _, c := range []struct {
		name  string
		at    func(i int) float32
		bound float64 // of the relative error; 0: no bound
	}{
		{"zeros", func(int) float32 { return 0 }, 0},
		{"negative zeros", func(int) float32 { return float32(math.Copysign(0, -1)) }, 0},
		{"a constant", func(int) float32 { return 0.7 }, 0.04},
		{"a negative constant", func(int) float32 { return -0.7 }, 0.04},
		{"one element", func(i int) float32 { return map[bool]float32{true: 3}[i == 77] }, 0.05},
		{"two levels", func(i int) float32 { return float32(i%2)*2 - 1 }, 0.1},
		{"a jump", func(i int) float32 { return float32(i/128)*1000 + float32(i%16) }, 0.1},
		{"subnormal", func(i int) float32 { return math.Float32frombits(uint32(i)) }, 0},
		{"the smallest binary16", func(i int) float32 { return 6e-8 * float32(i%16-8) }, 0},
		{"the largest", func(i int) float32 { return 3.4e38 * float32(i%3-1) }, 0},
		{"all NaN", func(int) float32 { return nan }, 0},
		{"all infinite", func(int) float32 { return inf }, 0},
		{"a NaN", func(i int) float32 { return map[bool]float32{true: nan, false: float32(i % 9)}[i == 5] }, 0},
		{"infinities", func(i int) float32 { return []float32{1, inf, -inf, -2}[i%4] }, 0},
	} {
		x, clean := make([]float32, cols), true
		for i := range x {
			x[i] = c.at(i)
			clean = clean && !math.IsNaN(float64(x[i])) && !math.IsInf(float64(x[i]), 0)
		}
		for _, f := range quantized {
			for name, weights := range map[string][]float32{"plain": nil, "weighted": importance, "huge weights": huge, "tiny weights": tiny} {
				data, y := rounded(t, f, x, weights)
				_, powers := f.ExponentAt()
				holds := clean && (powers || c.name != "the largest")
				if shows := f.FirstNotFinite(data) >= 0; shows == holds {
					t.Errorf("%s of %s, %s: some block shows that it is not finite: %v", f, c.name, name, shows)
				}
				for i, v := range y {
					if holds && (math.IsNaN(float64(v)) || math.IsInf(float64(v), 0)) {
						t.Fatalf("%s of %s, %s: element %d became %g", f, c.name, name, i, v)
					}
				}
				if e := relativeError(x, y, nil); clean && c.bound > 0 && weights == nil && !(e <= bound(f, c.bound)) {
					t.Errorf("%s of %s: relative error %.4f", f, c.name, e)
				}
			}
		}
	}
}

// bound is the error that a format of few bits may have where those of more keep below limit.
func bound(f quant.Format, limit float64) float64 {
	if f == quant.Q2_K || f == quant.Q3_K || f == quant.MXFP4 {
		return 3 * limit
	}
	return limit
}

// TestImportanceIsChecked asks for what cannot be.
func TestImportanceIsChecked(t *testing.T) {
	x := make([]float32, 512)
	for name, importance := range map[string][]float32{
		"no whole rows":   make([]float32, 384),
		"no whole blocks": make([]float32, 16),
		"negative":        append(make([]float32, 255), -1),
		"NaN":             append(make([]float32, 255), float32(math.NaN())),
		"infinite":        append(make([]float32, 255), float32(math.Inf(1))),
	} {
		err := quant.Q4_K.QuantizeWeighted(make([]byte, quant.Q4_K.Bytes(len(x))), x, importance)
		if err == nil || !strings.Contains(err.Error(), "must be") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, f := range quantized { // without any importance columns count alike
		all, _ := rounded(t, f, x, make([]float32, 256))
		none, _ := rounded(t, f, x, nil)
		if string(all) != string(none) {
			t.Errorf("%s: importance of 0 everywhere matters", f)
		}
	}
}

func BenchmarkQuantize(b *testing.B) {
	s := specimens()[0]
	for _, f := range quant.Formats() {
		if f.BlockLen() == 1 {
			continue
		}
		dst := make([]byte, f.Bytes(len(s.x)))
		b.Run(f.String(), func(b *testing.B) {
			for b.Loop() {
				if err := f.QuantizeWeighted(dst, s.x, s.importance); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(s.x))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melements/s")
		})
	}
}
