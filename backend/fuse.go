package backend

import (
	"slices"

	"github.com/antigravity-go/antigravity/tensor"
)

// Fusion is a pass over a program: if a backend lists a pattern, the operations that the pattern matches become one. Who writes a program
// writes plain operations. With normed and product as scratch, on a backend that lists the first three patterns:
//
//	RMSNorm(x → normed)                     NormMatMul(x → q, k, v)
//	MatMulTransposed(normed → q), …k, …v
//	MatMulTransposed(attended → product)    MatMulAdd(attended → x)
//	AddAssign(x, product)
//
// If a later operation reads normed, the first four operations stay: the fused operation does not compute it.

// Fusion is a pattern. It returns an operation that stands for the first n operations of a program, and the tensors that these would have
// computed and the fused operation does not; 0, if the program does not begin so.
type Fusion func(p []Op) (fused Op, n int, lost []*tensor.Tensor)

// Fuse returns a program with what the backend's fusions match replaced by their operations; of several that match, by the one that stands for
// the most. Scratch are the tensors that nobody reads after the program: only their contents may be lost. It changes neither program nor operations.
func Fuse(b Backend, p []Op, scratch ...*tensor.Tensor) []Op {
	fusions := b.Fusions()
	result := make([]Op, 0, len(p))
	for len(p) > 0 {
		op, most := p[0], 1
		for _, fusion := range fusions {
			if fused, n, lost := fusion(p); n > most && canLose(lost, scratch, p[n:]) {
				op, most = fused, n
			}
		}
		result, p = append(result, op), p[most:]
	}
	return result
}

// canLose reports whether tensors are scratch, and the rest of a program does not read them.
func canLose(lost, scratch []*tensor.Tensor, rest []Op) bool {
	for _, t := range lost {
		if !slices.Contains(scratch, t) || reads(rest, t) {
			return false
		}
	}
	return true
}

// reads reports whether a program may read what a tensor holds before it. Of most operations it does not know whether they read an operand, and
// takes them to.
func reads(p []Op, t *tensor.Tensor) bool {
	for _, op := range p {
		switch o := op.(type) {
		case *RMSNorm:
			if o.Out == t && o.X != t && o.W != t {
				return false
			}
		case *LayerNorm:
			if o.Out == t && o.X != t && o.W != t && o.B != t {
				return false
			}
		case *MatMulTransposed:
			if o.Out == t && o.X != t && o.W != t {
				return false
			}
		}
		for operand := range Operands(op) {
			if operand == t {
				return true
			}
		}
	}
	return false
}

// next returns the first operation of a program, and the rest, if it is of a type; otherwise nil, and the program.
func next[T any, P interface {
	*T
	Op
}](p []Op) (P, []Op) {
	if len(p) > 0 {
		if op, ok := p[0].(P); ok {
			return op, p[1:]
		}
	}
	return nil, p
}

// products takes products of x from the beginning of a program.
func products(p []Op, x *tensor.Tensor) (ws, outs []*tensor.Tensor, rest []Op) {
	for {
		product, after := next[MatMulTransposed](p)
		if product == nil || product.X != x {
			return ws, outs, p
		}
		ws, outs, p = append(ws, product.W), append(outs, product.Out), after
	}
}

// FuseNormMatMul matches a norm and products of the result, or two products or more of one tensor.
func FuseNormMatMul(p []Op) (Op, int, []*tensor.Tensor) {
	f, lost := &NormMatMul{}, []*tensor.Tensor(nil)
	norm, rest := next[RMSNorm](p)
	product, _ := next[MatMulTransposed](rest)
	switch {
	case product == nil:
		return nil, 0, nil
	case norm == nil:
		f.X = product.X
	case norm.To() == norm.X || product.X != norm.Out:
		return nil, 0, nil
	default:
		f.X, f.Norm, f.Eps, f.Normed, lost = norm.X, norm.W, norm.Eps, norm.Out, []*tensor.Tensor{norm.Out}
	}
	f.Ws, f.Outs, rest = products(rest, product.X)
	return f, len(p) - len(rest), lost
}

// FuseNormSwiGLU matches a norm, two products of the result, and SiLUMul of these.
func FuseNormSwiGLU(p []Op) (Op, int, []*tensor.Tensor) {
	fused, n, lost := FuseNormMatMul(p)
	if n != 3 {
		return nil, 0, nil
	}
	f := fused.(*NormMatMul)
	join, _ := next[SiLUMul](p[n:])
	if f.Norm == nil || join == nil || join.A != f.Outs[0] || join.B != f.Outs[1] {
		return nil, 0, nil
	}
	return &NormSwiGLU{X: f.X, Norm: f.Norm, Eps: f.Eps, Normed: f.Normed, Gate: f.Ws[0], Up: f.Ws[1], Product: f.Outs[1], Out: f.Outs[0]},
		n + 1, append(lost, f.Outs[1])
}

