// Package checkpoint reads and writes the files of a model, in both formats: a Hugging Face folder and a GGUF file. The packages below it know what
// lies in them: families has the families of models, keys walks over their keys, and storage says how tensors lie in files. README.md says how to add
// a family.
//
// A model is described by a [model.Config], which [Folder.Config] reads from config.json and [ConfigOf] from GGUF's metadata, and which [JSON] and
// [Metadata] write. [Tensors] lists the tensors that such a model has, with their layouts in both formats. [VocabularyOf] and [Folder.Chat] read the
// data around a tokenizer.
//
// What a file needs that this module does not offer is an error that wraps errors.ErrUnsupported; every other error about the
// content of a file means that it is malformed.
package checkpoint
