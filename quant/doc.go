// Package quant describes how numbers are stored in few bits, and computes with them: the block formats of GGML, which GGUF files and
// llama.cpp use, and the plain floating-point types. Use it to read, write or convert such weights without loading a
// model.
//
// A Format names one format; its methods know its blocks' size, how a block unpacks into integers and scales, how floats are rounded into
// it, and the form that an activation must have to be multiplied with it. From these few facts the package derives dequantisation and dot
// products for all formats alike. Tests hold the assembly kernels equal to this package, bit for bit, so the order of its arithmetic is a
// contract:
//
//   - The dot product of a quantised row starts from 0 and takes the blocks in order. A block gives acc = FMA(dw·da, float32(isum), acc).
//     Here dw and da are the scales of weight and activation; their product is rounded to float32, and isum = Σ scale·q·a is the exact
//     integer sum over the block.
//   - Formats with a minimum then add acc = FMA(m·da, float32(msum), acc), where msum = Σ min·a is exact too; m is the block's minimum, or
//     −dmin in blocks of 256.
//   - The dot product of a row of floats starts from 0 and takes the elements in order: acc = FMA(w, a, acc).
//   - FMA rounds once (exact.FMA).
//
// All formats are little-endian, as is every processor that Go programs with this package run on in practice.
package quant
