package checkpoint

import (
	"fmt"
	"math"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
)

// A matrix of a GGUF file may have small tensors with it, which llama.cpp applies if they are there, whatever the family:
//
//	blk.0.ffn_up.weight [14336, 4096]       the matrix W
//	blk.0.ffn_up.scale [1]                  what W·x is multiplied by: formats of four bits need it
//	blk.0.ffn_up.bias [14336]               this is added then
//	blk.0.ffn_up.input_scale [1]            how x would be rounded to four bits, which it is not here
//
// So Config says for each matrix of each layer which of them there are. Those of experts, such as blk.0.ffn_up_exps.scale, have a number for each expert.

// The ends of the names of tensors with a matrix.
const (
	weightEnd     = ".weight"
	scaleEnd      = ".scale"
	inputScaleEnd = ".input_scale"
)

// readBiases notes which projections have biases, if it is not as the family has it. The biases that a family always has must be there.
func readBiases(c *model.Config, f *gguf.File) {
	family, there, differs := families.Of(c), map[model.Place]bool{}, false
	for _, t := range Tensors(c) {
		if t.Bias || !t.Part.Biasable() {
			continue
		}
		of := c.BiasOf(&t.Tensor)
		bias := TensorOf(c, &of)
		_, own := f.Tensor(bias.GGUF.Name)
		_, within := f.Tensor(bias.GGUF.Within.Name)
		expected := c.Biased(t.Part, t.Layer)
		has := own || within || expected && family.Biased()
		there[model.Place{Part: t.Part, Layer: t.Layer}] = has
		differs = differs || has != expected
	}
	if differs {
		c.Biases = there
	}
}

// readScales reads what the products with matrices are multiplied by.
func readScales(c *model.Config, f *gguf.File) error {
	for _, t := range Tensors(c) {
		if t.Bias || t.Role != model.Linear && t.Role != model.Logits {
			continue
		}
		for _, name := range []string{t.GGUF.Name, t.GGUF.Within.Name} {
			scale, ok := f.Tensor(strings.TrimSuffix(name, weightEnd) + scaleEnd)
			if !ok || name == "" {
				continue
			}
			list, err := families.ShortTensor(&scale, 1, "it is one number for a matrix")
			switch {
			case err != nil:
				return err
			case len(list) != 1 || list[0] == 0 || math.IsNaN(float64(list[0])) || math.IsInf(float64(list[0]), 0):
				return fmt.Errorf("the tensor %s is %v, and must be one number that is not 0", scale.Name, list)
			case list[0] != 1:
				if c.Scales == nil {
					c.Scales = map[model.Place]float32{}
				}
				c.Scales[model.Place{Part: t.Part, Layer: t.Layer}] = list[0]
			}
		}
	}
	return nil
}

// scaledExperts are the scales of experts, with the matrices that they belong to.
var scaledExperts = map[model.Part]model.Part{
	model.ExpertScales: model.ExpertDown, model.ExpertGateScales: model.ExpertGate, model.ExpertUpScales: model.ExpertUp,
}

// findExpertScales notes which experts have scales. A tensor that holds gate and up may not have any.
func findExpertScales(c *model.Config, f *gguf.File) {
	for n := range c.FeedForwards {
		if !c.FeedForwards[n].Routed() {
			continue
		}
		for scale, of := range scaledExperts {
			_, there := f.Tensor(GGUF(scale, c.After+n, false))
			if _, own := f.Tensor(GGUF(of, c.After+n, false)); !there || !own {
				continue
			}
			if c.ExpertScaled == nil {
				c.ExpertScaled = map[model.Place]bool{}
			}
			c.ExpertScaled[model.Place{Part: scale, Layer: n}] = true
		}
	}
}
