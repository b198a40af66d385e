// Package opal embeds Opal, a model of Qwen3-VL's architecture with 9.7 million parameters that sees, so that examples and tests have a
// real one without a download. It reads words and numbers in pictures, names colours and shapes, counts them, and knows their places;
// README.md says what it knows and how it was made.
//
// Importing the package adds 8.5 MB to a program. Package llama does not import it.
package opal

import (
	"context"
	"embed"

	"github.com/antigravity-go/antigravity/llama"
)

// Name is the name of the model of text in FS: a GGUF file with Q4_0 weights.
const Name = "opal-Q4_0.gguf"

// Tower is the name in FS of the tower that sees: an mmproj file with Q8_0 weights.
const Tower = "mmproj-opal-Q8_0.gguf"

// FS holds the model.
//
//go:embed opal-Q4_0.gguf mmproj-opal-Q8_0.gguf
var FS embed.FS

// Load loads the model with its tower; nil options are the defaults.
func Load(o *llama.LoadOptions) (*llama.Model, error) {
	return LoadContext(context.Background(), o)
}

// LoadContext is Load until the context ends; see llama.LoadContext.
func LoadContext(ctx context.Context, o *llama.LoadOptions) (*llama.Model, error) {
	return llama.LoadFS(ctx, FS, Name, o)
}
