package backend

import "github.com/antigravity-go/antigravity/tensor"

// Experts is what a feed-forward network with a mixture of experts is made of (arXiv 1701.06538): a router has a logit for each expert, each
// row is computed by the TopK experts that Route chooses, and their outputs are added up with the weights that Route gives them. The
// choices of a pass with some rows are a tensor chosen [rows, k] of type I32, which stays on the device: row r's choice of rank i is the
// expert chosen[r, i]. A pair is a row with one of its choices; pairs are in the order of chosen, so that pair r·k+i is row r's of rank i.
// The weights of all experts of a layer are one tensor [experts, N, K], prepared as the rows [experts·N, K] are; N is a multiple of 16 if
// they are.
//
// What a row gets depends on no other row of the pass, and not on how rows are grouped by their experts. A number in chosen that is no
// expert's is an error; a device that computes later may write NaN for the pair instead. Route writes no such numbers.
type Experts interface {
	// Route chooses experts for each row of logits [rows, experts], and writes which to chosen [rows, k], of type I32, and their weights to
	// weights [rows, k], both in the order of rank: see Routing.
	Route(logits *tensor.Tensor, r Routing, chosen, weights *tensor.Tensor) error
	// MatMulExperts computes for each pair the product of its row with its expert's weights, w[e] being e's of w [experts, N, K]:
	// out[r·k+i] = x[r]·w[chosen[r, i]]ᵀ for x [rows, K], or x[r·k+i]·w[chosen[r, i]]ᵀ for x [rows·k, K]; out is [rows·k, N]. Each is what
	// MatMulTransposed gives for the row alone, bit for bit. If k is 1, both readings are the same.
	MatMulExperts(x, w, chosen, out *tensor.Tensor) error
	// AddExpertBias adds to each pair's row its expert's row of bias [experts, N]: out[r·k+i] += bias[chosen[r, i]], for out [rows·k, N].
	AddExpertBias(out, bias, chosen *tensor.Tensor) error
	// SumExperts adds the weighted rows of pairs, y [rows·k, N], to out [rows, N]: for i = 0 … k-1, in this order,
	// out[r] = fma(weights[r, i], y[r·k+i], out[r]).
	SumExperts(y, weights, out *tensor.Tensor) error
	// SwiGLUClamped computes a = (u+1)·g/(1+e^(−1.702·g)) with g = min(a, limit) and u = min(max(b, −limit), limit), as gpt-oss has it; limit is
	// above 0.
	SwiGLUClamped(a, b *tensor.Tensor, limit float32) error
}

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
// The weights are the scores of the chosen experts, without the bias. Normalize divides the weights of a row by their sum, which is added up
// in the order of rank, plus 1e-20. Then each is multiplied by Scale, if that is not 0, and by its expert's number of ExpertScales. Each
// step is rounded to float32.
type Routing struct {
	Scores       Scores
	Normalize    bool
	Scale        float32        // 0 counts as 1
	Bias         *tensor.Tensor // [experts], F32; nil: no bias
	ExpertScales *tensor.Tensor // [experts], F32: Gemma 4's; nil: all 1
}

// Activation is what joins the products of gate and up.
type Activation uint8

// The activations.
const (
	ActivateSiLU    Activation = iota // Backend.SiLUMul
	ActivateGELU                      // Backend.GELUMul
	ActivateClamped                   // Backend.SwiGLUClamped
)

// ExpertNetwork is the feed-forward networks of a layer's experts: a row x becomes down·(act(gate·x+gateBias, up·x+upBias))+downBias, with the
// weights and biases of one expert.
type ExpertNetwork struct {
	Gate, Up, Down             *tensor.Tensor // [experts, N, K], [experts, N, K] and [experts, K, N], prepared or not
	GateBias, UpBias, DownBias *tensor.Tensor // [experts, N], [experts, N] and [experts, K], F32; nil: no bias
	Activation                 Activation
	Limit                      float32 // of ActivateClamped
}

// ExpertFuser computes a layer's experts in one operation, so that a device can share a quantised activation, sort the pairs once, and
// needs few barriers. It gives what the plain operations give, bit for bit on the CPU.
type ExpertFuser interface {
	// FeedExperts adds to each row of out [rows, K] the outputs of its experts for the row of x [rows, K], as SumExperts adds them. gate
	// and up [rows·k, N] and down [rows·k, K] are scratch memory; their contents are undefined afterwards.
	FeedExperts(x *tensor.Tensor, n *ExpertNetwork, chosen, weights, gate, up, down, out *tensor.Tensor) error
}
