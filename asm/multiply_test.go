package asm_test

import (
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/quant"
)

// TestMultiplyCounts fails if a tier does no multiply-adds, or not always as many.
func TestMultiplyCounts(t *testing.T) {
	for _, k := range asm.Tiers() {
		for name, multiply := range map[string]func() int{"integers": k.MultiplyIntegers, "floats": k.MultiplyFloats} {
			if first, second := multiply(), multiply(); first <= 0 || second != first {
				t.Errorf("%s, %s: %d multiply-adds, then %d", k.Tier(), name, first, second)
			}
		}
	}
}

// TestProductsStayBelowTheLimit fails if a product is faster than MultiplyIntegers or MultiplyFloats, which are what the
// instructions can do at most. It leaves much room for a clock that changes while it measures.
func TestProductsStayBelowTheLimit(t *testing.T) {
	const room, least, window = 2, 12, 20 * time.Millisecond
	for _, k := range asm.Tiers()[1:] {
		for _, f := range []quant.Format{quant.Q4_0, quant.Q8_0, quant.Q4_K, quant.F32} {
			limit, product := k.MultiplyIntegers, multiplying(k, f)
			if f.ActivationForm() == quant.Float {
				limit = k.MultiplyFloats
			}
			var most, got float64
			for began, i := time.Now(), 0; i < least || time.Since(began) < window; i++ {
				most, got = max(most, rate(limit)), max(got, rate(product))
			}
			t.Logf("%s, %s: %.2f of %.2f GMAC/s", k.Tier(), f, got/1e9, most/1e9)
			if got > room*most {
				t.Errorf("%s, %s: %.3g multiply-adds a second, and the limit is %.3g", k.Tier(), f, got, most)
			}
		}
	}
}

// multiplying returns a function that computes a product with weights of a format, and returns how many multiply-adds it has.
func multiplying(k *asm.Kernels, f quant.Format) func() int {
	const rows, width, tokens = 2 * asm.PanelRows, 256, 24
	acts := &quant.Activation{}
	acts.Reserve(f.ActivationForm(), tokens, width)
	if f.ActivationForm() == quant.Float {
		acts.X = make([]float32, tokens*width)
	}
	product := &asm.PanelProduct{
		Panels: make([]byte, rows*f.Bytes(width)), Count: rows / asm.PanelRows, Acts: acts, Out: make([]float32, tokens*rows), Stride: rows,
	}
	return func() int {
		k.PanelsFor(f).Multiply(product)
		return rows * width * tokens
	}
}

// rate returns how many multiply-adds a second a function does.
func rate(multiply func() int) float64 {
	began := time.Now()
	n := multiply()
	return float64(n) / max(time.Since(began), 1).Seconds()
}
