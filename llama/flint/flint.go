// Package flint embeds Flint, a chat model of the Llama 3.2 architecture with 8.9 million parameters, so that examples and tests
// have a real model without a download for what programs ask of models: it calls functions, answers in the JSON of a schema, and
// edits a text. README.md says what it knows and how it was made.
//
// Importing the package adds 5.7 MB to a program. Package llama does not import it.
package flint

import (
	"context"
	"embed"

	"github.com/antigravity-go/antigravity/llama"
)

// Name is the model's name in FS: a GGUF file with Q4_0 weights.
const Name = "flint-Q4_0.gguf"

// FS holds the model.
//
//go:embed flint-Q4_0.gguf
var FS embed.FS

// Load loads the model; nil options are the defaults.
func Load(o *llama.LoadOptions) (*llama.Model, error) {
	return LoadContext(context.Background(), o)
}

// LoadContext is Load until the context ends; see llama.LoadContext.
func LoadContext(ctx context.Context, o *llama.LoadOptions) (*llama.Model, error) {
	return llama.LoadFS(ctx, FS, Name, o)
}
