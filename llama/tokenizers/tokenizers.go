// Package tokenizers does nothing any more: package llama itself reads WordPiece, WordLevel and Unigram, which encoders have.
//
// Deprecated: leave the import out.
package tokenizers
