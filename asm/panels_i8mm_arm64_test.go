package asm

import (
	"math/rand/v2"
	"testing"

	"github.com/antigravity-go/antigravity/quant"
)

// TestPanelsMultiplyChunks multiplies rows so long that their products are made in several chunks.
func TestPanelsMultiplyChunks(t *testing.T) {
	forPanels(t, func(t *testing.T, p *Panels) {
		if p.Format.Partner == quant.Float {
			return
		}
		rng := rand.New(rand.NewPCG(13, 14))
		for _, k := range []int{2048, 2304, 6400} {
			w := newWeights(p.Format, 2*PanelRows, k, weightKinds[0].fill, rng)
			for _, tokens := range []int{8, 11} {
				checkProduct(t, p, w, w.pack(p), 2*PanelRows, newActivation(p.Format, tokens, k, activationKinds[0].value, rng))
			}
		}
	})
}
