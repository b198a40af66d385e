// Package backend is the contract between a model and the device that computes it. Programs use it to choose a device by name (Open) and
// to give it options; who writes a backend implements it.
//
// A Backend offers the operations of a Llama: products with weights, normalisation, rotary positions, attention, and the
// movement of data. This package computes nothing. It says what the operations are, checks their operands for those who compute
// them, and keeps the list of backends. Faster or fused forms are the optional interfaces Preparer, Fuser, Projector,
// ExpertFuser and Selector; callers obtain them through Prepare, Fused, Projecting, FusedExperts and Selecting, which fall back on the
// plain operations. Converter saves who loads a file a copy, and needs no such function. A Warmer wants to compute something before
// anyone waits.
//
// Package host has every operation over any memory that the host can map, so a new device embeds host.Base, is right from the
// first day, and gets faster one operation at a time. Package backendtest has the suite that a backend must pass, and says how
// to write one.
//
// Tensors named x, a, q are activations of type F32 unless said otherwise. Every operation checks shapes and types first,
// returns an error that names both, and writes nothing outside its output. Operations may be called from several goroutines
// as long as their outputs differ.
//
// Backends register themselves by name, as database drivers do; Open makes one.
package backend

import (
	"context"
	"errors"

	"github.com/antigravity-go/antigravity/tensor"
)

// ErrUnsupported is wrapped by errors about something valid that a backend does not offer.
var ErrUnsupported = errors.New("not supported by this backend")

// Backend computes on one device.
type Backend interface {
	tensor.Device // Name, Memory, CopyFrom
	Pager         // operations on keys and values that are cached in pages
	Experts       // what mixtures of experts need
	Recurrent     // operations on the states of recurrent layers

	// Describe says for a person what the device is, such as the processor's name and the kernels in use.
	Describe() string

	// MatMul computes out = a·b for a [M, K], b [K, N] of type F32 and out [M, N].
	MatMul(a, b, out *tensor.Tensor) error
	// MatMulTransposed computes out = a·wᵀ for a [M, K], weights w [N, K] of any type, prepared or not, and out [M, N].
	MatMulTransposed(a, w, out *tensor.Tensor) error

	// AddAssign computes a += b, element by element; b has a's shape, or is one row that is added to each row of a.
	AddAssign(a, b *tensor.Tensor) error
	// Scale computes x *= v.
	Scale(x *tensor.Tensor, v float32) error
	// MulAssign computes a *= b, element by element; b has a's shape, or is one row by which each row of a is multiplied.
	MulAssign(a, b *tensor.Tensor) error
	// SiLUMul computes a = silu(a)·b, silu(x) = x/(1+e⁻ˣ). A b that is nil counts as ones.
	SiLUMul(a, b *tensor.Tensor) error
	// SigmoidMul computes a = σ(a)·b, σ(x) = 1/(1+e⁻ˣ). A b that is nil counts as ones.
	SigmoidMul(a, b *tensor.Tensor) error
	// Softplus computes a = ln(1+e^(a+bias)); bias is one row that is added to each row of a, or nil, which adds nothing.
	Softplus(a, bias *tensor.Tensor) error
	// GELUMul computes a = gelu(a)·b, in the form with a hyperbolic tangent: gelu(x) = x/(1+e^(−2u)), u = √(2/π)·(x+0.044715x³).
	GELUMul(a, b *tensor.Tensor) error
	// GELUErf computes a = gelu(a)·b, in the form with the error function: gelu(x) = x/2·(1+erf(x/√2)). A b that is nil counts as ones.
	GELUErf(a, b *tensor.Tensor) error
	// LayerNorm replaces each row of x [.., dim] by (x−mean(x))/√(mean((x−mean(x))²)+eps)·w + b, w and b [dim] (arXiv 1607.06450). A b that
	// is nil adds nothing.
	LayerNorm(x, w, b *tensor.Tensor, eps float32) error
	// Softcap replaces each x by limit·tanh(x/limit), which lies between −limit and limit; limit is above 0.
	Softcap(x *tensor.Tensor, limit float32) error
	// RMSNorm replaces each row of x [.., dim] by x/√(mean(x²)+eps)·w, w [dim] (arXiv 1910.07467).
	RMSNorm(x, w *tensor.Tensor, eps float32) error
	// Softmax replaces each row of x by its softmax.
	Softmax(x *tensor.Tensor) error
	// RoPE rotates each head of x [tokens, heads, headDim] by the angles of its token. A row of table [tokens, headDim] has their cosines,
	// then their sines (arXiv 2104.09864; element i pairs with i+headDim/2).
	RoPE(x, table *tensor.Tensor) error

	// AttendTexts lets the rows of each of some texts attend to all rows of the same text, earlier and later ones, heads/kvHeads query
	// heads sharing each KV head: out = softmax(q·kᵀ/√headDim)·v, for q and out [rows, heads, headDim], k and v [rows, kvHeads, headDim].
	// The texts' rows lie one after the other; texts has how many rows each has. reach, if it is not 0, limits how far a row sees: to the
	// reach rows before its own and the reach rows after it.
	AttendTexts(q, k, v, out *tensor.Tensor, texts []int, reach int) error

	// Gather copies row indices[i] of table [rows, dim], of any weight type, to row i of out [len(indices), dim] as F32.
	Gather(table *tensor.Tensor, indices []int32, out *tensor.Tensor) error
	// CopySlice copies n elements from src, beginning with element srcOff, to dst at dstOff; both have one type, and offsets
	// and n are whole blocks. Regions of one buffer may overlap, as memmove's may.
	CopySlice(src, dst *tensor.Tensor, srcOff, dstOff, n int) error
	// ReadBuffer waits for t and copies its bytes to the host; len(dst) is t's size.
	ReadBuffer(t *tensor.Tensor, dst []byte) error
	// Cast converts src to dst's type, element by element, quantising if that is a quantised type.
	Cast(src, dst *tensor.Tensor) error
	// Synchronize waits until everything submitted is done.
	Synchronize() error

	// Close releases the device's own resources: threads, contexts. Tensors must not be used afterwards.
	Close() error
}

