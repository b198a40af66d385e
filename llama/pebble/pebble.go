// Package pebble embeds Pebble, a chat model of the Llama 3.2 architecture with 7.3 million parameters, so that examples and
// tests have a real model without a download. It answers simple questions in English; README.md says what it knows and how
// it was made.
//
// Importing the package adds 4.5 MB to a program. Package llama does not import it.
package pebble

import (
	"context"
	"embed"

	"github.com/antigravity-go/antigravity/llama"
)

// Name is the model's name in FS: a GGUF file with Q4_0 weights.
const Name = "pebble-Q4_0.gguf"

// FS holds the model.
//
//go:embed pebble-Q4_0.gguf
var FS embed.FS

// Load loads the model; nil options are the defaults.
func Load(o *llama.LoadOptions) (*llama.Model, error) {
	return LoadContext(context.Background(), o)
}

// LoadContext is Load until the context ends; see llama.LoadContext.
func LoadContext(ctx context.Context, o *llama.LoadOptions) (*llama.Model, error) {
	return llama.LoadFS(ctx, FS, Name, o)
}
