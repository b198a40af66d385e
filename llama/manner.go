package llama

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// manner is what the layers of a model have in common.
type manner struct {
	eps                       float32
	queryScale, residualScale float32 // of queries, and of what a half adds to the stream; 1 changes nothing
	activate                  activation
	fuses                     bool // the activation is SiLU, for which there is backend.Fuser's NormSwiGLU
}

// activation computes gate = act(gate)·up.
type activation func(b backend.Backend, gate, up *tensor.Tensor) error

// activations are the activations by Variant.Activation.
var activations = map[string]activation{
	"":          backend.Backend.SiLUMul,
	"gelu_tanh": backend.Backend.GELUMul,
}

// manner returns what the layers have in common.
func (c *Config) manner() (*manner, error) {
	m := &manner{eps: c.RMSNormEps, queryScale: 1, residualScale: 1, activate: activations[c.Activation], fuses: c.Activation == ""}
	if m.activate == nil {
		return nil, fmt.Errorf("the activation is %.100q: %w", c.Activation, ErrUnsupported)
	}
	if c.ScoreScale != 0 {
		m.queryScale = float32(c.ScoreScale * math.Sqrt(float64(c.HeadDim)))
	}
	if c.ResidualScale != 0 {
		m.residualScale = float32(c.ResidualScale)
	}
	return m, nil
}
