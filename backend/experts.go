package backend

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/tensor"
)

// A feed-forward network with a mixture of experts (arXiv 1701.06538) has a router with a logit for each expert. Each row is computed by the
// experts that Route chooses, and their outputs are added up with the weights that Route gives them. The choices of a pass with some rows are a
// tensor Chosen [rows, k] of type I32, which stays on the device: row r's choice of rank i is the expert Chosen[r, i]. A pair is a row with one
// of its choices; pairs are in the order of Chosen, so that pair r·k+i is row r's of rank i. The weights of all experts of a layer are one
// tensor [experts, N, K], prepared as the rows [experts·N, K] are; N is a multiple of 16 if they are.
//
// What a row gets depends on no other row of the pass, and not on how rows are grouped by their experts. A number in Chosen that is no
// expert's is an error; a device that computes later may write NaN for the pair instead. Route writes no such numbers.

// Scores says what a router's logits become before experts are weighed by them.
type Scores uint8

// The scores.
const (
	SoftmaxAll    Scores = iota // the softmax of a row's logits (Qwen, Mixtral)
	SoftmaxChosen               // the softmax of the logits of the experts that the row has chosen (gpt-oss, Granite)
	Sigmoid                     // 1/(1+e⁻ˣ) of each logit (GLM 4.5, DeepSeek V3)
)

// Routing says how a row of logits chooses experts and what they weigh.
//
// A row chooses the k experts with the largest logits, the largest first. With a Bias it chooses by score + bias instead, the scores of
// SoftmaxChosen being the logits. Of equals the expert with the lower number comes first, and NaN counts as larger than everything.
// If there are Groups of experts, which are equally many neighbours, a row first chooses ChosenGroups of them, and then only among their experts. A group
// counts as much as its largest expert or, with a Bias, as the sum of its two largest. Of equals the first group comes first.
// The weights are the scores of the chosen experts, without the bias. Normalize divides the weights of a row by their sum, which is added up
// in the order of rank, plus 1e-20. Then each is multiplied by Scale, if that is not 0, and by its expert's number of ExpertScales. Each
// step is rounded to float32.
type Routing struct {
	Scores       Scores
	Normalize    bool
	Scale        float32        // 0 counts as 1
	Bias         *tensor.Tensor // [experts], F32; nil: no bias
	ExpertScales *tensor.Tensor // [experts], F32: Gemma 4's; nil: all 1
	Groups       int            // of experts; 0 and 1: there are no groups
	ChosenGroups int            // in which a row chooses its experts
}

// Route chooses experts for each row of Logits [rows, experts], and writes which to Chosen [rows, k], of type I32, and their weights to
// Weights [rows, k], both in the order of rank.
type Route struct {
	Logits          *tensor.Tensor
	Routing         Routing
	Chosen, Weights *tensor.Tensor
}

// Check checks the operands, k at most experts.
func (o *Route) Check() error {
	const op = "Route"
	if err := needF32(op, o.Logits, o.Weights); err != nil {
		return err
	}
	rows, k, err := needChosen(op, o.Chosen)
	if err != nil {
		return err
	}
	experts, r := o.Logits.Shape().Dim(-1), &o.Routing
	if o.Logits.Shape().NDim() != 2 || o.Logits.Shape().Dim(0) != rows || o.Weights.Shape() != o.Chosen.Shape() || k > experts {
		return fmt.Errorf("backend: %s of %v to choices %v and weights %v: shapes must be [rows experts], [rows k] and [rows k], "+
			"k at most the number of experts", op, o.Logits, o.Chosen, o.Weights)
	}
	if r.Scores > Sigmoid || math.IsNaN(float64(r.Scale)) {
		return fmt.Errorf("backend: %s by scores of kind %d and a scale of %v: there is no such routing", op, r.Scores, r.Scale)
	}
	if r.Groups > 1 && (experts%r.Groups != 0 || r.ChosenGroups < 1 || r.ChosenGroups > r.Groups || k > experts/r.Groups*r.ChosenGroups || r.Bias != nil && experts/r.Groups < 2) {
		return fmt.Errorf("backend: %s of %v to %d experts in %d of %d groups: there are not so many", op, o.Logits, k, r.ChosenGroups, r.Groups)
	}
	for _, t := range [...]*tensor.Tensor{r.Bias, r.ExpertScales} {
		if t == nil {
			continue
		}
		if err := needF32(op, t); err != nil {
			return err
		}
		if t.Shape().NumElements() != experts {
			return fmt.Errorf("backend: %s of %v with %v: biases and scales must be one for each expert", op, o.Logits, t)
		}
	}
	if err := needWritable(op, o.Chosen); err != nil {
		return err
	}
	return needWritable(op, o.Weights)
}

// Dims returns the dimensions.
func (o *Route) Dims() (rows, experts, k int) {
	return o.Chosen.Shape().Dim(0), o.Logits.Shape().Dim(-1), o.Chosen.Shape().Dim(-1)
}

