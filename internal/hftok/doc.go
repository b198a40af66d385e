// Package hftok reads the kinds of tokenizers that package bpe does not implement: WordPiece, WordLevel and Unigram, as encoders have them.
// [ParseJSON] reads a tokenizer.json, [FromVocab] the vocabulary of a GGUF file.
//
// A text goes through the stages of Hugging Face's tokenizers library: added tokens are cut out of it; a normalizer changes its characters;
// a pre-tokenizer splits it into pieces; the model makes tokens of each piece. Every stage takes time linear in the text, so a text may
// have any length. Only the growth of a text by a normalizer is bounded (maxGrowth).
//
// Known differences from Hugging Face's library: a character with more than 30 combining marks gets a combining grapheme
// joiner among them in the normal forms, as golang.org/x/text has it; tokens of the model's vocabulary that are special
// are never made from text; Metaspace with the scheme "first" marks the text's first piece, though a normalizer has dropped characters before
// it; and white space that one added token has stripped is no other added token.
package hftok
