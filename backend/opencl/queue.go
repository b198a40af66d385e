//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/tensor"
)

// queue is a device with the one queue that all operations share, and what they share to fill it: programs, memory to work in, the way to
// and from the host. Each kind of operation is a type of its own around it: vectors, products, attention, caches and so on. They take the
// lock, find their operands, pass them to a kernel and call enqueued; what no kernel takes goes to onHost.
//
// For example, Scale of 1000 elements:
//
//	mu.Lock, operand(x)          if the operand cannot be used now: unlock, and onHost maps the buffer for host.Scale
//	kernel(elementwise, "scale") compiled at the first call; settle enqueues what waits
//	runFlat(…, 1000)             8 groups of 128 work-items
//	enqueued                     counts the command, and flushes after each 16
//	mu.Unlock                    nobody waits for the device
type queue struct {
	device   *cl.Device
	context  *cl.Context
	owner    tensor.Device // the Backend, for tensors that are made
	host     *host.Base    // computes operations without a kernel on mapped buffers
	maxAlloc int64         // bytes of the largest buffer
	total    int64         // bytes of the device's memory; 0: it is the host's
	used     atomic.Int64  // bytes in use
	cache    *compiler.Cache

	portable sync.Mutex             // an operation of host is using mapped buffers; locked before mu
	fellBack func(operation string) // if a test wants to know of operations that onHost computes; portable guards it

	mu       sync.Mutex // guards what follows, the kernels' arguments, and who has the buffers: the device or the host
	closed   bool
	programs *compiler.Compiler
	staging  staging
	scratch  scratch
	pending  int          // kernels enqueued since the last flush
	commands int          // how many were enqueued: what holds until the next command notes this number
	settle   func() error // enqueues what fused has held back, before anything else is enqueued
}

// newQueue makes a device's queue. Its user sets owner and settle.
func newQueue(device *cl.Device, context *cl.Context, o Options) *queue {
	q := &queue{device: device, context: context, host: host.NewBase(asm.Best(), nil), maxAlloc: device.MaxAlloc}
	if o.maxAlloc > 0 {
		q.maxAlloc = o.maxAlloc
	}
	if q.total = o.memory; q.total == 0 && device.Kind&cl.CPU == 0 {
		q.total = device.GlobalBytes
	}
	context.Before = func() error {
		q.commands++
		return q.settle()
	}
	q.cache = compiler.NewCache(cacheFolder(o.Cache, device), device)
	q.programs = compiler.New(device, context, sourcesOf(o), q.cache)
	return q
}

// lockOpen takes the lock; on a queue that has been closed it does not, and returns an error that names the operation.
func (q *queue) lockOpen(what string) error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return fmt.Errorf("opencl: %s: %w", what, ErrClosed)
	}
	return nil
}

// synchronize waits until everything enqueued is done.
func (q *queue) synchronize() error {
	if err := q.lockOpen("synchronize"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	q.pending = 0
	return q.fail("synchronize", q.context.Finish())
}

// close waits for the device and gives everything but the tensors' memory up. The caller holds the lock.
func (q *queue) close() error {
	q.closed = true
	err := q.context.Finish()
	if err == nil { // else the device may still be reading there
		q.staging.release()
	}
	q.scratch.release()
	q.programs.Release()
	q.context.Release()
	return q.fail("close", err)
}

// fail adds to an error what failed, and where.
func (q *queue) fail(what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, cl.MemAllocationFailure) { // of any command: some drivers take memory when it is used first
		err = fmt.Errorf("%w: %w", tensor.ErrNoMemory, err)
	}
	return fmt.Errorf("opencl: %s on %v: %w", what, q.device, err)
}

// onHost computes an operation of a name with the portable reference, because no kernel takes its operands. One at a time: it maps buffers, and
// another must not unmap them. The caller does not hold the lock.
func (q *queue) onHost(name string, operation func() error) (err error) {
	q.portable.Lock()
	defer q.portable.Unlock()
	if err := q.lockOpen("an operation on the host"); err != nil {
		return err
	}
	q.mu.Unlock()
	if q.fellBack != nil {
		q.fellBack(name)
	}
	defer mmap.Catch(&err)() // operands may be a mapped file that was cut short
	return operation()
}

// opOnHost computes an operation, which has been checked, with the portable reference: see onHost.
func (q *queue) opOnHost(op backend.Op) error {
	return q.onHost(backend.NameOf(op), func() error { return q.host.Compute(op) })
}

