package backend

import "github.com/antigravity-go/antigravity/tensor"

// StateColumns is how many columns of a state lie together: see StateShape. Columns do not depend on each other, so that cutting a state
// into blocks of columns changes no bit.
const StateColumns = 16

// Stretch is some neighbouring rows of a step that belong to one conversation, oldest first, and what the layer remembers of that
// conversation before them. In the tensors of a step the rows of the stretches lie one after the other.
type Stretch struct {
	// State is what the operation reads before the first of the rows and has written after the last one, on the device: Convolve and
	// Recur say its shape. No two stretches of one call have the same state. Zeros are the state of an empty conversation.
	State *tensor.Tensor
	Rows  int // at least 1
}

// Recurrent is the operations that remember something of a conversation's earlier rows, in memory of a fixed size. How many rows a
// call has, and which conversations besides, changes no bit of the results and the states.
type Recurrent interface {
	// Convolve computes the causal convolution of each channel: out[t] = b + Σ w[j]·x[t−(width−1)+j] for j = 0 … width−1, for x and out
	// [rows, channels], w [width, channels] with width ≥ 2, and b [channels]. A b that is nil adds nothing. The sum begins with b and takes the
	// oldest input first, each by FMA. out may be x.
	//
	// A stretch's State is [width−1, channels]: the inputs before the stretch's first row, the oldest first. Afterwards these are the
	// inputs before the row that follows.
	Convolve(x, w, b, out *tensor.Tensor, of []Stretch) error

	// Recur passes the rows of each stretch through a state of its own, a matrix S [dk, dv] for each head:
	//
	//	S ← e^g·S;  u = β·(v − Sᵀk), or β·v without delta;  S ← S + k·uᵀ;  out = Sᵀq
	//
	// With delta this is the gated delta rule (arXiv 2412.06464), without it the state space of Mamba 2 (arXiv 2405.21060), with k for its
	// B, q for C, v for x, beta for dt, and g for −rate·dt. The tensors are q and k [rows, keyHeads, dk], v and out [rows, heads, dv], g
	// and beta [rows, heads]; heads is a multiple of keyHeads, and head h has the q and k of key head h/(heads/keyHeads). out may be v.
	//
	// Each column j of S is computed by itself, as follows; sums are four, of the terms with i mod 4 = 0, 1, 2 and 3, each in the order of i
	// by FMA from 0, which are then added as (0+2) + (1+3):
	//
	//	m = Σᵢ S[i][j]·k[i];  u = β·fma(−eᵍ, m, v[j]), or β·v[j];  S[i][j] = fma(k[i], u, eᵍ·S[i][j]);  out[j] = Σᵢ S[i][j]·q[i]
	//
	// A stretch's State has the shape that StateShape returns: element S[i][j] of head h is [h, j/16, i, j%16]. Columns from dv on are
	// undefined, and must be finite.
	Recur(q, k, v, g, beta, out *tensor.Tensor, delta bool, of []Stretch) error
}

// StateShape returns the shape of Recur's State: [heads, ⌈dv/16⌉, dk, 16]. A head's columns lie in blocks of 16, so that one of them
// stays in a processor's nearest memory while the rows of a stretch pass through it.
func StateShape(heads, dk, dv int) tensor.Shape {
	return tensor.ShapeOf(heads, (dv+StateColumns-1)/StateColumns, dk, StateColumns)
}
