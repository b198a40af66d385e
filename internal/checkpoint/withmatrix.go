package checkpoint

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/gguf"
)

// A matrix of a GGUF file may have small tensors with it, which llama.cpp applies if they are there, whatever the family:
//
//	blk.0.ffn_up.weight [14336, 4096]       the matrix W
//	blk.0.ffn_up.scale [1]                  what W·x is multiplied by: formats of four bits need it
//	blk.0.ffn_up.bias [14336]               this is added then
//	blk.0.ffn_up.input_scale [1]            how x would be rounded to four bits, which it is not here
//
// So Config says for each matrix of each layer which of them there are. Those of experts, such as blk.0.ffn_up_exps.scale, have a number for each expert.

// biasable are the projections of a layer that may have a bias in any family.
var biasable = []Part{Query, QueryGate, Key, Value, AttentionOutput, Gate, Up, Down}

// The ends of the names of tensors with a matrix.
const (
	weightEnd     = ".weight"
	scaleEnd      = ".scale"
	inputScaleEnd = ".input_scale"
)

// readBiases notes which projections have biases, if it is not as the family has it. The biases that a family always has must be there.
func (c *Config) readBiases(f *gguf.File) {
	family, there, differs := familyOf(c.Family), map[Place]bool{}, false
	for _, t := range c.Tensors() {
		if t.Bias || !slices.Contains(biasable, t.Part) {
			continue
		}
		is := c.Layer(t.Layer)
		bias := c.tensor(t.Part, t.Layer, &is, true)
		_, own := f.Tensor(bias.GGUF)
		_, within := f.Tensor(bias.Within.GGUF.Name)
		expected := c.biased(family, t.Part, t.Layer)
		has := own || within || expected && family.biased
		there[Place{t.Part, t.Layer}] = has
		differs = differs || has != expected
	}
	if differs {
		c.Biases = there
	}
}

// readScales reads what the products with matrices are multiplied by.
func (c *Config) readScales(f *gguf.File) error {
	for _, t := range c.Tensors() {
		if t.Bias || t.Role != Linear && t.Role != Logits {
			continue
		}
		for _, name := range []string{t.GGUF, t.Within.GGUF.Name} {
			scale, ok := f.Tensor(strings.TrimSuffix(name, weightEnd) + scaleEnd)
			if !ok || name == "" {
				continue
			}
			list, err := shortTensor(&scale, 1, "it is one number for a matrix")
			switch {
			case err != nil:
				return err
			case len(list) != 1 || list[0] == 0 || math.IsNaN(float64(list[0])) || math.IsInf(float64(list[0]), 0):
				return fmt.Errorf("the tensor %s is %v, and must be one number that is not 0", scale.Name, list)
			case list[0] != 1:
				if c.Scales == nil {
					c.Scales = map[Place]float32{}
				}
				c.Scales[Place{t.Part, t.Layer}] = list[0]
			}
		}
	}
	return nil
}

// expertScaleParts are what the products of experts may be multiplied by.
var expertScaleParts = []Part{ExpertScales, ExpertGateScales, ExpertUpScales}

// findExpertScales notes which experts have scales. A tensor that holds gate and up may not have any.
func (c *Config) findExpertScales(f *gguf.File) {
	for n := range c.Layers {
		for _, p := range expertScaleParts {
			if _, there := f.Tensor(p.GGUF(n, false)); there && c.FeedForwards != nil && c.FeedForwards[n].routed() {
				if _, own := f.Tensor(expertsOf[p].GGUF(n, false)); own {
					c.ExpertScaled = withPlace(c.ExpertScaled, Place{p, n})
				}
			}
		}
	}
}

// expertsOf are the matrices that scales belong to.
var expertsOf = map[Part]Part{ExpertScales: ExpertDown, ExpertGateScales: ExpertGate, ExpertUpScales: ExpertUp}

func withPlace(set map[Place]bool, p Place) map[Place]bool {
	if set == nil {
		set = map[Place]bool{}
	}
	set[p] = true
	return set
}

// unscaled reports whether a part of a layer is a scale of experts that there is not. Those of Gemma 4 are always there.
func (c *Config) unscaled(p Part, is *Layer, layer int) bool {
	return slices.Contains(expertScaleParts, p) && !c.ExpertScaled[Place{p, layer}] && (p != ExpertScales || is.FeedForward != GatedAndRouted)
}
