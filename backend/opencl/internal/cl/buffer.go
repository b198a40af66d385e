//go:build opencl && (amd64 || arm64)

package cl

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Mem is a buffer of a context. It is released by Release or, at the latest, when it becomes unreachable; kernels keep the
// buffers of their last call reachable, and OpenCL keeps what commands use.
type Mem struct {
	handle uintptr
	size   int

	// Address is the buffer's address on the device, once somebody has asked a kernel for it; 0 before.
	Address uint64

	*release
}

// release is what a cleanup needs to give a buffer up exactly once; it must not refer to its Mem.
type release struct {
	context  *Context
	handle   uintptr
	done     atomic.Bool
	released func()
}

// NewBuffer allocates; with host the driver is asked for memory that the host can map without a copy. When the buffer is
// given up, released is called.
func (c *Context) NewBuffer(size int, host bool, released func()) (*Mem, error) {
	flags := uintptr(1) // CL_MEM_READ_WRITE
	if host {
		flags |= 1 << 4 // CL_MEM_ALLOC_HOST_PTR
	}
	var code int32
	handle := c.api.call(CreateBuffer, c.context, flags, uintptr(size), 0, uintptr(unsafe.Pointer(&code)))
	handle, err := made(CreateBuffer, handle, code)
	if err != nil {
		return nil, err
	}
	c.holders.Add(1)
	r := &release{context: c, handle: handle, released: released}
	m := &Mem{handle: handle, size: size, release: r}
	runtime.AddCleanup(m, func(r *release) { r.Release() }, r)
	return m, nil
}

// Size returns the bytes.
func (m *Mem) Size() int { return m.size }

// Released reports whether the buffer has been given up.
func (r *release) Released() bool { return r.done.Load() }

// Release gives the buffer up; commands that use it still end. A second call does nothing.
func (r *release) Release() error {
	if r.done.Swap(true) {
		return nil
	}
	r.released()
	if r.context.Unseen.Swap(false) {
		r.context.api.status(Finish, r.context.queue) // what fails is said where somebody waits for a result
	}
	err := r.context.api.status(ReleaseMemObject, r.handle)
	r.context.drop()
	return err
}

// Fill enqueues setting size bytes from off to zero; both are multiples of 4.
func (c *Context) Fill(m *Mem, off, size int) error {
	defer runtime.KeepAlive(m)
	if err := c.before(); err != nil {
		return err
	}
	var zero uint32
	return c.api.status(EnqueueFillBuffer, c.queue, m.handle, uintptr(unsafe.Pointer(&zero)), 4,
		uintptr(off), uintptr(size), 0, 0, 0)
}

// Copy enqueues a copy; the regions must not overlap.
func (c *Context) Copy(src, dst *Mem, srcOff, dstOff, size int) error {
	defer runtime.KeepAlive(src)
	defer runtime.KeepAlive(dst)
	if err := c.before(); err != nil {
		return err
	}
	return c.api.status(EnqueueCopyBuffer, c.queue, src.handle, dst.handle, uintptr(srcOff), uintptr(dstOff),
		uintptr(size), 0, 0, 0)
}

// Read waits for everything enqueued and copies to the host, to memory that cannot fault.
func (c *Context) Read(m *Mem, off int, dst []byte) error {
	if len(dst) == 0 {
		return nil
	}
	if err := c.Peek(m, off, dst); err != nil {
		return err
	}
	return c.after(nil)
}

// Peek is Read without After: for bytes that show by themselves whether they hold.
func (c *Context) Peek(m *Mem, off int, dst []byte) error {
	defer runtime.KeepAlive(m)
	if err := c.before(); err != nil {
		return err
	}
	return c.api.status(EnqueueReadBuffer, c.queue, m.handle, 1, uintptr(off), uintptr(len(dst)),
		uintptr(unsafe.Pointer(&dst[0])), 0, 0, 0)
}

// Write enqueues a copy from src, which lies outside the Go heap and must not change until the event is over. It must be memory
// that cannot fault: a driver that touches a page of a file that was cut short ends the process.
func (c *Context) Write(m *Mem, off int, src []byte) (Event, error) {
	defer runtime.KeepAlive(m)
	if len(src) == 0 {
		return Event{}, nil
	}
	if err := c.before(); err != nil {
		return Event{}, err
	}
	e := Event{api: c.api}
	err := c.api.status(EnqueueWriteBuffer, c.queue, m.handle, 0, uintptr(off), uintptr(len(src)),
		uintptr(unsafe.Pointer(&src[0])), 0, 0, uintptr(unsafe.Pointer(&e.handle)))
	if err != nil {
		return Event{}, err
	}
	return e, nil
}

// Map waits for everything enqueued and makes a buffer's bytes visible to the host, for reading and writing.
func (c *Context) Map(m *Mem, size int) ([]byte, error) {
	defer runtime.KeepAlive(m)
	if err := c.before(); err != nil {
		return nil, err
	}
	var code int32
	address := c.api.call(EnqueueMapBuffer, c.queue, m.handle, 1, 3, 0, uintptr(size), 0, 0, 0, uintptr(unsafe.Pointer(&code)))
	address, err := made(EnqueueMapBuffer, address, code)
	if err := c.after(err); err != nil {
		return nil, err
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size), nil // the driver's memory, which Go does not move
}

// Unmap gives mapped bytes back to the device.
func (c *Context) Unmap(m *Mem, bytes []byte) error {
	defer runtime.KeepAlive(m)
	if len(bytes) == 0 {
		return fmt.Errorf("unmap of no bytes")
	}
	if err := c.before(); err != nil {
		return err
	}
	return c.api.status(EnqueueUnmapMemObject, c.queue, m.handle, uintptr(unsafe.Pointer(&bytes[0])), 0, 0, 0)
}
