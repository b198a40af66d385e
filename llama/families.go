package llama

import "github.com/antigravity-go/antigravity/internal/checkpoint"

// Families returns the architectures of models that Load loads, as config.json calls them under "architectures", such as "LlamaForCausalLM". GGUF
// files of the same models load, too. It is a new slice.
func Families() []string { return checkpoint.Classes() }
