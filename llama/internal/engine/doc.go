// Package engine computes a model: its weights on a device, and the passes through its layers that many conversations share.
//
// Weights hold the tensors. A Batch takes Jobs, each of which is some tokens of one conversation, and computes those that wait at the same
// time in one pass. What a conversation remembers is its Memory, which has a cache for each layer with attention. Logits are what came
// out after its last token.
//
// A pass looks the tokens up, calls each layer, and gives every job the output that the job asked for:
//
//	for each layer:  x += post(mixer(norm(x)));  x += post(feedForward(norm(x)))
//
// Every mixer and every feed-forward network is a file: attention.go, dense.go. What a layer has is data, which package checkpoint reads from the
// model's files. A row's result does not depend on the other rows of its pass.
//
// The package knows no text, no sampling and no files: tokens are numbers, and tensors come from Weights.Set.
package engine
