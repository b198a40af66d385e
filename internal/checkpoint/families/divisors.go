package families

import (
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// stillDivisors is the inverse of readStill, for heads of a length.
func stillDivisors(r *model.RoPE, headDim int) []float32 {
	list := make([]float32, headDim/2)
	for i := range list {
		list[i] = 1
		if i >= r.RotatedPairs {
			list[i] = stillDivisor
		}
	}
	return list
}

// yarnDivisors returns what YaRN divides the frequencies of a head's pairs by.
func yarnDivisors(r *model.RoPE, headDim int) []float32 {
	plain := *r
	plain.Scaling = ""
	list := make([]float32, headDim/2)
	stretched := r.Frequencies(headDim)
	for i, f := range plain.Frequencies(headDim) {
		list[i] = float32(f / stretched[i])
	}
	return list
}

// Divisors are a GGUF file's divisors of RoPE's frequencies.
type Divisors struct {
	Name string // the tensor's
	List []float32
}

// DivisorsOf returns the tensors that GGUF has for RoPE's scaling besides those of the model. The format has no place for YaRN that is not
// rounded to whole pairs, nor for parameters of layers with a window alone other than the base: these are errors.
func DivisorsOf(c *model.Config) ([]Divisors, error) {
	switch r, local := &c.RoPE, &c.LocalRoPE; {
	case Of(c).folds && c.TiedEmbeddings && c.EmbeddingScale != c.LogitScale:
		return nil, unsupported.Errorf("a table of embeddings that is multiplied by another number than logits are has no place in GGUF")
	case local.Theta != 0 && (local.Scaling != "" || local.QueryScale != 0 || local.Rotated != r.Rotated):
		return nil, unsupported.Errorf("RoPE of layers with a window that differs by more than its base has no place in GGUF")
	case r.RotatedPairs != 0:
		whole, _ := c.HeadDims()
		return []Divisors{{DivisorsGGUF, stillDivisors(r, whole)}}, nil
	case r.Scaling == model.LongRoPE:
		return []Divisors{{LongDivisorsGGUF, r.Long}, {ShortDivisorsGGUF, r.Divisors}}, nil
	case r.Divisors == nil && r.Scaling == model.YaRN && Of(c).rope.divided:
		return []Divisors{{DivisorsGGUF, yarnDivisors(r, c.HeadDim)}}, nil
	case r.Divisors != nil:
		return []Divisors{{DivisorsGGUF, r.Divisors}}, nil
	case r.StretchDivisors(c.HeadDim) != nil:
		return []Divisors{{DivisorsGGUF, r.StretchDivisors(c.HeadDim)}}, nil
	case r.Unrounded != Of(c).rope.unrounded && r.Scaling == model.YaRN:
		return nil, unsupported.Errorf("whether YaRN is rounded to whole pairs has no place in GGUF, and is %v here", !r.Unrounded)
	}
	return nil, nil
}
