package backend

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/tensor"
)

// needChosen returns the rows and choices of chosen [rows, k].
func needChosen(op string, chosen *tensor.Tensor) (rows, k int, err error) {
	if rows, k = chosen.Shape().Dim(0), chosen.Shape().Dim(1); chosen.DType() != tensor.I32 || chosen.Shape().NDim() != 2 || k < 1 {
		return 0, 0, fmt.Errorf("backend: %s with choices %v: choices must be i32 of shape [rows k]", op, chosen)
	}
	return rows, k, nil
}

// needExpert returns an error unless e is the number of one of the experts.
func needExpert(op string, e int32, experts int) error {
	if e < 0 || int(e) >= experts {
		return fmt.Errorf("backend: %s with expert %d of %d", op, e, experts)
	}
	return nil
}

// CheckChosen returns an error unless all of the numbers are those of experts.
func CheckChosen(op string, chosen []int32, experts int) error {
	for _, e := range chosen {
		if err := needExpert(op, e, experts); err != nil {
			return err
		}
	}
	return nil
}

// CheckRoute checks logits [rows, experts], chosen and weights [rows, k], k at most experts, and what r has.
func CheckRoute(logits *tensor.Tensor, r Routing, chosen, weights *tensor.Tensor) (rows, experts, k int, err error) {
	const op = "Route"
	if err := needF32(op, logits, weights); err != nil {
		return 0, 0, 0, err
	}
	if rows, k, err = needChosen(op, chosen); err != nil {
		return 0, 0, 0, err
	}
	experts = logits.Shape().Dim(-1)
	if logits.Shape().NDim() != 2 || logits.Shape().Dim(0) != rows || weights.Shape() != chosen.Shape() || k > experts {
		return 0, 0, 0, fmt.Errorf("backend: %s of %v to choices %v and weights %v: shapes must be [rows experts], [rows k] and [rows k], "+
			"k at most the number of experts", op, logits, chosen, weights)
	}
	if r.Scores > Sigmoid || math.IsNaN(float64(r.Scale)) {
		return 0, 0, 0, fmt.Errorf("backend: %s by scores of kind %d and a scale of %v: there is no such routing", op, r.Scores, r.Scale)
	}
	for _, t := range [...]*tensor.Tensor{r.Bias, r.ExpertScales} {
		if t == nil {
			continue
		}
		if err := needF32(op, t); err != nil {
			return 0, 0, 0, err
		}
		if t.Shape().NumElements() != experts {
			return 0, 0, 0, fmt.Errorf("backend: %s of %v with %v: biases and scales must be one for each expert", op, logits, t)
		}
	}
	if err := needWritable(op, chosen); err != nil {
		return 0, 0, 0, err
	}
	return rows, experts, k, needWritable(op, weights)
}

// ExpertDims are the dimensions of a product with experts' weights: Pairs rows of out, of N elements, for Rows rows of x, of K elements each.
// Rows is Pairs, or Pairs divided by the number of choices.
type ExpertDims struct{ Rows, Pairs, Experts, N, K int }

// CheckMatMulExperts checks x [rows, K] or [rows·k, K], w [experts, N, K], chosen [rows, k] and out [rows·k, N]. What chosen holds is not
// looked at.
func CheckMatMulExperts(x, w, chosen, out *tensor.Tensor) (d ExpertDims, err error) {
	const op = "MatMulExperts"
	if err := needF32(op, x, out); err != nil {
		return d, err
	}
	rows, k, err := needChosen(op, chosen)
	if err != nil {
		return d, err
	}
	d = ExpertDims{Rows: x.Shape().Rows(), Pairs: rows * k, Experts: w.Shape().Dim(0), N: w.Shape().Dim(1), K: w.Shape().Dim(2)}
	switch {
	case w.Shape().NDim() != 3 || x.Shape().Dim(-1) != d.K || d.Rows != rows && d.Rows != d.Pairs || out.Shape().Rows() != d.Pairs || out.Shape().Dim(-1) != d.N:
		err = fmt.Errorf("backend: %s of x %v, w %v for choices %v to %v: shapes must be [rows K] or [rows·k K], [experts N K], [rows k] and [rows·k N]",
			op, x, w, chosen, out)
	case !w.DType().Format().Valid() || d.K%w.DType().BlockLen() != 0:
		err = fmt.Errorf("backend: %s of x %v, w %v: %d columns of type %v cannot be multiplied", op, x, w, d.K, w.DType())
	default:
		err = needWritable(op, out)
	}
	return d, err
}

