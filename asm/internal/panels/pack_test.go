package panels_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/asm/internal/asmtest"
	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/quant"
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
			for i, gap := range []int{0, 2, 46} {
				if !effort.Share(i+blocks, 3) {
					continue
				}
				rowBytes := bytesOfRow + gap
				src := make([]byte, (panels.Rows-1)*rowBytes+bytesOfRow)
				fillRandom(src, rng)
				want := make([]byte, panels.Rows*bytesOfRow)
				panels.PackPortable(p, want, src, rowBytes, k)
				got := asmtest.FencedCopy(t, make([]byte, len(want)))
				p.Pack(got, asmtest.FencedCopy(t, src), rowBytes, k)
				if !bytes.Equal(got, want) {
					t.Fatalf("%d blocks, rows %d bytes apart: the panels differ", blocks, rowBytes)
				}
			}
		}
	})
}

// TestQuantize compares the quantising of panels with the quantising of rows, which are then packed.
func TestQuantize(t *testing.T) {
	scratch := asmtest.FencedCopy(t, make([]byte, panels.ScratchBytes))
	forPanels(t, func(t *testing.T, p *panels.Panels) {
		rng := rand.New(rand.NewPCG(17, 18))
		for i, from := range []quant.Format{quant.F32, quant.F16, quant.BF16, quant.Q8_0} {
			for j, fill := range asmtest.Fills {
				for _, blocks := range []int{1, 7, 8, 9, 40} {
					if !effort.Share(i+j+blocks, 4) {
						continue
					}
					k := 32 * blocks
					rowBytes, gap := from.Bytes(k), 12
					src := make([]byte, panels.Rows*(rowBytes+gap)-gap)
					rows, x := make([]byte, panels.Rows*p.Format().Bytes(k)), make([]float32, k)
					got := asmtest.FencedCopy(t, make([]byte, len(rows)))
					if k%p.Format().BlockLen() != 0 {
						continue
					}
					for r := range panels.Rows {
						for i := range x {
							x[i] = fill.At(rng, i)
						}
						row := src[r*(rowBytes+gap):][:rowBytes]
						if err := from.Quantize(row, x); err != nil {
							t.Fatal(err)
						}
					}
					if !p.Quantize(got, asmtest.FencedCopy(t, src), from, rowBytes+gap, k, &scratch) {
						continue
					}
					for r := range panels.Rows { // what the rows' numbers become one by one
						if err := from.Dequantize(x, src[r*(rowBytes+gap):][:rowBytes]); err != nil {
							t.Fatal(err)
						}
						if err := p.Format().Quantize(rows[r*p.Format().Bytes(k):][:p.Format().Bytes(k)], x); err != nil {
							t.Fatal(err)
						}
					}
					want := make([]byte, len(rows))
					panels.PackPortable(p, want, rows, p.Format().Bytes(k), k)
					if !bytes.Equal(got, want) {
						t.Fatalf("%s from %s, %s, %d blocks: the panels differ", p.Format(), from, fill.Name, blocks)
					}
				}
			}
		}
	})
}

// BenchmarkQuantize reports the bytes that are read.
func BenchmarkQuantize(b *testing.B) {
	const k = 2048
	var scratch []byte
	for _, p := range panelsOf(asm.Best()) {
		for _, from := range []quant.Format{quant.F32, quant.F16, quant.BF16} {
			rowBytes := from.Bytes(k)
			src, dst := make([]byte, panels.Rows*rowBytes), make([]byte, panels.Rows*p.Format().Bytes(k))
			if p.Quantize(dst, src, from, rowBytes, k, &scratch) {
				b.Run(p.Format().String()+"/"+from.String(), func(b *testing.B) {
					b.SetBytes(int64(len(src)))
					for b.Loop() {
						p.Quantize(dst, src, from, rowBytes, k, &scratch)
					}
				})
			}
		}
	}
}
