//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"testing"

	"github.com/antigravity-go/antigravity/tensor"
)

// TestPlainWay tries the way without instructions as devices' ways are tried.
func TestPlainWay(t *testing.T) {
	b := openTest(t, Options{})
	works, err := wayWorks(b.queue, plainWay.probe(), "probe_matrix", plainWay.lanes, plainWay.lanes)
	must(t, err)
	if !works {
		t.Error("products of matrices are wrong")
	}
}

// TestMatrices compares the products by the device's instructions for matrices, of all types, and in each of the tiles. A device without such
// instructions computes some of them all the same, in the smallest tiles and one of the largest.
func TestMatrices(t *testing.T) {
	b := newBench(t, Options{})
	plain := b.gpu.products.matrix == nil
	if plain {
		b.gpu.products.matrix = &plainWay
	}
	b.gpu.tuning.forced = &tiled
	for i := range matrixTiles {
		types := []tensor.DType{tensor.Q4_0, tensor.Q4_K}
		if i == len(matrixTiles)-1 {
			types = weightTypes
		}
		if plain {
			types = map[int][]tensor.DType{0: {tensor.Q4_K}, len(matrixTiles) - 1: {tensor.Q4_0, tensor.Q4_1, tensor.Q2_K, tensor.Q6_K}}[i]
		}
		t.Run(fmt.Sprintf("%+v", matrixTiles[i]), func(t *testing.T) {
			b.TB, b.gpu.products.forcedTile = t, &matrixTiles[i]
			for _, d := range types {
				for _, c := range []struct{ m, n, k int }{{2, 33, 768}, {17, 70, 1024 + 256}, {5, 20, 96}, {150, 270, 512}} {
					if c.k%d.BlockLen() == 0 && !(plain && c.m > 100) {
						b.products(d, c.m, c.n, c.k)
					}
				}
			}
		})
	}
}
