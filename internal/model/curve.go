package model

import (
	"fmt"
	"math"
)

// Curve is an xIELU of one layer (arXiv 2411.13010), as files have its numbers. With p = softplus(AlphaP) and n = Beta + softplus(AlphaN) it is p·x² + Beta·x
// above 0, and n·(e^min(x, Eps) − 1 − x) + Beta·x below.
type Curve struct{ AlphaP, AlphaN, Beta, Eps float32 }

// validate checks the curves of a number of layers.
func validateCurves(list []Curve, layers int) error {
	if list != nil && len(list) != layers {
		return fmt.Errorf("%d layers have curves of their activations, of %d", len(list), layers)
	}
	for i, c := range list {
		for _, v := range []float32{c.AlphaP, c.AlphaN, c.Beta, c.Eps} {
			if math.IsNaN(float64(v)) || math.Abs(float64(v)) > maxCurve {
				return fmt.Errorf("the curve of layer %d has the number %g, not between %g and %g", i, v, -maxCurve, maxCurve)
			}
		}
	}
	return nil
}

// maxCurve is the largest number of a curve: published ones are below 100.
const maxCurve = 1e6
