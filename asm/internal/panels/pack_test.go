package panels_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/antigravity-go/antigravity/asm/internal/asmtest"
	"github.com/antigravity-go/antigravity/asm/internal/panels"
)

// TestPack compares packing with its definition, for rows that are farther apart than they are long. Source and panel end at protected
// pages.
func TestPack(t *testing.T) {
	forPanels(t, func(t *testing.T, p *panels.Panels) {
		rng := rand.New(rand.NewPCG(15, 16))
		block := p.Format().BlockLen()
		lengths := []int{1, 2, 3, 5, 7, 8, 9, 31, 64, 65, 130}
		if block == 1 {
			lengths = append(lengths, 511, 512, 513, 1031, 2048)
		}
		for _, blocks := range lengths {
			k := blocks * block
			bytesOfRow := p.Format().Bytes(k)
			for _, gap := range []int{0, 2, 46} {
				rowBytes := bytesOfRow + gap
				src := make([]byte, (panels.Rows-1)*rowBytes+bytesOfRow)
				fillRandom(src, rng)
				want := make([]byte, panels.Rows*bytesOfRow)
				p.PackPortable(want, src, rowBytes, k)
				got := asmtest.FencedCopy(t, make([]byte, len(want)))
				p.Pack(got, asmtest.FencedCopy(t, src), rowBytes, k)
				if !bytes.Equal(got, want) {
					t.Fatalf("%d blocks, rows %d bytes apart: the panels differ", blocks, rowBytes)
				}
			}
		}
	})
}
