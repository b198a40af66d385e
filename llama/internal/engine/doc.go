// Package engine computes a model: its weights on a device, and the passes through its layers that many conversations share.
//
// Weights hold the tensors. A Batch takes Jobs, some tokens of one conversation each, and computes those that wait at the same time in one
// pass. A conversation has a Memory, with a cache for each layer with attention, and Logits, the output after its last token.
//
// A pass looks the tokens up, calls each layer, and gives every job the output that the job asked for:
//
//	for each layer:  x += post(mixer(norm(x)));  x += post(feedForward(norm(x)))
//
// Every mixer and every feed-forward network is a file: attention.go, dense.go. The parts of a layer are data, which package checkpoint
// reads from the model's files. A row's result does not depend on the other rows of its pass.
//
// The package knows no text, no sampling and no files: tokens are numbers, and tensors come from Weights.Set.
package engine