// kernel returns a kernel, ready for its arguments. The caller holds the lock and the kernel is its own until it gives that up.
func (q *queue) kernel(p program, name string) (*cl.Kernel, error) {
	if q.closed {
		return nil, fmt.Errorf("opencl: %s: %w", name, ErrClosed)
	}
	if err := q.settle(); err != nil {
		return nil, err
	}
	k, err := q.programs.Kernel(p, name)
	if err != nil {
		return nil, q.fail("compile "+name, err)
	}
	return k.Begin(), nil
}

// ready reports whether a kernel can be had at once; if not, it is compiled while the device computes in another way, with the same bits. The caller
// holds the lock.
func (q *queue) ready(p program, name string) bool { return q.programs.Ready(p, name) }

// run enqueues a kernel for x × y × z groups of a size.
func (q *queue) run(what string, k *cl.Kernel, size, x, y, z int) error {
	return q.enqueued(what, k.Run([3]int{x, y, z}, [3]int{size, 1, 1}))
}

// runFlat enqueues a kernel on n work-items.
func (q *queue) runFlat(what string, k *cl.Kernel, n int) error {
	return q.run(what, k, groupSize, groups(n, groupSize), 1, 1)
}

// groups returns how many groups of a size n work-items are.
func groups(n, size int) int { return (n + size - 1) / size }

// flushEvery is how many kernels are enqueued before a flush, if the device waits for one.
const flushEvery = 16

// enqueued counts a command and passes on the error of enqueuing it.
func (q *queue) enqueued(what string, err error) error {
	q.commands++
	if err != nil {
		return q.fail(what, err)
	}
	if q.pending++; q.pending < flushEvery {
		return nil
	}
	q.pending = 0
	return q.fail(what, q.context.Flush())
}

// send enqueues a copy of bytes, which may be changed as soon as it returns.
func (q *queue) send(what string, m *cl.Mem, off int, bytes []byte) error {
	return q.enqueued(what, q.staging.write(q.context, m, off, bytes))
}

// upload enqueues a copy of a list to scratch memory.
func (q *queue) upload(list []int32) (*cl.Mem, error) {
	if q.closed {
		return nil, ErrClosed
	}
	mem, err := q.scratchOf(indexScratch, 4*len(list))
	if err != nil {
		return mem, err
	}
	return mem, q.send("send a list", mem, 0, intBytes(list))
}

// intBytes views numbers as bytes.
func intBytes(x []int32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// padding rounds buffers up, so that kernels may load whole pieces.
const padding = 64

// alloc allocates without clearing; with host the memory should be such as the host can map. The caller holds the lock.
func (q *queue) alloc(size int, host bool) (*cl.Mem, error) {
	if q.closed {
		return nil, fmt.Errorf("opencl: allocate %d bytes: %w", size, ErrClosed)
	}
	size = max(size+padding-1, padding) / padding * padding
	if has, uses := q.total, q.used.Load(); has > 0 && int64(size) > has-uses { // a driver may notice only when the memory is used
		return nil, q.fail(fmt.Sprintf("allocate %d bytes in addition to %d in use of %d", size, uses, has), tensor.ErrNoMemory)
	}
	mem, err := q.context.NewBuffer(size, host, func() { q.used.Add(-int64(size)) })
	if err != nil {
		if errors.Is(err, cl.OutOfResources) || errors.Is(err, cl.OutOfHostMemory) {
			err = fmt.Errorf("%w: %w", tensor.ErrNoMemory, err)
		}
		return nil, q.fail(fmt.Sprintf("allocate %d bytes beside %d in use of %d", size, q.used.Load(), q.device.GlobalBytes), err)
	}
	q.used.Add(int64(size))
	return mem, nil
}

// scratchOf returns scratch memory of at least size bytes.
func (q *queue) scratchOf(which, size int) (*cl.Mem, error) {
	old := q.scratch[which]
	if old != nil && old.Size() >= size {
		return old, nil
	}
	m, err := q.alloc(size+size/4, false) // contexts grow a token at a time
	if err != nil {
		return nil, err
	}
	if old != nil {
		old.Release() // commands that use it still end
	}
	q.scratch[which] = m
	return m, nil
}

// counts returns n counts, which are 0, for kernels that leave them so.
func (q *queue) counts(n int) (*cl.Mem, error) {
	old := q.scratch[countScratch]
	m, err := q.scratchOf(countScratch, 4*n)
	if err != nil || m == old {
		return m, err
	}
	return m, q.enqueued("clear counts", q.context.Fill(m, 0, m.Size()))
}
