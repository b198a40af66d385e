// Package receipt proves answers. A receipt says which model answered which prompt, with which parameters, and what came out: digests of the weights, of
// the prompt's tokens, of the answer, and of the logits from which its last token was chosen. The same inputs give the same bits on every machine, so
// anybody with the model can compute the answer again and compare:
//
//	recorder, err := receipt.New(model, prompt, &params, nil)
//	…
//	answer, err := llama.Collect(recorder.Watch(pool.Answer(ctx, prompt, params)))
//	…
//	r, err := recorder.Receipt(ctx)
//	…
//	err = receipt.Verify(ctx, model, r) // on another machine, next year
//
// README.md says what a receipt proves, and what it does not.
//
// # JSON
//
// A receipt's JSON is canonical, as RFC 8785 defines it: no white space, sorted keys, one way to write each string and number. Parse accepts nothing else, so
// two receipts are equal if their bytes are. Files of receipts have one in each line. Numbers that are not whole are strings, in the shortest decimal form
// that gives the same float32.
//
// # Contents
//
// Everything that an answer depends on is in the receipt, or New refuses it and names it:
//
//	weights, configuration            Statement.Model: llama.Digest
//	prompt                            Statement.Prompt, and the tokens themselves unless Sealed removes them
//	Params, the seed included         Statement.Parameters; stop strings, biases and bounds of thoughts too
//	type and capacity of the cache    Statement.Cache
//	adapter                           Statement.Adapter: its fingerprint and scale
//	drafts, chunks, threads, company  not there: no answer depends on them
//	eviction, memory monitors         refused: a receipt does not say which tokens were forgotten
//	Params.Mask, Params.Constraint    refused: they are code of the caller's
//	images                            refused: their rows are no tokens of the vocabulary
package receipt
