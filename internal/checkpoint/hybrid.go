package checkpoint

// Granite 4's models have layers with attention or with Mamba's selective scan, and a feed-forward network that experts may join. Those without Mamba
// and experts, such as Granite 4.0 Micro, are Granite with other names, and their GGUF files have the architecture granite.

// sharedWidthName is the width of the feed-forward network that all tokens share.
const sharedWidthName = "shared_intermediate_size"

// What configurations of Granite 4 say.
const (
	attentionLayer = "attention" // a layer with attention; transformers 5 says wholeLayer
	rotatedByRoPE  = "rope"      // position_embedding_type of models with RoPE
)

// setHybrid reads a configuration of Granite 4.
func (j *configJSON) setHybrid(c *Config) error {
	if or(j.LocalExperts, graniteExperts.Count) == 0 {
		c.IntermediateSize = or(j.SharedWidth, 1024)
	}
	if j.PositionType != rotatedByRoPE {
		c.NoRoPE = everyNth(c.Layers, 1)
	}
	return nil
}
