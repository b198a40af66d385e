package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
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
	more   tensor.DType // where not 0, of the matrices that suffer most from few bits, in some layers
	ftype  uint32       // llama.cpp's number for such a file
}

// recipes are the usual mixtures: beside four- and five-bit matrices the head has six bits, because it decides between
// neighbouring tokens.
var recipes = map[string]recipe{
	"f32":    {tensor.F32, tensor.F32, 0, 0},
	"f16":    {tensor.F16, tensor.F16, 0, 1},
	"bf16":   {tensor.BF16, tensor.BF16, 0, 32},
	"q4_0":   {tensor.Q4_0, tensor.Q6_K, 0, 2},
	"q4_1":   {tensor.Q4_1, tensor.Q6_K, 0, 3},
	"q8_0":   {tensor.Q8_0, tensor.Q8_0, 0, 7},
	"q4_k":   {tensor.Q4_K, tensor.Q6_K, 0, 14},
	"q5_k":   {tensor.Q5_K, tensor.Q6_K, 0, 16},
	"q6_k":   {tensor.Q6_K, tensor.Q6_K, 0, 18},
	"q4_k_m": {tensor.Q4_K, tensor.Q6_K, tensor.Q6_K, 15},
}

func recipeNames() string {
	var list []string
	for name := range recipes {
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// moreBits tells whether a layer is among those whose sensitive matrices get more bits: the first and the last eighth, and
// every third between.
func moreBits(layer, layers int) bool {
	eighth := layers / 8
	return layer < eighth || layer >= 7*layers/8 || (layer-eighth)%3 == 2
}

// plan lists the tensors of a model under GGUF's names.
func plan(s Shape, r recipe) []planned {
	list := []planned{{name: "token_embd.weight", dtype: r.linear, dims: []int{s.Vocab, s.Hidden}}}
	if s.Tied {
		list[0].dtype = r.head
	}
	if d := s.divisors(); d != nil {
		list = append(list, planned{name: "rope_freqs.weight", dtype: tensor.F32, dims: []int{len(d)}, content: d})
	}
	q, kv := s.Heads*s.HeadDim, s.KVHeads*s.HeadDim
	norm := func(name string) {
		list = append(list, planned{name: name + ".weight", dtype: tensor.F32, dims: []int{s.Hidden}, norm: true})
	}
	for i := range s.Layers {
		sensitive := r.linear
		if r.more != 0 && moreBits(i, s.Layers) {
			sensitive = r.more
		}
		matrix := func(name string, d tensor.DType, out, in int) {
			list = append(list, planned{name: fmt.Sprintf("blk.%d.%s.weight", i, name), dtype: d, dims: []int{out, in}})
		}
		norm(fmt.Sprintf("blk.%d.attn_norm", i))
		matrix("attn_q", r.linear, q, s.Hidden)
		matrix("attn_k", r.linear, kv, s.Hidden)
		matrix("attn_v", sensitive, kv, s.Hidden)
		matrix("attn_output", r.linear, s.Hidden, q)
		norm(fmt.Sprintf("blk.%d.ffn_norm", i))
		matrix("ffn_gate", r.linear, s.Intermediate, s.Hidden)
		matrix("ffn_up", r.linear, s.Intermediate, s.Hidden)
		matrix("ffn_down", sensitive, s.Hidden, s.Intermediate)
	}
	norm("output_norm")
	if !s.Tied {
		list = append(list, planned{name: "output.weight", dtype: r.head, dims: []int{s.Vocab, s.Hidden}})
	}
	return list
}
