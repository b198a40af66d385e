package backendtest

import (
	"slices"

	"github.com/antigravity-go/antigravity/tensor"
)

// weightTypes are the types that weights can have, cacheTypes those of keys and values.
var (
	weightTypes = tensor.WeightTypes()
	cacheTypes  = []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0}
)

// Checks lists the checks of all operations, those of one operation and type together. Quick leaves out large shapes.
func Checks(quick bool) []Check {
	return slices.Concat(
		readChecks(), copyChecks(), castChecks(quick), gatherChecks(quick),
		elementwiseChecks(quick), gateChecks(quick), convolveChecks(quick), recurChecks(quick),
		matMulChecks(quick), transposedChecks(quick), roundedChecks(quick),
		normMatMulChecks(quick), matMulAddChecks(quick), normSwiGLUChecks(quick), projectChecks(quick), projectAddChecks(quick),
		expertChecks(quick),
		storeChecks(quick), attendChecks(quick), textChecks(quick), weighChecks(quick),
		compactChecks(), pageChecks(),
		largestChecks(),
		maskChecks(),
		mistakeChecks(),
	)
}

// FirstOfEach returns the first of the checks of each operation and type, with weights as files have them and with prepared ones: enough to see
// that a backend passes its operands on to another one, which has all of the checks.
func FirstOfEach(checks []Check) (first []Check) {
	type kind struct {
		operation, of string
		prepared      bool
	}
	seen := map[kind]bool{}
	for _, c := range checks {
		if k := (kind{c.Operation, c.Type, c.Prepared}); !seen[k] {
			seen[k] = true
			first = append(first, c)
		}
	}
	return first
}

// f32 describes an operand with values.
func f32(name string, r role, x []float32, dims ...int) operand {
	return operand{name: name, role: r, dtype: tensor.F32, dims: dims, data: encode(tensor.F32, x)}
}

// blank describes an F32 operand without values: an output or scratch.
func blank(name string, r role, dims ...int) operand {
	return operand{name: name, role: r, dtype: tensor.F32, dims: dims}
}

// within sets an output's limit.
func (o operand) within(l limit) operand {
	o.limit = l
	return o
}

// both returns each check with the weights as files have them, and with prepared ones.
func both(checks []Check) (result []Check) {
	for _, c := range checks {
		result = append(result, c)
		c.Prepared = true
		result = append(result, c)
	}
	return result
}

// upTo returns the shapes without the large ones, which come last, when quick.
func upTo[T any](quick bool, small []T, big ...T) []T {
	if quick {
		return small
	}
	return append(slices.Clip(small), big...)
}

// whole rounds n up to whole blocks of a type.
func whole(n int, d tensor.DType) int { return (n + d.BlockLen() - 1) / d.BlockLen() * d.BlockLen() }
