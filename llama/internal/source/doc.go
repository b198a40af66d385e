// Package source reads what a model is made of: the files of a Hugging Face folder or a GGUF file, mapped or copied, as tensors that a device can
// compute with, and what those files say of the configuration and the tokenizer. Adapters come the same way.
//
//	Locate a path → Open: a Model → Find its tensors, all of them checked → a Loader prepares each for a device
//
// The error of a malformed file is a *fault.FormatError; the error of a feature that is not supported wraps fault.ErrUnsupported. The
// package computes nothing with the model, and knows neither sessions nor the engine.
package source
