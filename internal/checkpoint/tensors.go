package checkpoint

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
)

// Tensor is one tensor of a model, and how files of each format have it.
type Tensor struct {
	model.Tensor
	HuggingFace, GGUF storage.Layout
}

// Names returns the names of the tensors of files that have the tensor, or some of it, in either format.
func (t *Tensor) Names() []string {
	return append(t.HuggingFace.Names(t.Shape[0]), t.GGUF.Names(t.Shape[0])...)
}

// Tensors lists every tensor of the model, in the order of computation.
func Tensors(c *model.Config) []Tensor {
	tensors := c.Tensors()
	list := make([]Tensor, len(tensors))
	for i := range tensors {
		list[i] = TensorOf(c, &tensors[i])
	}
	return list
}

// AllTensors lists those of the head that predicts further tokens, too, if there is one. They come last.
func AllTensors(c *model.Config) []Tensor {
	list := Tensors(c)
	if c.Ahead != nil {
		list = append(list, Tensors(c.Ahead)...)
	}
	return list
}

// TensorOf says how files have a tensor of a model.
func TensorOf(c *model.Config, of *model.Tensor) Tensor {
	t := Tensor{Tensor: *of}
	t.HuggingFace, t.GGUF = families.Of(c).Layouts(c, of)
	return t
}

// GGUF returns a part's usual name in GGUF's terms; layer counts only for the parts of layers.
func GGUF(p model.Part, layer int, bias bool) string { return families.GGUF(p, layer, bias) }

// Classes returns the classes of the families, as config.json calls them under architectures.
func Classes() []string { return families.Classes() }

// Describe notes in a configuration what all models of its family have, for those who do not read it from files.
func Describe(c *model.Config) { families.Describe(c) }
