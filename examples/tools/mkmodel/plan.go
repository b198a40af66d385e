package main

import (
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// planned is one tensor of the model to be made.
type planned struct {
	name    string
	dtype   tensor.DType
	dims    []int     // outermost first
	content []float32 // nil: random
	norm    bool      // random around 1, as the weights of norms are
}

// bytes returns the size of the data. The plan's rows are whole blocks, which check makes sure of.
func (p *planned) bytes() int64 {
	n := int64(1)
	for _, d := range p.dims {
		n *= int64(d)
	}
	return n / int64(p.dtype.BlockLen()) * int64(p.dtype.BlockBytes())
}

// check refuses rows that are no whole number of blocks.
func (p *planned) check() error {
	if cols := p.dims[len(p.dims)-1]; cols%p.dtype.BlockLen() != 0 {
		return cli.Usagef("%s has rows of %d elements, no whole number of %v blocks of %d: choose another -type",
			p.name, cols, p.dtype, p.dtype.BlockLen())
	}
	return nil
}

// recipe says which type each matrix gets.
type recipe struct {
	linear tensor.DType
	head   tensor.DType // of the output head, and of the embedding table that serves as one
	more   tensor.DType // if not 0, of the matrices that suffer most from few bits, in some layers
}

// recipes are the usual mixtures, one for each type and one with more bits in some layers. The head has at least six bits, because it
// decides between neighbouring tokens.
var recipes = func() map[string]recipe {
	all := map[string]recipe{"q4_k_m": {tensor.Q4_K, tensor.Q6_K, tensor.Q6_K}}
	for _, d := range tensor.WeightTypes() {
		head := d
		if d.Quantized() && d != tensor.Q8_0 {
			head = tensor.Q6_K
		}
		all[d.String()] = recipe{d, head, 0}
	}
	return all
}()

// mixedFileType is llama.cpp's number for a file of Q4_K with more bits in some layers.
const mixedFileType uint32 = 15

// fileType returns llama.cpp's number for a file of the recipe.
func (r *recipe) fileType() uint32 {
	if r.more != 0 {
		return mixedFileType
	}
	return r.linear.Format().FileType()
}

func recipeNames() string {
	var list []string
	for name := range recipes {
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// moreBits reports whether the sensitive matrices of a layer get more bits: those of the first and the last eighth of the layers, and of
// every third layer between.
func moreBits(layer, layers int) bool {
	eighth := layers / 8
	return layer < eighth || layer >= 7*layers/8 || (layer-eighth)%3 == 2
}

// typeOf returns the type that a tensor gets.
func (r *recipe) typeOf(t *checkpoint.Tensor, layers int) tensor.DType {
	switch {
	case t.Part == model.PerLayerProjection && r.linear.Quantized(): // llama.cpp leaves it as it is
		return tensor.BF16
	case t.Role == model.Vector, t.Role == model.Routing, t.Part == model.PositionEmbedding, t.Part == model.TypeEmbedding:
		return tensor.F32
	case t.Role == model.Logits:
		return r.head
	case r.more != 0 && (t.Part == model.Value || t.Part == model.RecurrentValue || t.Part.Down()) && moreBits(t.Layer, layers):
		return r.more
	}
	return r.linear
}

// planGGUF lists the tensors of a model under GGUF's names. Of several parts in one tensor the first one counts, and the type is that of the last.
func planGGUF(c *model.Config, r recipe) (list []planned, err error) {
	divisors, err := checkpoint.GGUFDivisors(c)
	if err != nil {
		return nil, err
	}
	wholes := map[string]int{}
	for _, t := range checkpoint.AllTensors(c) {
		p := planned{name: t.GGUF.Name, dtype: r.typeOf(&t, c.Layers), dims: t.Shape, norm: t.Role == model.Vector && len(t.Shape) == 1, content: contentOf(&t)}
		if t.GGUF.Shape != nil {
			p.dims = t.GGUF.Shape
		}
		whole, at := t.GGUF.Within, 0 // the dimension that parts share
		if forms := t.GGUF.Forms; forms != nil && forms[0].Rows != t.Shape[1] {
			whole, at = storage.Within{Name: forms[0].Name, Rows: forms[0].Rows, First: forms[0].First}, 1
		}
		if whole.Name != "" {
			had, known := wholes[whole.Name]
			if known {
				if whole.First > 0 {
					list[had].dtype = p.dtype
				}
				continue
			}
			wholes[whole.Name] = len(list)
			p.name, p.dims = whole.Name, slices.Clone(t.Shape)
			if p.dims[at] = whole.Rows; t.GGUF.Tables {
				p.dims = t.GGUF.Shape
			}
		}
		list = append(list, p)
		if t.Part != model.Embedding {
			continue
		}
		for _, d := range divisors {
			list = append(list, planned{name: d.Name, dtype: tensor.F32, dims: []int{len(d.List)}, content: d.List})
		}
	}
	return list, nil
}

// contentOf returns the elements of a tensor that may not be random, nil if they may: of layers with a state, what says how fast the state decays. Heads
// have rates from 1 to 16 and steps of about 0.02, as at the beginning of a training.
func contentOf(t *checkpoint.Tensor) []float32 {
	const firstRate, lastRate, stepBias = 1, 16, -4
	if t.Part != model.Decay && t.Part != model.StepBias {
		return nil
	}
	list := make([]float32, t.Shape[0])
	for i := range list {
		list[i] = stepBias
		if t.Part == model.Decay {
			list[i] = -float32(firstRate + (lastRate-firstRate)*float64(i)/float64(len(list)))
		}
	}
	return list
}

// planHuggingFace lists the tensors under Hugging Face's names, all of one type.
func planHuggingFace(c *model.Config, d tensor.DType) (list []planned) {
	for _, t := range checkpoint.AllTensors(c) {
		list = append(list, planned{name: t.HuggingFace.Name, dtype: d, dims: t.Shape, norm: t.Role == model.Vector})
	}
	return list
}
