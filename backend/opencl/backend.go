//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

func init() {
	backend.Register("opencl", func(o backend.Options) (backend.Backend, error) {
		b, err := New(Options{Device: o.Device})
		if err != nil {
			return nil, err // not a nil *Backend in an interface
		}
		return b, nil
	})
}

// Backend computes on an OpenCL device. It is safe for concurrent use; operations are queued one after the other.
//
// Its embedded types have the operations of one kind each, and their memory.
type Backend struct {
	*queue
	*vectors
	*selections
	*copies
	*conversions
	*preparation
	*products
	*fused
	*caches
	*attention
	*encoders
	*experts
	*recurrent
}

// New opens a device.
func New(o Options) (*Backend, error) {
	driver, err := cl.Open()
	if err != nil {
		return nil, fmt.Errorf("opencl: %w", err)
	}
	return open(driver, o)
}

// open opens a device of a driver.
func open(driver cl.Driver, o Options) (*Backend, error) {
	device, err := choose(cl.New(driver), o.Device)
	if err != nil {
		return nil, fmt.Errorf("opencl: %w", err)
	}
	context, err := device.NewContext()
	if err != nil {
		return nil, fmt.Errorf("opencl: device %v: %w", device, err)
	}
	b := assemble(newQueue(device, context, o))
	b.foresee()
	if _, err := b.kernel(elementwise, "scale"); err != nil { // a device with a compiler that fails is found out at once
		return nil, errors.Join(err, b.Close())
	}
	dot, err := dotOption(b.queue)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.tuning.dot, b.dot, b.tuning.lastGroup = dot, dot, lastGroupOption(b.device)
	if b.products.matrix, err = matrixWayOf(b.queue); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.tuning.matrices = b.products.matrix != nil
	if b.products.chain.meetings, err = meetingsOf(b.queue, o); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.products.chain.options = dot + lastGroupOption(b.device)
	if b.device.Kind&cl.CPU != 0 { // where only tests have chains: LLVM optimises their kernel for minutes
		b.products.chain.options += " -cl-opt-disable"
	}
	b.queue.programs.Expect(rows, "rms_norm") // every model needs these
	b.queue.programs.Expect(rounding, "round_rows")
	b.queue.programs.Expect(elementwise, "silu_mul")
	return b, nil
}

// foresee lets the programs be compiled that the device is about to be tried with.
func (b *Backend) foresee() {
	b.queue.programs.Expect(elementwise, "scale")
	for _, way := range dotWays {
		if strings.Contains(b.device.Extensions, way.extension) {
			b.queue.programs.Expect(dotProbe(way.option), "probe_dot")
		}
	}
	for i := range matrixWays {
		if strings.Contains(b.device.Extensions, matrixWays[i].extension) {
			b.queue.programs.Expect(matrixWays[i].probe(), "probe_matrix")
		}
	}
	if isNVIDIA(b.device) {
		b.queue.programs.Expect(meetProgram(b.device), "try_meeting")
		b.queue.programs.Expect(meetProgram(b.device), "address_of")
	}
}

// assemble makes a backend of a queue.
func assemble(q *queue) *Backend {
	b := &Backend{
		queue: q, vectors: &vectors{q}, selections: &selections{queue: q, selects: q.device.Kind&cl.CPU == 0}, copies: &copies{q}, preparation: &preparation{queue: q},
	}
	b.encoders = &encoders{b.vectors, map[int]program{}}
	b.recurrent = &recurrent{vectors: b.vectors, programs: map[recurrentShape]program{}}
	b.conversions = &conversions{q, b.copies}
	b.products = &products{queue: q, vectors: b.vectors, conversions: b.conversions, plain: func(op backend.Fused) error { return b.Run(op.Plain()...) }, chain: newChain(q)}
	b.products.matrices = &matrices{queue: q, tuning: &b.products.tuning}
	b.products.substitutes = &substitutes{q, &b.products.tuning, b.products.matrices, map[productVariant]teams{}}
	b.experts = &experts{products: b.products}
	b.preparation.substitutes = b.products.substitutes
	b.tuning.init(q.device, q.context, q.cache)
	w := &waiting{products: b.products, programs: map[storeVariant]*pagedProgram{}}
	b.fused = &fused{b.products, w}
	p := &pages{tables: &tables{queue: q, slabs: registry{}}, launch: launch{most: usualRuns}}
	if isNVIDIA(q.device) {
		p.launch.most = maxRuns
	}
	b.caches = &caches{q, p, w, b.conversions, map[pageShape]*pagePrograms{}}
	b.attention = &attention{queue: q, pages: p, chain: b.products.chain, lastGroup: lastGroupOption(q.device), programs: map[attentionShape]*attentionPrograms{}}
	q.owner, q.settle = b, func() error {
		if b.products.chain.busy {
			return nil
		}
		if err := b.products.chain.settle(); err != nil {
			return err
		}
		return w.settle()
	}
	return b
}

