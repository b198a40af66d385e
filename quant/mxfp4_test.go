package quant_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/quant"
)

// TestMXFP4EqualsLlamaCpp rounds floats and compares with the blocks that llama.cpp's quantiser made of them: blocks of 32 float32, from all
// matrices of a model of random weights, and then the blocks.
func TestMXFP4EqualsLlamaCpp(t *testing.T) {
	golden, err := os.ReadFile("testdata/mxfp4-llamacpp.bin")
	if err != nil {
		t.Fatal(err)
	}
	blocks := len(golden) / (128 + 17)
	x, got := make([]float32, 32*blocks), make([]byte, 17*blocks)
	if err := quant.F32.Dequantize(x, golden[:128*blocks]); err != nil {
		t.Fatal(err)
	}
	if err := quant.MXFP4.Quantize(got, x); err != nil {
		t.Fatal(err)
	}
	for b := range blocks {
		if want := golden[128*blocks+17*b:][:17]; !bytes.Equal(got[17*b:][:17], want) {
			t.Errorf("block %d became %x, want %x", b, got[17*b:][:17], want)
		}
	}
}

// TestMXFP4Exponents reads the numbers of all exponents, also those below float32's normal range, and rounds them again.
func TestMXFP4Exponents(t *testing.T) {
	for e := range 256 {
		block := append([]byte{byte(e)}, "\x10\x32\x54\x76\x98\xba\xdc\xfe\x01\x23\x45\x67\x89\xab\xcd\xef"...)
		got, again := make([]float32, 32), make([]byte, 17)
		if err := quant.MXFP4.Dequantize(got, block); err != nil {
			t.Fatal(err)
		}
		if damaged := quant.MXFP4.FirstNotFinite(block) == 0; damaged != (e == 255) {
			t.Errorf("exponent %d: damaged: %v", e, damaged)
		}
		for i, v := range got {
			if want := element(quant.MXFP4, block, i); v != float32(want) && e < 255 {
				t.Errorf("exponent %d: element %d is %g, want %g", e, i, v, want)
			} else if e == 255 && v-v == 0 {
				t.Errorf("exponent %d: element %d is %g: it must not be finite", e, i, v)
			}
		}
		if err := quant.MXFP4.Quantize(again, got); err != nil {
			t.Fatal(err)
		}
		values := make([]float32, 32)
		if err := quant.MXFP4.Dequantize(values, again); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if e < 253 && v != got[i] { // above, 2^e·12 is no float32
				t.Errorf("exponent %d: element %d came back as %g, not %g", e, i, v, got[i])
			}
		}
	}
}

// TestJoinMXFP4 compares with the order in which gpt-oss's folders have elements: two neighbours a byte.
func TestJoinMXFP4(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	blocks, scales := make([]byte, 5*16), []byte{120, 121, 119, 127, 3}
	for i := range blocks {
		blocks[i] = byte(r.Uint32())
	}
	joined, got := make([]byte, 5*17), make([]float32, 5*32)
	if err := quant.JoinMXFP4(joined, blocks, scales); err != nil {
		t.Fatal(err)
	}
	if err := quant.MXFP4.Dequantize(got, joined); err != nil {
		t.Fatal(err)
	}
	table := [8]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}
	for i, v := range got {
		q := blocks[i/2] >> (i % 2 * 4) & 15
		want := math.Ldexp(table[q&7], int(scales[i/32])-127)
		if q > 7 {
			want = -want
		}
		if float64(v) != want {
			t.Fatalf("element %d is %g, want %g", i, v, want)
		}
	}
	if quant.JoinMXFP4(joined, blocks[1:], scales) == nil || quant.JoinMXFP4(joined[1:], blocks, scales) == nil {
		t.Error("tensors that do not fit were joined")
	}
}

// TestMXFP4EqualsGGUF reads random blocks and compares with what the gguf package for Python reads.
func TestMXFP4EqualsGGUF(t *testing.T) {
	raw, err := os.ReadFile("testdata/mxfp4-gguf.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Blocks []byte    // in base 64
		SHA256 string    // of all numbers
		First  []float32 // of them
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	got := make([]float32, len(golden.Blocks)/17*32)
	if err := quant.MXFP4.Dequantize(got, golden.Blocks); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[:len(golden.First)], golden.First) {
		t.Errorf("the first numbers are %v, want %v", got[:len(golden.First)], golden.First)
	}
	numbers := make([]byte, 4*len(got))
	if err := quant.F32.Quantize(numbers, got); err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(numbers); hex.EncodeToString(sum[:]) != golden.SHA256 {
		t.Error("some number is another one")
	}
}
