package quant

import (
	"errors"
	"fmt"
)

// ErrReadOnly is wrapped by the error of Quantize for a format that is only read.
var ErrReadOnly = errors.New("the format is read, not written")

// Format is a storage format for rows of numbers. The formats are the variables below; they never change.
type Format struct {
	Name       string
	BlockLen   int     // elements of a block; 1 for the float formats
	BlockBytes int     // bytes of a block
	Partner    Partner // the form of the activations that the format is multiplied with

	unpack   func(b []byte, u *unpacked)     // one block; nil for the float formats
	widen    func(dst []float32, src []byte) // the float formats
	quantize func(dst []byte, src []float32) // whole blocks; nil for formats that are only read
}

// The formats. The quantised ones have GGML's layouts, which the Block types spell out.
var (
	F32  = &Format{Name: "f32", BlockLen: 1, BlockBytes: 4, widen: widenF32, quantize: narrowF32}
	F16  = &Format{Name: "f16", BlockLen: 1, BlockBytes: 2, widen: widenF16, quantize: narrowF16}
	BF16 = &Format{Name: "bf16", BlockLen: 1, BlockBytes: 2, widen: widenBF16, quantize: narrowBF16}
	Q4_0 = &Format{Name: "q4_0", BlockLen: 32, BlockBytes: 18, Partner: Int8x32, unpack: unpackQ4_0, quantize: quantizeQ4_0}
	Q4_1 = &Format{Name: "q4_1", BlockLen: 32, BlockBytes: 20, Partner: Int8x32, unpack: unpackQ4_1, quantize: quantizeQ4_1}
	Q8_0 = &Format{Name: "q8_0", BlockLen: 32, BlockBytes: 34, Partner: Int8x32, unpack: unpackQ8_0, quantize: quantizeQ8_0}
	Q4_K = &Format{Name: "q4_k", BlockLen: 256, BlockBytes: 144, Partner: Int8x256, unpack: unpackQ4_K}
	Q5_K = &Format{Name: "q5_k", BlockLen: 256, BlockBytes: 176, Partner: Int8x256, unpack: unpackQ5_K}
	Q6_K = &Format{Name: "q6_k", BlockLen: 256, BlockBytes: 210, Partner: Int8x256, unpack: unpackQ6_K}
)

// Formats lists the formats.
func Formats() []*Format {
	return []*Format{F32, F16, BF16, Q4_0, Q4_1, Q8_0, Q4_K, Q5_K, Q6_K}
}

// unpacked is a block as integers: element i is d·scale[i/16]·q[i] + m·min[i/16]. Formats of 32 elements have no inner
// scales: there it is d·q[i] + m. Without a minimum m is 0.
type unpacked struct {
	d, m       float32
	q          [256]int8
	scale, min [16]int32
}

// String returns the name.
func (f *Format) String() string { return f.Name }

// Bytes returns the bytes of n elements, which must be whole blocks.
func (f *Format) Bytes(n int) int { return n / f.BlockLen * f.BlockBytes }

// CanQuantize tells whether Quantize works.
func (f *Format) CanQuantize() bool { return f.quantize != nil }

// check returns an error unless bytes hold exactly n elements in whole blocks.
func (f *Format) check(op string, n, bytes int) error {
	if n%f.BlockLen != 0 || bytes != f.Bytes(n) {
		return fmt.Errorf("quant: %s %d elements of %s in %d bytes: there must be whole blocks of %d elements in %d bytes each",
			op, n, f.Name, bytes, f.BlockLen, f.BlockBytes)
	}
	return nil
}

// Dequantize writes the elements of src, whole blocks, to dst, which has one place for each.
func (f *Format) Dequantize(dst []float32, src []byte) error {
	if err := f.check("dequantize", len(dst), len(src)); err != nil {
		return err
	}
	if f.widen != nil {
		f.widen(dst, src)
		return nil
	}
	var u unpacked
	for ; len(dst) > 0; dst, src = dst[f.BlockLen:], src[f.BlockBytes:] {
		f.unpack(src, &u)
		if f.Partner == Int8x32 {
			for i, q := range u.q[:32] {
				dst[i] = float32(u.d*float32(q)) + u.m
			}
			continue
		}
		for i, q := range u.q {
			scale, min := float32(u.d*float32(u.scale[i/16])), float32(u.m*float32(u.min[i/16]))
			dst[i] = float32(scale*float32(q)) + min
		}
	}
	return nil
}

// Quantize rounds src, whole blocks, into dst, as GGML's reference code does: files come out bit-identical to llama.cpp's.
// For formats that are only read the error wraps ErrReadOnly.
func (f *Format) Quantize(dst []byte, src []float32) error {
	if f.quantize == nil {
		return fmt.Errorf("quant: quantize to %s: %w", f.Name, ErrReadOnly)
	}
	if err := f.check("quantize", len(src), len(dst)); err != nil {
		return err
	}
	f.quantize(dst, src)
	return nil
}
