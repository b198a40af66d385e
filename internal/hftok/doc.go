// Package hftok reads the kinds of tokenizer.json that package bpe does not implement, WordPiece, WordLevel and Unigram, by
// way of github.com/sugarme/tokenizer.
//
// It is a package of its own because the library behind it weighs on a program. The library is not fast, panics on input
// that it does not expect, and is not meant for concurrent use; here its panics become errors and its calls take turns.
// Where it ends the process (log.Fatal, when a normalizer fails on an added token), that cannot be prevented.
//
// Known differences from Hugging Face's tokenizers, all of them the library's: BertNormalizer does not strip accents.
package hftok
