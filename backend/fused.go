package backend

import (
	"fmt"

	"github.com/antigravity-go/antigravity/tensor"
)

// Fused is an operation that stands for several others, so that a device can share a quantised activation among products and needs few barriers.
// It gives what these give, bit for bit on the CPU. Every backend runs it: one without such an operation runs the others. Fuse makes fused
// operations of a program, if its backend lists them. Some operands are scratch memory, with undefined contents afterwards.
type Fused interface {
	Op
	// Plain returns the other operations.
	Plain() []Op
}

// NormMatMul computes Outs[i] = n·Ws[i]ᵀ with n = rmsnorm(X, Norm), for X [M, K], which is left as it is; the scratch is Normed [M, K]. A Norm that
// is nil normalises nothing, and needs no Normed.
type NormMatMul struct {
	X, Norm  *tensor.Tensor
	Eps      float32
	Normed   *tensor.Tensor
	Ws, Outs []*tensor.Tensor
}

// Check checks the operands.
func (o *NormMatMul) Check() error {
	if err := checkNormed("NormMatMul", o.X, o.Norm, o.Normed); err != nil {
		return err
	}
	if len(o.Ws) != len(o.Outs) {
		return fmt.Errorf("backend: NormMatMul of %d weights to %d outputs", len(o.Ws), len(o.Outs))
	}
	for i, w := range o.Ws {
		if err := checkProduct(o.X, w, o.Outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Plain is a norm and the products.
func (o *NormMatMul) Plain() (p []Op) {
	x := o.X
	if o.Norm != nil {
		p, x = append(p, &RMSNorm{X: o.X, W: o.Norm, Eps: o.Eps, Out: o.Normed}), o.Normed
	}
	for i, w := range o.Ws {
		p = append(p, &MatMulTransposed{X: x, W: w, Out: o.Outs[i]})
	}
	return p
}

// MatMulAdd computes Out = (Out + X·Wᵀ) + Bias; the scratch is Product, of Out's shape. Bias is [N]; nil adds nothing.
type MatMulAdd struct{ X, W, Bias, Product, Out *tensor.Tensor }

// Check checks the operands.
func (o *MatMulAdd) Check() error {
	if err := (&Linear{o.W, o.Bias}).check("MatMulAdd", o.X, o.Product); err != nil {
		return err
	}
	return checkSame("MatMulAdd", o.Out, o.Product)
}

// Plain is a product and one or two sums.
func (o *MatMulAdd) Plain() []Op {
	p := []Op{&MatMulTransposed{X: o.X, W: o.W, Out: o.Product}, &AddAssign{A: o.Out, B: o.Product}}
	if o.Bias != nil {
		p = append(p, &AddAssign{A: o.Out, B: o.Bias})
	}
	return p
}

// NormSwiGLU computes Out = silu(n·Gateᵀ)·(n·Upᵀ) with n = rmsnorm(X, Norm), for X [M, K], which is left as it is; the scratch is Normed [M, K]
// and Product, of Out's shape. A Norm that is nil normalises nothing, and needs no Normed.
type NormSwiGLU struct {
	X, Norm                        *tensor.Tensor
	Eps                            float32
	Normed, Gate, Up, Product, Out *tensor.Tensor
}

// Check checks the operands.
func (o *NormSwiGLU) Check() error {
	if err := checkNormed("NormSwiGLU", o.X, o.Norm, o.Normed); err != nil {
		return err
	}
	if err := checkProduct(o.X, o.Gate, o.Out); err != nil {
		return err
	}
	if err := checkProduct(o.X, o.Up, o.Product); err != nil {
		return err
	}
	return checkSame("NormSwiGLU", o.Out, o.Product)
}

// Plain is a norm, both products, and what joins them.
func (o *NormSwiGLU) Plain() []Op {
	return append((&NormMatMul{
		X: o.X, Norm: o.Norm, Eps: o.Eps, Normed: o.Normed, Ws: []*tensor.Tensor{o.Gate, o.Up}, Outs: []*tensor.Tensor{o.Out, o.Product},
	}).Plain(), &SiLUMul{A: o.Out, B: o.Product})
}

// checkNormed checks a norm of x to normed, if there is one.
func checkNormed(op string, x, norm, normed *tensor.Tensor) error {
	if norm == nil {
		return needF32(op, x)
	}
	return checkNorm(op, x, norm, nil, normed)
}

// Linear is a linear map x ↦ x·Weightᵀ + Bias, Weight [N, K] and Bias [N]. A Bias that is nil adds nothing.
type Linear struct{ Weight, Bias *tensor.Tensor }

// check checks a map of x to out.
func (l *Linear) check(op string, x, out *tensor.Tensor) error {
	if err := checkProduct(x, l.Weight, out); err != nil || l.Bias == nil {
		return err
	}
	if l.Bias.Shape().NumElements() != l.Weight.Shape().Dim(0) {
		return fmt.Errorf("backend: a product of weights %v with the bias %v: the bias must have an element for each of their rows", l.Weight, l.Bias)
	}
	return needF32(op, l.Bias)
}

// Project computes Outs[i] = n·Maps[i].Weightᵀ + Maps[i].Bias with n = layernorm(X, Norm, NormBias), for X [M, K]. n is kept in Normed [M, K], which
// may be X, unless Norm is nil: then n is X, and there need be no Normed. If GELU is set, there are one or two maps, two of one shape, and then
// Outs[0] = gelu(Outs[0])·Outs[1], in the form of GELUErf; an Outs[1] that is not there counts as ones, and one that is there is scratch.
type Project struct {
	X, Norm, NormBias *tensor.Tensor
	Eps               float32
	Normed            *tensor.Tensor
	Maps              []Linear
	Outs              []*tensor.Tensor
	GELU              bool
}

// Check checks the operands.
func (o *Project) Check() error {
	if err := needF32("Project", o.X); err != nil {
		return err
	}
	if o.Norm != nil {
		if err := checkNorm("Project", o.X, o.Norm, o.NormBias, o.Normed); err != nil {
			return err
		}
	}
	if len(o.Maps) != len(o.Outs) {
		return fmt.Errorf("backend: Project by %d maps to %d outputs", len(o.Maps), len(o.Outs))
	}
	for i := range o.Maps {
		if err := o.Maps[i].check("Project", o.X, o.Outs[i]); err != nil {
			return err
		}
	}
	switch {
	case o.GELU && (len(o.Outs) < 1 || len(o.Outs) > 2):
		return fmt.Errorf("backend: Project to %d outputs with GELU: there must be one or two", len(o.Outs))
	case o.GELU:
		return checkSame("Project", o.Outs...)
	}
	return nil
}

// Plain is a norm, the products, their biases, and the activation.
func (o *Project) Plain() (p []Op) {
	x := o.X
	if o.Norm != nil {
		p, x = append(p, &LayerNorm{X: o.X, W: o.Norm, B: o.NormBias, Eps: o.Eps, Out: o.Normed}), o.Normed
	}
	for i, to := range o.Maps {
		p = append(p, &MatMulTransposed{X: x, W: to.Weight, Out: o.Outs[i]})
	}
	for i, to := range o.Maps {
		if to.Bias != nil {
			p = append(p, &AddAssign{A: o.Outs[i], B: to.Bias})
		}
	}
	switch {
	case o.GELU && len(o.Outs) == 2:
		p = append(p, &GELUErf{A: o.Outs[0], B: o.Outs[1]})
	case o.GELU:
		p = append(p, &GELUErf{A: o.Outs[0]})
	}
	return p
}

// Activation is what joins the products of gate and up.
type Activation uint8

// The activations.
const (
	ActivateSiLU    Activation = iota // SiLUMul
	ActivateGELU                      // GELUMul
	ActivateClamped                   // SwiGLUClamped
)

// ExpertNetwork is the feed-forward networks of a layer's experts: a row x becomes down·(act(gate·x+gateBias, up·x+upBias))+downBias, with the
// weights and biases of one expert.
type ExpertNetwork struct {
	Gate, Up, Down             *tensor.Tensor // [experts, N, K], [experts, N, K] and [experts, K, N], prepared or not
	GateBias, UpBias, DownBias *tensor.Tensor // [experts, N], [experts, N] and [experts, K], F32; nil: no bias
	Activation                 Activation
	Limit                      float32 // of ActivateClamped
}

// FeedExperts adds to each row of Out [rows, K] the outputs of its experts for the row of X [rows, K], as SumExperts adds them. Gate
// and Up [rows·k, N] and Down [rows·k, K] are scratch memory.
type FeedExperts struct {
	X                   *tensor.Tensor
	Network             ExpertNetwork
	Chosen, Weights     *tensor.Tensor
	Gate, Up, Down, Out *tensor.Tensor
}

// Dims returns the dimensions of the products of gate and up.
func (o *FeedExperts) Dims() ExpertDims { return o.gate().Dims() }

func (o *FeedExperts) gate() *MatMulExperts {
	return &MatMulExperts{X: o.X, W: o.Network.Gate, Chosen: o.Chosen, Out: o.Gate}
}

// Check checks the operands. It does not look at what Chosen holds.
func (o *FeedExperts) Check() error {
	n := &o.Network
	if err := o.gate().Check(); err != nil {
		return err
	}
	if err := (&MatMulExperts{X: o.X, W: n.Up, Chosen: o.Chosen, Out: o.Up}).Check(); err != nil {
		return err
	}
	if err := (&MatMulExperts{X: o.Gate, W: n.Down, Chosen: o.Chosen, Out: o.Down}).Check(); err != nil {
		return err
	}
	d := o.Dims()
	if n.Up.Shape() != n.Gate.Shape() || n.Down.Shape().Dim(0) != d.Experts || o.Weights.Shape() != o.Chosen.Shape() || d.Rows != o.Chosen.Shape().Dim(0) {
		return fmt.Errorf("backend: FeedExperts of %v with weights %v, gate %v, up %v, down %v: shapes must be [rows K], [rows k], [experts N K] twice and [experts K N]",
			o.X, o.Weights, n.Gate, n.Up, n.Down)
	}
	if err := checkSame("FeedExperts", o.Up, o.Gate); err != nil {
		return err
	}
	for _, b := range [...]AddExpertBias{{o.Gate, n.GateBias, o.Chosen}, {o.Up, n.UpBias, o.Chosen}, {o.Down, n.DownBias, o.Chosen}} {
		if b.Bias == nil {
			continue
		}
		if err := b.Check(); err != nil {
			return err
		}
		if b.Bias.Shape().Dim(0) != d.Experts {
			return fmt.Errorf("backend: FeedExperts of %d experts with the biases %v", d.Experts, b.Bias)
		}
	}
	if n.Activation > ActivateClamped {
		return fmt.Errorf("backend: FeedExperts with an activation of kind %d: there is no such activation", n.Activation)
	}
	if n.Activation == ActivateClamped {
		if err := needLimit("FeedExperts", o.Gate, n.Limit); err != nil {
			return err
		}
	}
	return (&SumExperts{Y: o.Down, Weights: o.Weights, Out: o.Out}).Check()
}

// Plain is the products, their biases, the activation, and the sum.
func (o *FeedExperts) Plain() (p []Op) {
	n := &o.Network
	multiply := func(x, w, bias, out *tensor.Tensor) {
		p = append(p, &MatMulExperts{X: x, W: w, Chosen: o.Chosen, Out: out})
		if bias != nil {
			p = append(p, &AddExpertBias{Out: out, Bias: bias, Chosen: o.Chosen})
		}
	}
	multiply(o.X, n.Gate, n.GateBias, o.Gate)
	multiply(o.X, n.Up, n.UpBias, o.Up)
	switch n.Activation {
	case ActivateSiLU:
		p = append(p, &SiLUMul{A: o.Gate, B: o.Up})
	case ActivateGELU:
		p = append(p, &GELUMul{A: o.Gate, B: o.Up})
	case ActivateClamped:
		p = append(p, &SwiGLUClamped{A: o.Gate, B: o.Up, Limit: n.Limit})
	}
	multiply(o.Gate, n.Down, n.DownBias, o.Down)
	return append(p, &SumExperts{Y: o.Down, Weights: o.Weights, Out: o.Out})
}
