package llama

import (
	"iter"

	"github.com/antigravity-go/antigravity/tensor"
)

// Weights yields the model's tensors with their names in GGUF files, such as "blk.0.attn_q.weight", as the backend has prepared them:
// these are the very tensors that its operations are given, so that a backend which watches them can tell what they belong to. They must
// not be changed, and not be used after Close.
func (m *Model) Weights() iter.Seq2[string, *tensor.Tensor] {
	return func(yield func(string, *tensor.Tensor) bool) {
		for i, w := range m.weights {
			if !yield(m.names[i], w) {
				return
			}
		}
	}
}
