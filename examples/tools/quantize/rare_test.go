package main

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/rare"
)

// TestRareTypes reads a file of a type that nothing computes with: its numbers come out, but for what rewriting loses.
func TestRareTypes(t *testing.T) {
	in := fixture.Path(t, "quants/iq3_s.gguf")
	from := parseGGUF(t, readFile(t, in))
	got := parseGGUF(t, readFile(t, quantized(t, in, "-type", "f32")))
	seen := 0
	for _, stored := range from.Tensors() {
		kind := rare.Of(stored.Type)
		if kind == nil {
			continue
		}
		seen++
		want := make([]float32, stored.Shape[0]*stored.Shape[1])
		if err := kind.Dequantize(want, stored.Data); err != nil {
			t.Fatal(err)
		}
		out, ok := got.Tensor(stored.Name)
		if !ok || len(out.Data) != 4*len(want) {
			t.Fatalf("%s: %d bytes of %v", stored.Name, len(out.Data), out.Type)
		}
		var off, all float64
		for i, v := range want {
			off += math.Pow(float64(math.Float32frombits(binary.LittleEndian.Uint32(out.Data[4*i:])))-float64(v), 2)
			all += math.Pow(float64(v), 2)
		}
		if loss := math.Sqrt(off / all); loss > kind.Loss() {
			t.Errorf("%s: the numbers are off by %.2g of their size, more than %.2g", stored.Name, loss, kind.Loss())
		}
	}
	if seen < 9 {
		t.Errorf("%d tensors seen", seen)
	}
}
