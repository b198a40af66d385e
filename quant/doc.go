// Package quant describes how numbers are stored in few bits, and computes with them: the block formats of GGML, which GGUF
// files and llama.cpp use, and the plain floating-point types.
//
// A Format carries everything about one format: its block geometry, how a block unpacks into integers and scales, how floats
// are rounded into it, and in which form an activation must come to be multiplied with it. From these few facts the package
// derives dequantisation and dot products for all formats alike. This is the reference that assembly kernels are held equal
// to, bit for bit, so the arithmetic is a contract:
//
//   - The dot product of a quantised row starts from 0 and takes the blocks in order. A block gives
//     acc = FMA(dw·da, float32(isum), acc): dw and da are the scales of weight and activation, their product rounded to
//     float32, isum = Σ scale·q·a the exact integer sum over the block.
//   - Formats with a minimum then add acc = FMA(m·da, float32(msum), acc) with msum = Σ min·a, exact too; m is +m for Q4_1
//     and −dmin for the K-quants.
//   - The dot product of a row of floats starts from 0 and takes the elements in order: acc = FMA(w, a, acc).
//   - FMA rounds once (exact.FMA).
//
// All formats are little-endian, as is every processor that Go programs with this package run on in practice.
package quant
