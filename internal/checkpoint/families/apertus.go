package families

import (
	"fmt"
	"strconv"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// apertuses are Apertus: a network without a gate. Its activation has four numbers of its own in each layer. Folders have these in tensors of one element,
// GGUF as lists at keys without the architecture's name. Both have them as they were trained, before softplus.
var apertuses = []*Family{
	{
		Name: "apertus", Type: "apertus", Class: "ApertusForCausalLM", unpaired: true, activation: xielu, encoding: encoding{plain: true},
		with:        []model.Part{model.QueryNorm, model.KeyNorm},
		huggingFace: map[model.Part]string{model.AttentionNorm: "attention_layernorm", model.FeedForwardNorm: "feedforward_layernorm"},
		rope:        ropes{theta: 12000000, usual: &ropeJSON{Type: "llama3", Factor: 8, LowFreqFactor: 1, HighFreqFactor: 4, OriginalContext: 8192}},
		keys:        (*walking).curves, numbers: readCurves, defaults: defaults{eps: 1e-5},
	},
}

// curveNumbers are the numbers of a curve by their names in both formats.
var curveNumbers = []struct {
	name string
	of   func(*model.Curve) *float32
}{
	{"alpha_p", func(c *model.Curve) *float32 { return &c.AlphaP }}, {"alpha_n", func(c *model.Curve) *float32 { return &c.AlphaN }},
	{"beta", func(c *model.Curve) *float32 { return &c.Beta }}, {"eps", func(c *model.Curve) *float32 { return &c.Eps }},
}

// curves walks over GGUF's lists of the curves' numbers.
func (c *walking) curves(k *keys.Walk) {
	switch {
	case k.ReadsFolder() && c.MLPBias:
		k.Fail(unsupported.Errorf("mlp_bias is true; for the architecture %s only false is implemented", c.family.Name))
	case k.ReadsFile():
		c.Curves = make([]model.Curve, min(max(c.Layers, 0), model.MaxLayers))
		for _, n := range curveNumbers {
			key := xielu + "." + n.name
			list := k.PlainFloats(key)
			if len(list) == 1 { // one number for all layers
				for len(list) < len(c.Curves) {
					list = append(list, list[0])
				}
			}
			if len(list) != len(c.Curves) {
				k.Fail(fmt.Errorf("%s has %d entries, the model %d layers", key, len(list), c.Layers))
				return
			}
			for i := range c.Curves {
				*n.of(&c.Curves[i]) = list[i]
			}
		}
	case k.WritesFile():
		for _, n := range curveNumbers {
			list := make([]float32, len(c.Curves))
			for i := range list {
				list[i] = *n.of(&c.Curves[i])
			}
			k.PutPlain(xielu+"."+n.name, gguf.ArrayOf(list))
		}
	}
}

// readCurves reads a folder's tensors of the curves' numbers.
func readCurves(c *model.Config, read func(name string) (float32, error)) (err error) {
	c.Curves = make([]model.Curve, c.Layers)
	for i := range c.Curves {
		for _, n := range curveNumbers {
			if *n.of(&c.Curves[i]), err = read(layersHuggingFace + strconv.Itoa(i) + ".mlp.act_fn." + n.name); err != nil {
				return err
			}
		}
	}
	return c.Validate()
}
