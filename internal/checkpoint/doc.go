// Package checkpoint knows what the files of a model hold, in both formats: a Hugging Face folder and a GGUF file. Besides Llama it knows
// families that differ from it in their parts, names and keys: they are a table, and README.md says how to add one.
//
// [Config] is what a model's configuration says; it is read from config.json by [Folder.Config] and from GGUF's metadata by
// [ConfigOf], and written to both by [Config.JSON] and [Config.Metadata]. [Config.Tensors] lists the tensors that such a model
// has: their names in both formats, their shapes, and what they are for. Where GGUF orders the rows of a tensor differently,
// [PairedRow] and [HalvedRow] translate. [VocabularyOf] and [Folder.Chat] read what surrounds a tokenizer.
//
// What a file needs that this module does not offer is an error that wraps errors.ErrUnsupported; every other error about the
// content of a file means that it is malformed.
package checkpoint