// Fusions lists what kernels compute at once.
func (b *Backend) Fusions() []backend.Fusion {
	return []backend.Fusion{backend.FuseNormMatMul, backend.FuseNormSwiGLU, backend.FuseMatMulAdd, backend.FuseFeedExperts}
}

// Run computes operations. What waits for the device are Largest and those that copy to the host.
func (b *Backend) Run(ops ...backend.Op) error { return backend.Each(ops, b.enqueue) }

// enqueue computes an operation that has been checked.
func (b *Backend) enqueue(op backend.Op) error {
	if done, err := b.vectors.element(op); done {
		return err
	}
	switch o := op.(type) {
	case *backend.MatMulTransposed:
		return b.products.matMulTransposed(o)
	case *backend.MatMulRounded:
		return wholeProducts{b.products}.matMulRounded(o)
	case *backend.NormMatMul:
		return b.fused.normMatMul(o)
	case *backend.NormSwiGLU:
		return b.fused.swiGLUOf(o)
	case *backend.MatMulAdd:
		return b.products.matMulAdd(o)
	case *backend.RoPEStore:
		return b.caches.ropeStore(o)
	case *backend.Attend:
		return b.attention.attendRuns(o)
	case *backend.AccumulateAttention:
		return b.attention.accumulate(o)
	case *backend.RMSNorm:
		return b.vectors.rmsNorm(o)
	case *backend.LayerNorm:
		return b.encoders.layerNorm(o)
	case *backend.Softmax:
		return b.vectors.softmax(o)
	case *backend.RoPE:
		return b.vectors.rope(o)
	case *backend.MatMul:
		return b.vectors.matMul(o)
	case *backend.AttendTexts:
		return b.encoders.attendTexts(o)
	case *backend.Gather:
		return b.conversions.gather(o)
	case *backend.CopySlice:
		return b.copies.copySlice(o)
	case *backend.Cast:
		return b.conversions.cast(o)
	case *backend.Largest:
		return b.selections.top(o)
	case *backend.Mask:
		return b.selections.mask(o)
	case *backend.Compact:
		return b.caches.compact(o)
	case *backend.CopyPage:
		return b.caches.copyPage(o)
	case *backend.ReadSlots:
		return b.caches.moveSlots("ReadSlots", o, false)
	case *backend.WriteSlots:
		return b.caches.moveSlots("WriteSlots", (*backend.ReadSlots)(o), true)
	case *backend.Convolve:
		return b.recurrent.convolve(o)
	case *backend.Recur:
		return b.recurrent.recur(o)
	case *backend.Route:
		return b.experts.route(o)
	case *backend.MatMulExperts:
		return b.experts.matMulExperts(o)
	case *backend.AddExpertBias:
		return b.experts.addExpertBias(o)
	case *backend.SumExperts:
		return b.experts.sumExperts(o)
	case *backend.FeedExperts:
		return b.experts.feed(o)
	case backend.Fused:
		return b.Run(o.Plain()...)
	}
	return b.opOnHost(op)
}

// Name returns "opencl".
func (b *Backend) Name() string { return "opencl" }

// Describe names the device.
func (b *Backend) Describe() string {
	return fmt.Sprintf("%v, %s, %d compute units, %d MiB", b.device, b.device.Version, b.device.Units, b.device.GlobalBytes>>20)
}

// BitExact reports whether the device computes as the kernels need it for the portable reference's bits: with floats below the
// normal range, and with divisions and square roots that are rounded correctly. Both are optional in OpenCL.
func (b *Backend) BitExact() bool { return b.device.Rounds && b.device.Denormals }

// MemoryBytes returns the device's memory, and 0 for a device that computes in the host's.
func (b *Backend) MemoryBytes() int64 { return b.total }

// PassRows returns how many rows of prompts and of answers a pass computes best: with instructions for matrices many, as far as the device
// has memory for their activations: a row takes some hundred KiB.
func (b *Backend) PassRows() (prompts, answers int) {
	if b.products.matrix == nil {
		return 0, 0
	}
	const bytesPerRow = 16 << 20 // of the device's memory
	return int(min(max(b.device.GlobalBytes/bytesPerRow, 256), 2048)), 128
}

// Memory allocates on the device and counts.
func (b *Backend) Memory() tensor.Memory { return memory{b.queue} }

// ScratchBytes returns the host's memory that operations without a kernel have taken to work in, in bytes, and keep for the next ones.
func (b *Backend) ScratchBytes() int64 { return b.host.ScratchBytes() }

// Synchronize waits until everything submitted is done.
func (b *Backend) Synchronize() error { return b.synchronize() }

// Close waits for the device and gives everything but the tensors' memory up. It is idempotent.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.fused.waiting.forget() // which nobody sees any more
	b.products.chain.release()
	if m := b.products.chain.meetings; m != nil {
		m.release()
	}
	err := b.close()
	b.caches.pages.tables.release()
	return err
}
