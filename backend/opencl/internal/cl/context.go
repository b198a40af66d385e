//go:build opencl && (amd64 || arm64)

package cl

import (
	"sync/atomic"
	"unsafe"
)

// Context owns the objects created on one device, with one queue that runs commands in the order in which they come. Its buffers may
// outlive Release, and may then still be unmapped and released, in any order: the queue and the context are given up with the last of them.
type Context struct {
	api            *API
	device         *Device
	context, queue uintptr
	holders        atomic.Int64 // Release's caller, until it is called, and every buffer that has not been released

	// Before is called before each command that is no kernel's, if it is set; the command is not enqueued if it fails.
	Before func() error
	// After is called when the device has been waited for, if it is set; its error is the one of who has waited.
	After func() error
	// Unseen says that kernels which use buffers by their addresses may be running: the driver does not know that it must keep these buffers.
	// Before a buffer is given up they are waited for.
	Unseen atomic.Bool
}

// before calls Before.
func (c *Context) before() error {
	if c.Before == nil {
		return nil
	}
	return c.Before()
}

// Waited calls After, for who has waited for the device by Peek.
func (c *Context) Waited() error { return c.after(nil) }

// after calls After, unless waiting has failed.
func (c *Context) after(err error) error {
	if err != nil || c.After == nil {
		return err
	}
	return c.After()
}

// NewContext makes a context and its queue.
func (d *Device) NewContext() (*Context, error) {
	var code int32
	handle := d.api.call(CreateContext, 0, 1, uintptr(unsafe.Pointer(&d.id)), 0, 0, uintptr(unsafe.Pointer(&code)))
	context, err := made(CreateContext, handle, code)
	if err != nil {
		return nil, err
	}
	handle = d.api.call(CreateCommandQueue, context, d.id, 0, uintptr(unsafe.Pointer(&code)))
	queue, err := made(CreateCommandQueue, handle, code)
	if err != nil {
		d.api.call(ReleaseContext, context)
		return nil, err
	}
	c := &Context{api: d.api, device: d, context: context, queue: queue}
	c.holders.Store(1)
	return c, nil
}

// Release ends the use of the context by who made it: afterwards nothing but its buffers' Unmap and Release may be called. It
// must be called once.
func (c *Context) Release() { c.drop() }

// drop takes a holder away and, with the last one, gives the queue and the context up.
func (c *Context) drop() {
	if c.holders.Add(-1) == 0 {
		c.api.call(ReleaseCommandQueue, c.queue)
		c.api.call(ReleaseContext, c.context)
	}
}

// Flush hands the enqueued commands to the device; Finish also waits until it is done.
func (c *Context) Flush() error {
	if err := c.before(); err != nil {
		return err
	}
	return c.api.status(Flush, c.queue)
}

// Finish waits until everything enqueued is done.
func (c *Context) Finish() error {
	if err := c.before(); err != nil {
		return err
	}
	return c.after(c.api.status(Finish, c.queue))
}

// Event is the end of a command.
type Event struct {
	api    *API
	handle uintptr
}

// Wait waits for the command and releases the event. A zero Event is over.
func (e *Event) Wait() error {
	if e.handle == 0 {
		return nil
	}
	err := e.api.status(WaitForEvents, 1, uintptr(unsafe.Pointer(&e.handle)))
	e.Release()
	return err
}

// Release forgets the event without waiting.
func (e *Event) Release() {
	if e.handle != 0 {
		e.api.call(ReleaseEvent, e.handle)
		e.handle = 0
	}
}