// Preparer is a backend that wants weights in a layout of its own.
type Preparer interface {
	// Prepare returns the weights w [N, K] as the backend wants them for MatMulTransposed and Gather, or w [experts, N, K] as it wants them
	// for MatMulExperts. The result may be w itself; if it is not, w is no longer needed. A large table may take seconds: the context is looked at every few
	// megabytes, and when it has ended, the error wraps the context's and nothing stays allocated.
	Prepare(ctx context.Context, w *tensor.Tensor) (*tensor.Tensor, error)
}

// Converter is a Preparer that takes weights as files have them, and so needs no converted copy of a whole table.
type Converter interface {
	Preparer
	// PrepareAs is Prepare for weights w [N, K] or [experts, N, K], converted to type d as Cast converts them, and in another order of
	// rows: row i of the result, counted over all experts, is row order(i) of w. A nil order changes nothing. order may be called from
	// several goroutines at once.
	PrepareAs(ctx context.Context, w *tensor.Tensor, d tensor.DType, order func(row int) int) (*tensor.Tensor, error)
}

// Fuser offers the phases of a transformer layer as single operations, so that a device can share a quantised activation among products and
// needs few barriers. Each gives what the plain operations give, bit for bit on the CPU. The caller lends scratch tensors. Their contents
// are undefined afterwards.
type Fuser interface {
	// NormMatMul computes outs[i] = n·ws[i]ᵀ with n = rmsnorm(x, norm), for x [M, K], which is left as it is; the scratch is
	// normed [M, K]. A norm that is nil normalises nothing.
	NormMatMul(x, norm *tensor.Tensor, eps float32, normed *tensor.Tensor, ws, outs []*tensor.Tensor) error
	// MatMulAdd computes out += x·wᵀ; the scratch is product, of out's shape.
	MatMulAdd(x, w, product, out *tensor.Tensor) error
	// NormSwiGLU computes out = silu(n·gateᵀ)·(n·upᵀ) with n = rmsnorm(x, norm), for x [M, K], which is left as it is; the
	// scratch is normed [M, K] and product, of out's shape.
	NormSwiGLU(x, norm *tensor.Tensor, eps float32, normed, gate, up, product, out *tensor.Tensor) error
}

// Linear is a linear map x ↦ x·Weightᵀ + Bias, Weight [N, K] and Bias [N]. A Bias that is nil adds nothing.
type Linear struct{ Weight, Bias *tensor.Tensor }

// LayerNorm is what the operation of the same name normalises rows by. A Weight that is nil normalises nothing.
type LayerNorm struct {
	Weight, Bias *tensor.Tensor // [dim]; a nil Bias adds nothing
	Eps          float32
}

// Projector offers the phases of an encoder's layer as single operations, as Fuser does those of a decoder's. Each gives what the plain
// operations give, bit for bit.
type Projector interface {
	// Project computes outs[i] = n·maps[i].Weightᵀ + maps[i].Bias with n = layernorm(x), for x [M, K]. n is kept in normed [M, K], which may be x,
	// unless the norm has no weight: then n is x, and normed is not touched. If gelu is set, there are one or two maps, two of one shape, and
	// then outs[0] = gelu(outs[0])·outs[1], in the form of GELUErf; an outs[1] that is not there counts as ones.
	Project(x *tensor.Tensor, norm LayerNorm, normed *tensor.Tensor, maps []Linear, outs []*tensor.Tensor, gelu bool) error
	// ProjectAdd computes out = (out + x·to.Weightᵀ) + to.Bias; the scratch is product, of out's shape.
	ProjectAdd(x *tensor.Tensor, to Linear, product, out *tensor.Tensor) error
}

// Exact is a backend that can report whether its results have the bits of the portable reference, host.Reference. All such backends give
// the same results.
type Exact interface {
	BitExact() bool
}

// Sized is a backend on which passes of other numbers of rows are fastest than on a processor.
type Sized interface {
	// PassRows returns how many rows of prompts, and how many rows of answers, a pass computes best; 0: it does not know.
	PassRows() (prompts, answers int)
}

// Selector finds the largest elements of rows on the device, so that logits need not travel to the host and back.
type Selector interface {
	// Largest finds the k largest elements of each row of x [rows, n], of type F32, for k = len(indices)/rows: values[r·k+i] is the i-th
	// largest of row r and indices[r·k+i] its index in the row. Equal ones come in the order of their indices, and NaN counts as larger
	// than everything. The sign of a 0 and the bits of a NaN may be lost. It waits for the result.
	Largest(x *tensor.Tensor, indices []int32, values []float32) error
	// Mask writes -Inf to the elements of x [rows, n], of type F32, that are not allowed: element i of row r is allowed where bit i%64 of
	// allowed[r·⌈n/64⌉+i/64] is 1. There are as many words as the rows take; what the last one of a row has beyond n bits is not looked
	// at. allowed may be changed as soon as Mask has returned.
	Mask(x *tensor.Tensor, allowed []uint64) error
}
