package quant_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

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
	make := func(name string, draw func() float64) specimen {
		x := make([]float32, rows*cols)
		for i := range x {
			x[i] = float32(draw())
		}
		return specimen{name, x, importance}
	}
	return []specimen{
		make("normal", func() float64 { return 0.03 * r.NormFloat64() }),
		make("heavy", func() float64 { v := r.NormFloat64(); return 0.02 * v * math.Abs(v) }),
		make("shifted", func() float64 { return 0.02*r.NormFloat64() + 0.01 }),
		make("uniform", func() float64 { return r.Float64() - 0.5 }),
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

// TestDump writes specimens for another program, where the environment says so.
func TestDump(t *testing.T) {
	dir := os.Getenv("QUANT_DUMP")
	if dir == "" {
		t.Skip()
	}
	put := func(name string, x []float32) {
		b := make([]byte, 4*len(x))
		_ = quant.F32.Quantize(b, x)
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range specimens() {
		put(s.name+".f32", s.x)
		put(s.name+".importance", s.importance)
	}
}

// TestCompareDump reads what another program rounded.
func TestCompareDump(t *testing.T) {
	dir := os.Getenv("QUANT_DUMP")
	if dir == "" {
		t.Skip()
	}
	all := map[string]map[string]float64{}
	for _, f := range quant.Formats() {
		if f.BlockLen() == 1 {
			continue
		}
		for _, s := range specimens() {
			for _, mode := range []string{"plain", "weighted"} {
				var imp []float32
				if mode == "weighted" {
					imp = s.importance
				}
				y := make([]float32, len(s.x))
				b := make([]byte, f.Bytes(len(y)))
				if err := f.QuantizeWeighted(b, s.x, imp); err != nil {
					t.Fatal(err)
				}
				_ = f.Dequantize(y, b)
				mine := relativeError(s.x, y, imp)
				ref, err := os.ReadFile(filepath.Join(dir, s.name+"."+f.String()+"."+mode))
				if err != nil {
					t.Fatal(err)
				}
				_ = f.Dequantize(y, ref)
				theirs := relativeError(s.x, y, imp)
				t.Logf("%-5s %-8s %-8s ours %.5f theirs %.5f ratio %.4f", f, s.name, mode, mine, theirs, mine/theirs)
				if all[f.String()] == nil {
					all[f.String()] = map[string]float64{}
				}
				all[f.String()][s.name+" "+mode] = theirs
			}
		}
	}
	b, _ := json.MarshalIndent(all, "", "  ")
	_ = os.WriteFile(filepath.Join(dir, "errors.json"), b, 0o644)
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
