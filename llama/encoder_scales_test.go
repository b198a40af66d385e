package llama

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestScalesOfEncodersAreMultiplied gives all matrices of an encoder with centred norms scales: the vector is that of the file with the products.
func TestScalesOfEncodersAreMultiplied(t *testing.T) {
	t.Parallel()
	clean := families.ReadFile(t, families.GGUF(t, fixture.Path(t, "families/enc-bert")))
	scaled, product := clean.Clone(), clean.Clone()
	count := 0
	for i := range clean.Tensors {
		w := &clean.Tensors[i]
		stem, weight := strings.CutSuffix(w.Name, ".weight")
		if !weight || len(w.Shape) != 2 || !strings.HasPrefix(stem, "blk.") {
			continue
		}
		scale := []float32{0.5, 2, 0.25}[count%3]
		count++
		scaled.Add(t, stem+".scale", []int{1}, scale)
		values := make([]float32, len(w.Data)/4)
		if err := tensor.F32.Format().Dequantize(values, w.Data); err != nil {
			t.Fatal(err)
		}
		for n := range values {
			values[n] *= scale
		}
		again := &families.File{}
		again.Add(t, w.Name, w.Shape, values...)
		product.Tensors[i] = again.Tensors[0]
	}
	vector := func(f *families.File) []float32 {
		m, err := LoadFS(t.Context(), fstest.MapFS{"m.gguf": {Data: f.Bytes(t)}}, "m.gguf", &LoadOptions{Weights: tensor.F32})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		w := whole{model: m, texts: [][]Token{{2, 9, 5, 44, 17, 3}}, scale: 1}
		found, err := w.pooled(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return states(found)
	}
	want := vector(product)
	if e := families.RelativeError(vector(scaled), want); count < 6 || e > 1e-6 || families.RelativeError(vector(clean), want) < 1e-3 {
		t.Errorf("the vector with %d scales is off by %.2g", count, e)
	}
}
