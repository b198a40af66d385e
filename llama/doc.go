// Package llama runs language models of the Llama family (Llama 3.x, Llama 2) inside the caller's process.
//
// Load opens a Hugging Face folder or a GGUF file as a Model: weights on a device, a tokenizer and the model's chat template.
// A Model never changes and serves any number of goroutines. What changes belongs to a Session, one conversation with its
// cache of keys and values:
//
//	model, err := llama.Load("Llama-3.2-1B-Instruct", nil)
//	…
//	session, err := model.NewSession(nil)
//	…
//	for piece, err := range session.Chat(ctx, history, llama.Params{}) {
//		…
//		fmt.Print(piece.Text)
//	}
//
// Chat takes the whole history each time and computes only what the cache does not hold. Generate continues tokens, Prefill
// and Logits give a program the model itself, Score rates a text, Embed turns one into a vector.
//
// # Long conversations
//
// A cache has room for SessionOptions.MaxTokens; a full one is ErrContextFull, and nothing is ever dropped silently. With an
// eviction.Policy the cache stays within a budget instead, and with a sliding window and ReanchorSinks a conversation has no end.
// Truncate goes back, Fork goes on in two ways, Save and Model.Restore carry a conversation from one process to another, and
// Move from one device to another, in the middle of an answer if need be; a Switch decides when.
//
// # Reproducible to the bit
//
// For one model file, one prompt and one seed the logits are the same bits on every processor and with every set of
// instructions that package asm has kernels for, at any number of threads, however a prompt is cut into chunks, and whether
// a prefix was computed now or reused; and on GPUs that compute as package opencl needs it (backend.BitExact). Another type of
// cache or of weights gives other bits.
//
// # Untrusted input
//
// Model files are checked before they are believed: a damaged or hostile one is an error, mostly a *FormatError, in bounded
// time and memory. Text from users is inert: special tokens come only from the chat template, or from EncodeSpecial.
//
// # Memory
//
// Weights, caches and activations lie outside the Go heap. Close gives them back at once, and the garbage collector does so
// later for what was forgotten. Generating a token allocates nothing but the piece that is handed over.
package llama
