//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"sync"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/host"
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

// ErrClosed is wrapped by the errors of a backend that has been closed.
var ErrClosed = errors.New("the backend is closed")

// Options configure a backend; the zero value is good.
type Options struct {
	// Device is the number of a device as Devices lists them, or a part of its name or its platform's name. "": what the
	// environment says, or else the first, which is a GPU where there is one.
	Device string
	// Kernels is a folder whose .cl files replace the embedded ones; "": what the environment says, or none.
	Kernels string
	// Cache is the folder for compiled kernels; "": what the environment says, or a folder of the user's, but none for pocl, which keeps a cache
	// itself; "off": none.
	Cache string

	maxAlloc int64 // pretends that the device has no larger buffers; 0: as it says
}

// Backend computes on an OpenCL device. It is safe for concurrent use; operations are queued one after the other.
type Backend struct {
	*host.Base // what has no kernel, on mapped buffers
	device     *cl.Device
	context    *cl.Context
	memory     Memory
	maxAlloc   int64  // bytes of the largest buffer
	selects    bool   // selections run on the device
	lastGroup  string // the option for kernels whose last group goes on with what the others have left; "": there are none

	composed backend.Fuser // fused operations for operands that no kernel takes

	portable sync.Mutex // an operation of Base is using mapped buffers; locked before mu

	mu       sync.Mutex // guards what follows, the kernels' arguments, and who has the buffers: the device or the host
	closed   bool
	programs programs
	staging  staging
	scratch  [scratches]*cl.Mem
	tables   tables
	slabs    map[pageShape]*slabs
	slabMems slabMem  // what findSlabs has found
	launch   launch   // that is being made
	selected []uint64 // keys that a selection has read
	pending  int      // kernels enqueued since the last flush
	tuning   tuning
	waiting  waitingProduct
	fresh    freshlyRounded // mem is nil where the latest command has left nothing
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
	b := &Backend{Base: host.NewBase(asm.Best(), nil), device: device, context: context, maxAlloc: device.MaxAlloc, selects: device.Kind&cl.CPU == 0}
	if o.maxAlloc > 0 {
		b.maxAlloc = o.maxAlloc
	}
	b.composed = backend.Composed(b)
	b.memory.backend = b
	context.Before = func() error {
		b.fresh.mem = nil
		return b.settle()
	}
	b.slabs = map[pageShape]*slabs{}
	b.programs.init(device, context, o)
	b.tuning.init(device, &b.programs.cache)
	b.lastGroup = lastGroupOption(device)
	if _, err := b.kernel(elementwise, "scale"); err != nil { // a device whose compiler fails is told of at once
		return nil, errors.Join(err, b.Close())
	}
	if b.tuning.dot, err = b.dotOption(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Name returns "opencl".
func (b *Backend) Name() string { return "opencl" }

// Describe names the device.
func (b *Backend) Describe() string {
	return fmt.Sprintf("%v, %s, %d compute units, %d MiB", b.device, b.device.Version, b.device.Units, b.device.GlobalBytes>>20)
}

// BitExact tells whether the device computes as the kernels need it for the portable reference's bits: with floats below the
// normal range, and with divisions and square roots that are rounded correctly. Both are optional in OpenCL.
func (b *Backend) BitExact() bool { return b.device.Rounds && b.device.Denormals }

// Memory allocates on the device and counts.
func (b *Backend) Memory() tensor.Memory { return &b.memory }

// Synchronize waits until everything submitted is done.
func (b *Backend) Synchronize() error {
	if err := b.lockOpen("synchronize"); err != nil {
		return err
	}
	defer b.mu.Unlock()
	b.pending = 0
	return b.fail("synchronize", b.context.Finish())
}

// lockOpen takes the lock; on a backend that has been closed it does not, and says what cannot be done.
func (b *Backend) lockOpen(what string) error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return fmt.Errorf("opencl: %s: %w", what, ErrClosed)
	}
	return nil
}

// Close waits for the device and gives everything but the tensors' memory up. It is idempotent.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	b.waiting = waitingProduct{} // which nobody sees any more
	err := b.context.Finish()
	if err == nil { // else the device may still be reading there
		b.staging.release()
	}
	for i, m := range b.scratch {
		if m != nil {
			m.Release()
			b.scratch[i] = nil
		}
	}
	if b.tables.mem != nil {
		b.tables.mem.Release()
		b.tables.mem = nil
	}
	b.programs.release()
	b.context.Release()
	return b.fail("close", err)
}

// fail adds to an error what failed, and where.
func (b *Backend) fail(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("opencl: %s on %v: %w", what, b.device, err)
}

// flushEvery is how many kernels are enqueued before the device is told to begin, if it waits to be told.
const flushEvery = 16

// enqueued counts what was enqueued and passes an error of it on.
func (b *Backend) enqueued(what string, err error) error {
	b.fresh.mem = nil
	if err != nil {
		return b.fail(what, err)
	}
	if b.pending++; b.pending < flushEvery {
		return nil
	}
	b.pending = 0
	return b.fail(what, b.context.Flush())
}