// FuseMatMulAdd matches a product, its sum with another tensor and, perhaps, a bias.
func FuseMatMulAdd(p []Op) (Op, int, []*tensor.Tensor) {
	product, rest := next[MatMulTransposed](p)
	sum, rest := next[AddAssign](rest)
	if product == nil || sum == nil || sum.B != product.Out || sum.A == product.X {
		return nil, 0, nil
	}
	f := &MatMulAdd{X: product.X, W: product.W, Product: product.Out, Out: sum.A}
	if bias, after := next[AddAssign](rest); bias != nil && bias.A == sum.A && bias.B.Shape().NDim() == 1 {
		f.Bias, rest = bias.B, after
	}
	return f, len(p) - len(rest), []*tensor.Tensor{product.Out}
}

// FuseProject matches, perhaps, a LayerNorm; products of the result; biases of these; and, perhaps, GELUErf.
func FuseProject(p []Op) (Op, int, []*tensor.Tensor) {
	f, lost := &Project{}, []*tensor.Tensor(nil)
	norm, rest := next[LayerNorm](p)
	product, _ := next[MatMulTransposed](rest)
	if product == nil || norm != nil && norm.To() != product.X {
		return nil, 0, nil
	}
	f.X = product.X
	if norm != nil {
		f.X, f.Norm, f.NormBias, f.Eps, f.Normed = norm.X, norm.W, norm.B, norm.Eps, norm.To()
	}
	var ws []*tensor.Tensor
	ws, f.Outs, rest = products(rest, product.X)
	for _, w := range ws {
		f.Maps = append(f.Maps, Linear{Weight: w})
	}
	for {
		bias, after := next[AddAssign](rest)
		if bias == nil || bias.B.Shape().NDim() != 1 {
			break
		}
		i := slices.Index(f.Outs, bias.A)
		if i < 0 || f.Maps[i].Bias != nil {
			break
		}
		f.Maps[i].Bias, rest = bias.B, after
	}
	if gelu, after := next[GELUErf](rest); gelu != nil && gelu.A == f.Outs[0] {
		switch {
		case len(f.Outs) == 1 && gelu.B == nil:
			f.GELU, rest = true, after
		case len(f.Outs) == 2 && gelu.B == f.Outs[1]:
			f.GELU, rest, lost = true, after, f.Outs[1:]
		}
	}
	return f, len(p) - len(rest), lost
}

// FuseFeedExperts matches the networks of a layer's experts.
func FuseFeedExperts(p []Op) (Op, int, []*tensor.Tensor) {
	gate, gateBias, rest := expertProduct(p)
	up, upBias, rest := expertProduct(rest)
	if gate == nil || up == nil || up.X != gate.X || up.Chosen != gate.Chosen || len(rest) == 0 {
		return nil, 0, nil
	}
	f := &FeedExperts{X: gate.X, Chosen: gate.Chosen, Gate: gate.Out, Up: up.Out}
	var joined [2]*tensor.Tensor
	switch join := rest[0].(type) {
	case *SiLUMul:
		joined = [2]*tensor.Tensor{join.A, join.B}
	case *GELUMul:
		joined, f.Network.Activation = [2]*tensor.Tensor{join.A, join.B}, ActivateGELU
	case *SwiGLUClamped:
		joined, f.Network.Activation, f.Network.Limit = [2]*tensor.Tensor{join.A, join.B}, ActivateClamped, join.Limit
	}
	down, downBias, rest := expertProduct(rest[1:])
	sum, rest := next[SumExperts](rest)
	if joined != [2]*tensor.Tensor{gate.Out, up.Out} || down == nil || down.X != gate.Out || down.Chosen != gate.Chosen || sum == nil || sum.Y != down.Out {
		return nil, 0, nil
	}
	n := &f.Network
	n.Gate, n.Up, n.Down, n.GateBias, n.UpBias, n.DownBias = gate.W, up.W, down.W, gateBias, upBias, downBias
	f.Down, f.Weights, f.Out = down.Out, sum.Weights, sum.Out
	return f, len(p) - len(rest), []*tensor.Tensor{f.Gate, f.Up, f.Down}
}

// expertProduct takes a product with experts' weights from the beginning of a program, and its bias, if it has one; nil: there is no product.
func expertProduct(p []Op) (product *MatMulExperts, bias *tensor.Tensor, rest []Op) {
	if product, rest = next[MatMulExperts](p); product == nil {
		return nil, nil, p
	}
	if add, after := next[AddExpertBias](rest); add != nil && add.Out == product.Out && add.Chosen == product.Chosen {
		return product, add.Bias, after
	}
	return product, nil, rest
}
