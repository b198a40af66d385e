// Package rare reads the element types of GGUF files that nothing here computes with, and rewrites them as types that products know.
//
// Most of these types look numbers up in a codebook, which is small to store and slow to multiply by. But each of their numbers is an
// integer times a scale, and the integers are few, so that a block of another type holds the same numbers, or as good as: the table in
// rare.go says as what each type is rewritten, and what that loses. Types of one to three bits are off from the weights that they were made
// from by a tenth of their size and more; the rewriting adds a hundredth at most, mostly nothing.
//
// The layouts are those of ggml-common.h, and the arithmetic is that of ggml-quants.c's dequantize_row functions, of the project ggml.
// The codebooks are data, in the folder grids.
package rare
