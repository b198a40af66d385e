// Package sampling chooses the next token of an answer from what the model computed, and turns the bytes of tokens into text that may be shown.
//
// A Sampler chooses in this order: a mask of the program's, what a constraint allows, penalties; then, unless the temperature is 0, division by the
// temperature, TopK, TopP, MinP, and a draw. It asks a Ranking for the few logits or probabilities that decide, wherever these are: on a
// device, or in memory. The vocabulary is never sorted as a whole.
//
// The package knows tokens as numbers, and neither models nor sessions.
package sampling