// MatMulExperts computes for each pair the product of its row with its expert's weights, W[e] being e's of W [experts, N, K]:
// Out[r·k+i] = X[r]·W[Chosen[r, i]]ᵀ for X [rows, K], or X[r·k+i]·W[Chosen[r, i]]ᵀ for X [rows·k, K]; Out is [rows·k, N]. Each is what
// MatMulTransposed gives for the row alone, bit for bit. If k is 1, both readings are the same.
type MatMulExperts struct{ X, W, Chosen, Out *tensor.Tensor }

// ExpertDims are the dimensions of a product with experts' weights: Pairs rows of out, of N elements, for Rows rows of x, of K elements each.
// Rows is Pairs, or Pairs divided by the number of choices.
type ExpertDims struct{ Rows, Pairs, Experts, N, K int }

// Dims returns the dimensions.
func (o *MatMulExperts) Dims() ExpertDims {
	w := o.W.Shape()
	return ExpertDims{Rows: o.X.Shape().Rows(), Pairs: o.Chosen.Shape().NumElements(), Experts: w.Dim(0), N: w.Dim(1), K: w.Dim(-1)}
}

// Check checks the operands. It does not look at what Chosen holds.
func (o *MatMulExperts) Check() error {
	const op = "MatMulExperts"
	if err := needF32(op, o.X, o.Out); err != nil {
		return err
	}
	rows, _, err := needChosen(op, o.Chosen)
	if err != nil {
		return err
	}
	d := o.Dims()
	switch {
	case o.W.Shape().NDim() != 3 || o.X.Shape().Dim(-1) != d.K || d.Rows != rows && d.Rows != d.Pairs || o.Out.Shape().Rows() != d.Pairs || o.Out.Shape().Dim(-1) != d.N:
		return fmt.Errorf("backend: %s of x %v, w %v for choices %v to %v: shapes must be [rows K] or [rows·k K], [experts N K], [rows k] and [rows·k N]",
			op, o.X, o.W, o.Chosen, o.Out)
	case !o.W.DType().Format().Valid() || d.K%o.W.DType().BlockLen() != 0:
		return fmt.Errorf("backend: %s of x %v, w %v: %d columns of type %v cannot be multiplied", op, o.X, o.W, d.K, o.W.DType())
	}
	return needWritable(op, o.Out)
}

// AddExpertBias adds to each pair's row its expert's row of Bias [experts, N]: Out[r·k+i] += Bias[Chosen[r, i]], for Out [rows·k, N].
type AddExpertBias struct{ Out, Bias, Chosen *tensor.Tensor }

// Check checks the operands. It does not look at what Chosen holds.
func (o *AddExpertBias) Check() error {
	const op = "AddExpertBias"
	if err := needF32(op, o.Out, o.Bias); err != nil {
		return err
	}
	rows, k, err := needChosen(op, o.Chosen)
	if err != nil {
		return err
	}
	if o.Bias.Shape().NDim() != 2 || o.Out.Shape().Rows() != rows*k || o.Out.Shape().Dim(-1) != o.Bias.Shape().Dim(1) {
		return fmt.Errorf("backend: %s of %v to %v for choices %v: shapes must be [experts N], [rows·k N] and [rows k]", op, o.Bias, o.Out, o.Chosen)
	}
	return needWritable(op, o.Out)
}

// SumExperts adds the weighted rows of pairs, Y [rows·k, N], to Out [rows, N]: for i = 0 … k-1, in this order,
// Out[r] = fma(Weights[r, i], Y[r·k+i], Out[r]), for Weights [rows, k].
type SumExperts struct{ Y, Weights, Out *tensor.Tensor }

// Check checks the operands.
func (o *SumExperts) Check() error {
	const op = "SumExperts"
	if err := needF32(op, o.Y, o.Weights, o.Out); err != nil {
		return err
	}
	rows, k, n := o.Dims()
	if o.Weights.Shape().NDim() != 2 || o.Out.Shape().Rows() != rows || o.Y.Shape().Rows() != rows*k || o.Y.Shape().Dim(-1) != n {
		return fmt.Errorf("backend: %s of %v with weights %v to %v: shapes must be [rows·k N], [rows k] and [rows N]", op, o.Y, o.Weights, o.Out)
	}
	return needWritable(op, o.Out)
}

// Dims returns the dimensions.
func (o *SumExperts) Dims() (rows, k, n int) {
	return o.Weights.Shape().Dim(0), o.Weights.Shape().Dim(-1), o.Out.Shape().Dim(-1)
}

// CheckChosen returns an error that names an operation unless all of the numbers are those of experts.
func CheckChosen(op string, chosen []int32, experts int) error {
	for _, e := range chosen {
		if e < 0 || int(e) >= experts {
			return fmt.Errorf("backend: %s with expert %d of %d", op, e, experts)
		}
	}
	return nil
}

// needChosen returns the rows and choices of chosen [rows, k].
func needChosen(op string, chosen *tensor.Tensor) (rows, k int, err error) {
	if rows, k = chosen.Shape().Dim(0), chosen.Shape().Dim(-1); chosen.DType() != tensor.I32 || chosen.Shape().NDim() != 2 || k < 1 {
		return 0, 0, fmt.Errorf("backend: %s with choices %v: choices must be i32 of shape [rows k]", op, chosen)
	}
	return rows, k, nil
}
