// Package rare reads the element types of GGUF files that nothing here computes with, and rewrites them as types that products know.
//
// Most of these types look numbers up in a codebook, which is small to store and slow to multiply by. But each of their numbers is an
// integer times a scale, and the integers are few, so that a block of another type holds the same numbers, or as good as: Of has the
// table, with what the rewriting loses. Where a type's own numbers lie closer to the weights that it was made from than a thousandth of
// their size, nothing could be lost unseen; they lie 10 to 60 percent away.
//
// The layouts are those of ggml-common.h, and the arithmetic is that of ggml-quants.c's dequantize_row functions, of the project ggml.
// The codebooks are data, in the folder grids.
package rare
