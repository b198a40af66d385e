// Package bpe turns text into tokens and back, by byte-pair encoding.
//
// A text goes through four stages. Added tokens, such as <|eot_id|>, are cut out of it. The rest is split into pieces,
// roughly words. Each piece is cut into symbols, and of the adjacent symbols the best pair merges, again and again, until no
// pair is left that the vocabulary knows. What remains are the tokens.
//
// Two families differ in the symbols. At byte level (GPT-2, Llama 3) they are the 256 bytes, so every text has an encoding that loses
// nothing. In a SentencePiece vocabulary (Llama 2) they are characters, with ▁ for the space, and a character that the vocabulary lacks
// falls back to byte tokens such as <0xE2>.
//
// [ParseJSON] reads a tokenizer.json as Hugging Face's tokenizers library writes it, [FromVocab] the vocabulary of a GGUF file; the results
// agree with Hugging Face's library and with llama.cpp respectively, token for token. Two differences are known: in Unicode's normal forms
// a character with more than 30 combining marks gets a combining grapheme joiner among them, as golang.org/x/text has it; and if llama.cpp
// only approximates a model's split rule, the rule here is the model's.
package bpe
