//go:build opencl && (amd64 || arm64)

package cl

import (
	"fmt"
	"unsafe"
)

// Mem is a buffer of a context, as kernels take it. Drivers use a handle again for another buffer once it is released; the
// serial number tells the two apart.
type Mem struct {
	handle uintptr
	serial uint64
}

// Valid tells whether m is a buffer.
func (m Mem) Valid() bool { return m.handle != 0 }

// NewBuffer allocates; with host the driver is asked for memory that the host can map without a copy.
func (c *Context) NewBuffer(size int, host bool) (Mem, error) {
	flags := uintptr(1) // CL_MEM_READ_WRITE
	if host {
		flags |= 1 << 4 // CL_MEM_ALLOC_HOST_PTR
	}
	var code int32
	handle := c.api.call(CreateBuffer, c.context, flags, uintptr(size), 0, uintptr(unsafe.Pointer(&code)))
	mem, err := made(CreateBuffer, handle, code)
	return Mem{mem, c.api.serial.Add(1)}, err
}

// ReleaseBuffer gives a buffer up; commands that use it still end.
func (c *Context) ReleaseBuffer(m Mem) error { return c.api.status(ReleaseMemObject, m.handle) }

// Fill enqueues setting size bytes from off to zero; both are multiples of 4.
func (c *Context) Fill(m Mem, off, size int) error {
	var zero uint32
	return c.api.status(EnqueueFillBuffer, c.queue, m.handle, uintptr(unsafe.Pointer(&zero)), 4,
		uintptr(off), uintptr(size), 0, 0, 0)
}

// Copy enqueues a copy; the regions must not overlap.
func (c *Context) Copy(src, dst Mem, srcOff, dstOff, size int) error {
	return c.api.status(EnqueueCopyBuffer, c.queue, src.handle, dst.handle, uintptr(srcOff), uintptr(dstOff),
		uintptr(size), 0, 0, 0)
}

// Read waits for everything enqueued and copies to the host.
func (c *Context) Read(m Mem, off int, dst []byte) error {
	if len(dst) == 0 {
		return nil
	}
	return c.api.status(EnqueueReadBuffer, c.queue, m.handle, 1, uintptr(off), uintptr(len(dst)),
		uintptr(unsafe.Pointer(&dst[0])), 0, 0, 0)
}

// Write copies from the host and returns when src may be changed.
func (c *Context) Write(m Mem, off int, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return c.api.status(EnqueueWriteBuffer, c.queue, m.handle, 1, uintptr(off), uintptr(len(src)),
		uintptr(unsafe.Pointer(&src[0])), 0, 0, 0)
}

// WriteLater enqueues a copy from src, which lies outside the Go heap and must not change until the event is over.
func (c *Context) WriteLater(m Mem, off int, src []byte) (Event, error) {
	if len(src) == 0 {
		return Event{}, nil
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
func (c *Context) Map(m Mem, size int) ([]byte, error) {
	var code int32
	address := c.api.call(EnqueueMapBuffer, c.queue, m.handle, 1, 3, 0, uintptr(size), 0, 0, 0, uintptr(unsafe.Pointer(&code)))
	address, err := made(EnqueueMapBuffer, address, code)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size), nil // the driver's memory, which Go does not move
}

// Unmap gives mapped bytes back to the device.
func (c *Context) Unmap(m Mem, bytes []byte) error {
	if len(bytes) == 0 {
		return fmt.Errorf("unmap of no bytes")
	}
	return c.api.status(EnqueueUnmapMemObject, c.queue, m.handle, uintptr(unsafe.Pointer(&bytes[0])), 0, 0, 0)
}
