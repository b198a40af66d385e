package checkpoint

import (
	"fmt"
	"strings"

	"github.com/antigravity-go/antigravity/internal/gguf"
)

// Granite 4's models have layers with attention or with Mamba's selective scan, and a feed-forward network that experts may join. Those without Mamba
// and experts, such as Granite 4.0 Micro, are Granite with other names. GGUF files of them have the architecture granite.

// sharedWidthName is the width of the feed-forward network that all tokens share.
const sharedWidthName = "shared_intermediate_size"

// What configurations of Granite 4 say.
const (
	attentionLayer = "attention" // a layer with attention; transformers 5 says wholeLayer
	rotatedByRoPE  = "rope"      // position_embedding_type of models with RoPE
)

// setHybrid reads a configuration of Granite 4, and refuses Mamba.
func (j *configJSON) setHybrid(c *Config) error {
	if j.LayerTypes == nil {
		return unsupported("without layer_types all layers are Mamba's, which are not implemented")
	}
	if len(j.LayerTypes) != c.Layers {
		return fmt.Errorf("layer_types has %d entries, the model %d layers", len(j.LayerTypes), c.Layers)
	}
	for _, kind := range j.LayerTypes {
		if kind != attentionLayer && kind != wholeLayer {
			return unsupported("layer_types has %.100q: layers with Mamba's selective scan are not implemented, only %s and %s", kind, attentionLayer, wholeLayer)
		}
	}
	if or(j.LocalExperts, graniteExperts.Count) == 0 {
		c.IntermediateSize = or(j.SharedWidth, 1024)
	}
	if j.PositionType != rotatedByRoPE {
		c.Unrotated = everyNth(c.Layers, 1)
	}
	return nil
}

// scanTensors are in the names of tensors of layers with Mamba, in GGUF's terms.
const scanTensors = ".ssm_"

// checkScan refuses a GGUF file that has layers with Mamba.
func checkScan(f *gguf.File) error {
	for _, t := range f.Tensors() {
		if strings.Contains(t.Name, scanTensors) {
			return unsupported("the tensor %.100q: layers with Mamba's selective scan are not implemented", t.Name)
		}
	}
	return nil
}
