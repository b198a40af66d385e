package quant

import (
	"errors"
	"fmt"
)

// ErrReadOnly is wrapped by the error of Quantize for a format that is only read.
var ErrReadOnly = errors.New("the format is read, not written")

// Format is a storage format for rows of numbers. The formats are the variables below; they never change.
type Format struct {
	Name           string
	BlockLen       int            // elements of a block; 1 for the float formats
	BlockBytes     int            // bytes of a block
	ActivationForm ActivationForm // the form of the activations that the format is multiplied with

	layout layout
}

// layout selects the code for a format. A switch over it, rather than functions in the table, lets the compiler see that
// nothing escapes: dot products must not allocate.
type layout uint8

const (
	layoutF32 layout = iota
	layoutF16
	layoutBF16
	layoutQ4_0
	layoutQ4_1
	layoutQ8_0
	layoutQ4_K
	layoutQ5_K
	layoutQ6_K
)

// The formats. The quantised ones have GGML's layouts, which the Block types spell out.
var (
	F32  = &Format{"f32", 1, 4, Float, layoutF32}
	F16  = &Format{"f16", 1, 2, Float, layoutF16}
	BF16 = &Format{"bf16", 1, 2, Float, layoutBF16}
	Q4_0 = &Format{"q4_0", 32, 18, Int8x32, layoutQ4_0}
	Q4_1 = &Format{"q4_1", 32, 20, Int8x32, layoutQ4_1}
	Q8_0 = &Format{"q8_0", 32, 34, Int8x32, layoutQ8_0}
	Q4_K = &Format{"q4_k", 256, 144, Int8x256, layoutQ4_K}
	Q5_K = &Format{"q5_k", 256, 176, Int8x256, layoutQ5_K}
	Q6_K = &Format{"q6_k", 256, 210, Int8x256, layoutQ6_K}
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

// unpack reads a block of a quantised format.
func (f *Format) unpack(b []byte, u *unpacked) {
	switch f.layout {
	case layoutQ4_0:
		unpackQ4_0(b, u)
	case layoutQ4_1:
		unpackQ4_1(b, u)
	case layoutQ8_0:
		unpackQ8_0(b, u)
	case layoutQ4_K:
		unpackQ4_K(b, u)
	case layoutQ5_K:
		unpackQ5_K(b, u)
	case layoutQ6_K:
		unpackQ6_K(b, u)
	}
}

// widen reads elements of a float format.
func (f *Format) widen(dst []float32, src []byte) {
	switch f.layout {
	case layoutF32:
		copy(rawBytes(dst), src)
	case layoutF16:
		widenF16(dst, src)
	case layoutBF16:
		widenBF16(dst, src)
	}
}

// String returns the name.
func (f *Format) String() string { return f.Name }

// Bytes returns the bytes of n elements, which must be whole blocks.
func (f *Format) Bytes(n int) int { return n / f.BlockLen * f.BlockBytes }

// CanQuantize tells whether Quantize works.
func (f *Format) CanQuantize() bool { return f.ActivationForm != Int8x256 }

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
	if f.ActivationForm == Float {
		f.widen(dst, src)
		return nil
	}
	var u unpacked
	for ; len(dst) > 0; dst, src = dst[f.BlockLen:], src[f.BlockBytes:] {
		f.unpack(src, &u)
		if f.ActivationForm == Int8x32 {
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
	if !f.CanQuantize() {
		return fmt.Errorf("quant: quantize to %s: %w", f.Name, ErrReadOnly)
	}
	if err := f.check("quantize", len(src), len(dst)); err != nil {
		return err
	}
	switch f.layout {
	case layoutF32:
		copy(dst, rawBytes(src))
	case layoutF16:
		narrowF16(dst, src)
	case layoutBF16:
		narrowBF16(dst, src)
	case layoutQ4_0:
		quantizeQ4_0(dst, src)
	case layoutQ4_1:
		quantizeQ4_1(dst, src)
	case layoutQ8_0:
		quantizeQ8_0(dst, src)
	}
	return nil
}