// CheckAddExpertBias checks out [rows·k, N], bias [experts, N] and chosen [rows, k]. What chosen holds is not looked at.
func CheckAddExpertBias(out, bias, chosen *tensor.Tensor) (pairs, experts, n int, err error) {
	const op = "AddExpertBias"
	if err := needF32(op, out, bias); err != nil {
		return 0, 0, 0, err
	}
	rows, k, err := needChosen(op, chosen)
	if err != nil {
		return 0, 0, 0, err
	}
	pairs, experts, n = rows*k, bias.Shape().Dim(0), bias.Shape().Dim(1)
	if bias.Shape().NDim() != 2 || out.Shape().Rows() != pairs || out.Shape().Dim(-1) != n {
		return 0, 0, 0, fmt.Errorf("backend: %s of %v to %v for choices %v: shapes must be [experts N], [rows·k N] and [rows k]", op, bias, out, chosen)
	}
	return pairs, experts, n, needWritable(op, out)
}

// CheckSumExperts checks y [rows·k, N], weights [rows, k] and out [rows, N].
func CheckSumExperts(y, weights, out *tensor.Tensor) (rows, k, n int, err error) {
	const op = "SumExperts"
	if err := needF32(op, y, weights, out); err != nil {
		return 0, 0, 0, err
	}
	rows, k, n = weights.Shape().Dim(0), weights.Shape().Dim(1), out.Shape().Dim(-1)
	if weights.Shape().NDim() != 2 || out.Shape().Rows() != rows || y.Shape().Rows() != rows*k || y.Shape().Dim(-1) != n {
		return 0, 0, 0, fmt.Errorf("backend: %s of %v with weights %v to %v: shapes must be [rows·k N], [rows k] and [rows N]", op, y, weights, out)
	}
	return rows, k, n, needWritable(op, out)
}

// CheckSwiGLUClamped checks a and b, of one shape, and the limit.
func CheckSwiGLUClamped(a, b *tensor.Tensor, limit float32) error {
	if err := needLimit("SwiGLUClamped", a, limit); err != nil {
		return err
	}
	return CheckSame("SwiGLUClamped", a, b)
}

// needLimit returns an error unless a limit is above 0 and finite.
func needLimit(op string, x *tensor.Tensor, limit float32) error {
	if !(limit > 0) || math.IsInf(float64(limit), 1) {
		return fmt.Errorf("backend: %s of %v to %v: the limit must be positive", op, x, limit)
	}
	return nil
}

// CheckFeedExperts checks the operands of ExpertFuser. What chosen holds is not looked at.
func CheckFeedExperts(x *tensor.Tensor, n *ExpertNetwork, chosen, weights, gate, up, down, out *tensor.Tensor) (d ExpertDims, err error) {
	if d, err = CheckMatMulExperts(x, n.Gate, chosen, gate); err != nil {
		return d, err
	}
	if _, err := CheckMatMulExperts(x, n.Up, chosen, up); err != nil {
		return d, err
	}
	if _, err := CheckMatMulExperts(gate, n.Down, chosen, down); err != nil {
		return d, err
	}
	if n.Up.Shape() != n.Gate.Shape() || n.Down.Shape().Dim(0) != d.Experts || weights.Shape() != chosen.Shape() || d.Rows != chosen.Shape().Dim(0) {
		return d, fmt.Errorf("backend: FeedExperts of %v with weights %v, gate %v, up %v, down %v: shapes must be [rows K], [rows k], [experts N K] twice and [experts K N]",
			x, weights, n.Gate, n.Up, n.Down)
	}
	if err := CheckSame("FeedExperts", up, gate); err != nil {
		return d, err
	}
	for _, b := range [...]struct{ bias, of *tensor.Tensor }{{n.GateBias, gate}, {n.UpBias, up}, {n.DownBias, down}} {
		if b.bias == nil {
			continue
		}
		if _, experts, _, err := CheckAddExpertBias(b.of, b.bias, chosen); err != nil {
			return d, err
		} else if experts != d.Experts {
			return d, fmt.Errorf("backend: FeedExperts of %d experts with the biases %v", d.Experts, b.bias)
		}
	}
	if n.Activation > ActivateClamped {
		return d, fmt.Errorf("backend: FeedExperts with an activation of kind %d: there is no such activation", n.Activation)
	}
	if n.Activation == ActivateClamped {
		if err := needLimit("FeedExperts", gate, n.Limit); err != nil {
			return d, err
		}
	}
	_, _, _, err = CheckSumExperts(down, weights, out)
	return d, err
}
