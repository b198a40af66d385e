package backend

import (
	"fmt"

	"github.com/antigravity-go/antigravity/tensor"
)

// DeltaRule is a layer of Gated DeltaNet (arXiv 2412.06464) between its projections: their results, and the layer's weights.
//
// Compose has what is computed. The result replaces Gate. What the other projections' results and Out hold afterwards is undefined.
type DeltaRule struct {
	Query, Key  *tensor.Tensor // [rows, keyHeads, dk]
	Value, Gate *tensor.Tensor // [rows, heads, dv]
	Step, Beta  *tensor.Tensor // [rows, heads]
	Out         *tensor.Tensor // scratch, [rows, heads, dv]

	// Filtered has for Query, Key and Value the same memory as [rows, channels], and the weights of the convolution.
	Filtered [3]FilteredRows

	QueryUnit, KeyUnit *tensor.Tensor // [dk]: weights with which RMSNorm makes vectors of one length
	UnitEps            float32
	StepBias, Decay    *tensor.Tensor // [heads]; Decay is −e^A
	Norm               *tensor.Tensor // [dv], of each head of Out
	NormEps            float32
}

// FilteredRows are rows [rows, channels] that pass through a convolution, and its weights [width, channels].
type FilteredRows struct{ Rows, Filter *tensor.Tensor }

// The parts of a DeltaRule's state: the inputs that the convolutions remember, and the matrices of the heads.
const (
	DeltaQueries = iota
	DeltaKeys
	DeltaValues
	DeltaMatrices
	DeltaParts // how many there are
)

// DeltaRuler is a backend that computes a DeltaRule as one operation: to a step of a few rows the phases and launches of the plain operations
// cost more than most of the work.
type DeltaRuler interface {
	// DeltaRule computes what o.Compose does, bit for bit on the CPU. of has, for each part of the state, the stretches of the rows: of as many
	// rows in each part.
	DeltaRule(o *DeltaRule, of *[DeltaParts][]Stretch) error
}

// DeltaRuling returns the backend's DeltaRule, or one composed of its plain operations.
func DeltaRuling(b Backend) DeltaRuler {
	if r, ok := b.(DeltaRuler); ok {
		return r
	}
	return composed{b}
}

// Remembering is Recurrent for rows whose stretches it knows. part says which tensor of their states an operation works on.
type Remembering interface {
	Convolve(part int, x, w, b, out *tensor.Tensor) error
	Recur(part int, q, k, v, g, beta, out *tensor.Tensor, delta bool) error
}

// gates are the operations of Backend that Compose needs.
type gates interface {
	SiLUMul(a, b *tensor.Tensor) error
	SigmoidMul(a, b *tensor.Tensor) error
	Softplus(a, bias *tensor.Tensor) error
	MulAssign(a, b *tensor.Tensor) error
	RMSNorm(x, w *tensor.Tensor, eps float32) error
}

// Compose computes the layer by plain operations of a backend and of states:
//
//	q, k, v = silu(conv(q)), silu(conv(k)), silu(conv(v));  q, k = unit vectors
//	β = σ(beta);  g = decay·softplus(step + bias)
//	out = Sᵀq of the states S, by Recur
//	gate = silu(gate)·RMSNorm(out)
func (o *DeltaRule) Compose(b gates, states Remembering) error {
	for part, f := range o.Filtered {
		if err := states.Convolve(part, f.Rows, f.Filter, nil, f.Rows); err != nil {
			return err
		}
		if err := b.SiLUMul(f.Rows, nil); err != nil {
			return err
		}
	}
	if err := b.RMSNorm(o.Query, o.QueryUnit, o.UnitEps); err != nil {
		return err
	}
	if err := b.RMSNorm(o.Key, o.KeyUnit, o.UnitEps); err != nil {
		return err
	}
	if err := b.SigmoidMul(o.Beta, nil); err != nil {
		return err
	}
	if err := b.Softplus(o.Step, o.StepBias); err != nil {
		return err
	}
	if err := b.MulAssign(o.Step, o.Decay); err != nil {
		return err
	}
	if err := states.Recur(DeltaMatrices, o.Query, o.Key, o.Value, o.Step, o.Beta, o.Out, true); err != nil {
		return err
	}
	if err := b.RMSNorm(o.Out, o.Norm, o.NormEps); err != nil {
		return err
	}
	return b.SiLUMul(o.Gate, o.Out)
}

// ComposeDeltaRule is DeltaRule by a backend's plain operations, also if it has its own: for operands that these do not take.
func ComposeDeltaRule(b interface {
	gates
	Recurrent
}, o *DeltaRule, of *[DeltaParts][]Stretch) error {
	return o.Compose(b, parted{b, of})
}

// DeltaRule composes the operation.
func (c composed) DeltaRule(o *DeltaRule, of *[DeltaParts][]Stretch) error {
	return ComposeDeltaRule(c.Backend, o, of)
}

// parted is Remembering of given stretches.
type parted struct {
	Recurrent
	of *[DeltaParts][]Stretch
}

func (p parted) Convolve(part int, x, w, b, out *tensor.Tensor) error {
	return p.Recurrent.Convolve(x, w, b, out, p.of[part])
}

func (p parted) Recur(part int, q, k, v, g, beta, out *tensor.Tensor, delta bool) error {
	return p.Recurrent.Recur(q, k, v, g, beta, out, delta, p.of[part])
}

// CheckDeltaRule checks the operands as Compose's operations do.
func CheckDeltaRule(o *DeltaRule, of *[DeltaParts][]Stretch) (d RecurDims, err error) {
	const op = "DeltaRule"
	if d, err = CheckRecur(o.Query, o.Key, o.Value, o.Step, o.Beta, o.Out, of[DeltaMatrices]); err != nil {
		return d, err
	}
	for part, f := range o.Filtered {
		rows, channels, _, err := CheckConvolve(f.Rows, f.Filter, nil, f.Rows, of[part])
		if err != nil {
			return d, err
		}
		if want := [...]int{d.KeyHeads * d.KeyDim, d.KeyHeads * d.KeyDim, d.Heads * d.ValueDim}[part]; rows != d.Rows || channels != want {
			return d, fmt.Errorf("backend: %s with %v to be filtered: it must be [%d %d]", op, f.Rows, d.Rows, want)
		}
		for i, s := range of[part] {
			if len(of[part]) != len(of[DeltaMatrices]) || s.Rows != of[DeltaMatrices][i].Rows {
				return d, fmt.Errorf("backend: %s with stretches of other rows for part %d of the state", op, part)
			}
		}
	}
	if err := CheckSame(op, o.Gate, o.Out); err != nil {
		return d, err
	}
	for _, n := range [...]struct{ x, w *tensor.Tensor }{{o.Query, o.QueryUnit}, {o.Key, o.KeyUnit}, {o.Out, o.Norm}} {
		if _, _, err := CheckRMSNorm(n.x, n.w); err != nil {
			return d, err
		}
	}
	for _, row := range [...]*tensor.Tensor{o.StepBias, o.Decay} {
		if err := CheckSoftplus(o.Step, row); err != nil {
			return d, err
		}
	}
	return d, CheckSame(op, o.Beta, o.Step)
}
