// Package backend is the contract between a model and the device that computes it. Programs use it to choose a device by name (Open) and
// to give it options; who writes a backend implements it.
//
// An operation is a value (op.go): a struct with its operands and a Check, such as RMSNorm or Attend. A Backend runs lists of them, programs:
//
//	b.Run(
//		&backend.RMSNorm{X: x, W: norm, Eps: 1e-5, Out: normed},
//		&backend.MatMulTransposed{X: normed, W: q, Out: queries},
//		&backend.MatMulTransposed{X: normed, W: k, Out: keys},
//	)
//
// This package computes nothing. It has the operations and their checks, and the list of backends. The operations are elements and norms
// (elements.go), products (products.go), experts.go, attention.go and slots.go on cached keys and values, recurrent.go, movement.go and selection.go.
//
// Fusion is a pass over a program (fuse.go). Who writes a program writes plain operations; each backend lists the patterns that it computes faster as
// one operation (fused.go), and Fuse replaces them. Here NormMatMul stands for all three, on a backend that lists FuseNormMatMul. A fused operation
// knows the plain ones that it stands for, so that every backend can run it. Operations that a backend alone has are possible: they are values, too.
//
// The other interfaces of this package, Preparer, Converter, Exact, Limited, Sized and Warmer, are optional; Prepare, BitExact, Room, PassRows and Warm ask
// for them.
//
// Package host has every operation over any memory that the host can map, so a new device embeds host.Base, is right from the
// first day, and gets faster one operation at a time. Package backendtest has the suite that a backend must pass, and says how
// to write one.
//
// Tensors named X, A, Q are activations of type F32 unless said otherwise. Each checks shapes and types first, for all backends, and returns an
// error that names both; nothing is written outside an operation's output. Run may be called from several goroutines as long as outputs differ.
// An operation that is run again and again is made once, and allocates nothing; a Call is one with operands that change.
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

	// Describe says for a person what the device is, such as the processor's name and the kernels in use.
	Describe() string

	// Run computes operations one after the other. It returns the first error; the operations after it are not computed. A device may compute
	// later, and return an error then.
	Run(ops ...Op) error
	// Fusions lists the patterns that the backend computes faster as one operation.
	Fusions() []Fusion

	// SlabPages returns how many pages the next slab should have, when the slabs of the same type have `pages` in all.
	SlabPages(pages int) int
	// ReadBuffer waits for t and copies its bytes to the host; len(dst) is t's size.
	ReadBuffer(t *tensor.Tensor, dst []byte) error
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

// Exact is a backend that can report whether its results have the bits of the portable reference, host.Reference. All such backends give
// the same results.
type Exact interface {
	BitExact() bool
}

// Limited is a backend with memory that ends, as a graphics card's does.
type Limited interface {
	// MemoryBytes returns how many bytes the memory has in all; 0: it does not end before the host's.
	MemoryBytes() int64
}

// Sized is a backend on which passes of other numbers of rows are fastest than on a processor.
type Sized interface {
	// PassRows returns how many rows of prompts, and how many rows of answers, a pass computes best; 0: it does not know.
	PassRows() (prompts, answers int)
}
