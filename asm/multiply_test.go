package asm_test

import (
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/quant"
)

// TestMultiplyCounts fails where a tier does no multiply-adds, or not always as many.
func TestMultiplyCounts(t *testing.T) {
	for _, k := range asm.Tiers() {
		for name, multiply := range map[string]func() int{"integers": k.MultiplyIntegers, "floats": k.MultiplyFloats} {
			if first, second := multiply(), multiply(); first <= 0 || second != first {
				t.Errorf("%s, %s: %d multiply-adds, then %d", k.Tier(), name, first, second)
			}
		}
	}
}

// TestProductsStayBelowTheLimit fails where a product is faster than MultiplyIntegers or MultiplyFloats, which are what the
// instructions can do at most. It leaves much room for a clock that changes while it measures.
func TestProductsStayBelowTheLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	const rounds, room = 50, 1.5
	for _, k := range asm.Tiers() {
		for _, f := range []quant.Format{quant.Q4_0, quant.Q8_0, quant.Q4_K, quant.F32} {
			limit := k.MultiplyIntegers
			if f.ActivationForm() == quant.Float {
				limit = k.MultiplyFloats
			}
			panels := k.PanelsFor(f)
			if panels == nil {
				continue
			}
			const rows, width, tokens = 4 * asm.PanelRows, 512, 48
			acts := &quant.Activation{}
			acts.Reserve(f.ActivationForm(), tokens, width)
			for i, x := 0, make([]float32, width); i < tokens; i++ {
				k.Prepare(acts, i, x)
			}
			if f.ActivationForm() == quant.Float {
				acts.X = make([]float32, tokens*width)
			}
			product := &asm.PanelProduct{
				Panels: make([]byte, rows*f.Bytes(width)), Count: rows / asm.PanelRows, Acts: acts, Out: make([]float32, tokens*rows), Stride: rows,
			}
			var most, got float64
			for range rounds {
				began := time.Now()
				n := limit()
				most = max(most, float64(n)/time.Since(began).Seconds())
				began = time.Now()
				panels.Multiply(product)
				got = max(got, rows*width*tokens/time.Since(began).Seconds())
			}
			t.Logf("%s, %s: %.0f of %.0f GMAC/s", k.Tier(), f, got/1e9, most/1e9)
			if got > room*most {
				t.Errorf("%s, %s: %.3g multiply-adds a second, and the limit is %.3g", k.Tier(), f, got, most)
			}
		}
	}
}
