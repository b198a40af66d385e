package families

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// bitnets are BitNet b1.58 2B4T: a norm more before the last matrix of attention and of the network, and squares of ReLU. Matrices of layers are −1, 0 and 1
// times a number, and the rows that they are multiplied with are rounded to eight bits: see rounding.
var bitnets = []*Family{
	{
		Name: "bitnet-b1.58", Type: "bitnet", Class: "BitNetForCausalLM", alsoGGUF: []string{"bitnet-25"}, unpaired: true, activation: relu2, rounds: true,
		with: []model.Part{model.AttentionSubNorm, model.FeedForwardSubNorm},
		rope: ropes{theta: 500000}, defaults: defaults{eps: 1e-5},
	},
}

// roundingKey is config.json's object about BitNet's rounding, which transformers calls a quantisation.
const roundingKey = "quantization_config"

// The names in that object.
const (
	bitnetMethod = "bitnet"
	bitLinear    = "bitlinear"     // divides by weight_scale, and has digits
	autoLinear   = "autobitlinear" // multiplies by it
	online       = "online"        // autobitlinear rounds matrices of floats, which have no weight_scale
	offline      = "offline"
)

// rounding walks over what rounds as BitNet does. A folder may say so in three ways, as transformers has them; for example
//
//	{"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "offline"}
//
// is of the published BitNet, with digits and a weight_scale for each matrix, and "online" of the same model in floats. Without the object nothing is
// rounded. A GGUF file says nothing, but its quantised matrices can only be ternary.
func (c *walking) rounding(k *keys.Walk) {
	object := map[string]any{}
	switch {
	case k.ReadsFile():
		t, ok := k.Tensor(c.family.FileName(model.Query, 0, false))
		c.Rounding.Rows = ok && c.family.Name != llama && (t.DType == 0 || t.DType.Quantized())
		return
	case k.WritesFile():
		return
	case !k.Reads():
		if c.Rounding.Rows {
			k.Put(roundingKey, "", map[string]any{"quant_method": bitnetMethod, "linear_class": linearClass(&c.Rounding), "quantization_mode": mode(&c.Rounding)}, keys.None)
		}
		return
	case !k.Decode(roundingKey, &object):
		return
	}
	text := func(key, otherwise string) string {
		if v, ok := object[key].(string); ok {
			return v
		}
		if v := object[key]; v != nil {
			k.Fail(fmt.Errorf("%s has %v for %s, which is no text", roundingKey, v, key))
		}
		return otherwise
	}
	method, class, when := text("quant_method", ""), text("linear_class", bitLinear), text("quantization_mode", offline)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		switch value := object[key]; key {
		case "quant_method", "linear_class", "quantization_mode", "rms_norm_eps":
		case "modules_to_not_convert":
			if list, _ := value.([]any); value != nil && (len(list) > 1 || len(list) == 1 && list[0] != "lm_head") {
				k.Fail(unsupported.Errorf("%s leaves out %v; only lm_head is implemented", roundingKey, value))
			}
		default:
			if value != nil && value != false {
				k.Fail(unsupported.Errorf("%s has %s %v, which is not implemented for the architecture %s", roundingKey, key, value, c.family.Name))
			}
		}
	}
	switch {
	case method != bitnetMethod:
		k.Fail(unsupported.Errorf("%s has the method %.60q, which is not implemented for the architecture %s", roundingKey, method, c.family.Name))
	case class != bitLinear && class != autoLinear || when != online && when != offline:
		k.Fail(unsupported.Errorf("%s has the class %.60q and the mode %.60q; known are %s, %s, %s and %s", roundingKey, class, when, bitLinear, autoLinear, online, offline))
	}
	c.Rounding = model.Rounding{Rows: true, Matrices: class == autoLinear && when == online, Divided: class == bitLinear}
}

func linearClass(r *model.Rounding) string {
	if r.Divided {
		return bitLinear
	}
	return autoLinear
}

func mode(r *model.Rounding) string {
	if r.Matrices {
		return online
	}
	return offline
}

// readScales notes what the products with ternary matrices are multiplied by, which a folder has in tensors of one element.
func (f *Family) readScales(c *model.Config, read func(name string) (float32, error)) error {
	if !c.Rounding.Rows || c.Rounding.Matrices {
		return nil
	}
	scales := map[model.Place]float32{}
	for _, t := range c.Tensors() {
		if t.Role != model.Linear || t.Bias || !t.Part.InLayers() {
			continue
		}
		name := strings.TrimSuffix(f.FolderName(t.Part, t.Layer, false), ".weight") + ".weight_scale"
		scale, err := read(name)
		if err != nil {
			return err
		}
		if c.Rounding.Divided {
			scale = 1 / scale
		}
		if scale == 0 || scale-scale != 0 {
			return fmt.Errorf("the tensor %s makes the scale %g, and must make one that is finite and not 0", name, scale)
		}
		scales[model.Place{Part: t.Part, Layer: t.Layer}] = scale
	}
	c.Scales = scales
	return nil
}
