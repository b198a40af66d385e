//go:build opencl && (amd64 || arm64)

package cl

import (
	"fmt"
	"math"
	"unsafe"
)

// maxArgs is how many arguments a kernel may have.
const maxArgs = 64

// Kernel is a kernel with its arguments. An argument that has the value of the call before is not set again, and nothing
// is allocated, so that a call costs what the driver takes. It is not safe for concurrent use.
type Kernel struct {
	api    *API
	queue  uintptr
	kernel uintptr
	name   string

	next   int // the argument that is set next
	values [maxArgs]uint64
	mems   [maxArgs]*Mem // which are compared instead of their handles: drivers use those again for other buffers
	known  [maxArgs]bool
	err    error

	global, local [3]uintptr
}

// NewKernel makes a kernel of a program.
func (c *Context) NewKernel(p *Program, name string) (*Kernel, error) {
	text := append([]byte(name), 0)
	var code int32
	handle := c.api.call(CreateKernel, p.program, uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&code)))
	kernel, err := made(CreateKernel, handle, code)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	return &Kernel{api: c.api, queue: c.queue, kernel: kernel, name: name}, nil
}

// GroupSize returns the largest work-group with which the kernel can run on the context's device.
func (k *Kernel) GroupSize(d *Device) (int, error) {
	var size uintptr
	err := k.api.status(GetKernelWorkGroupInfo, k.kernel, d.id, 0x11B0, unsafe.Sizeof(size), uintptr(unsafe.Pointer(&size)), 0)
	return int(size), err
}

// Begin starts a new list of arguments.
func (k *Kernel) Begin() *Kernel {
	k.next, k.err = 0, nil
	return k
}

// set gives the next argument a value of a size in bytes.
func (k *Kernel) set(value uint64, m *Mem, size uintptr) *Kernel {
	i := k.next
	k.next++
	if k.err != nil || i >= maxArgs || (k.known[i] && k.values[i] == value && k.mems[i] == m) {
		return k
	}
	k.values[i], k.mems[i] = value, m
	k.err = k.api.status(SetKernelArg, k.kernel, uintptr(i), size, uintptr(unsafe.Pointer(&k.values[i])))
	k.known[i] = k.err == nil
	return k
}

// Mem passes a buffer.
func (k *Kernel) Mem(m *Mem) *Kernel { return k.set(uint64(m.handle), m, 8) }

// Int passes an int of 32 bits; a larger number is an error of Run.
func (k *Kernel) Int(n int) *Kernel {
	if int(int32(n)) != n && k.err == nil {
		k.err = fmt.Errorf("argument %d is %d: too large for the device's 32 bits", k.next, n)
	}
	return k.set(uint64(uint32(n)), nil, 4)
}

// Long passes an int of 64 bits.
func (k *Kernel) Long(n int) *Kernel { return k.set(uint64(n), nil, 8) }

// Float passes a float.
func (k *Kernel) Float(v float32) *Kernel {
	return k.set(uint64(math.Float32bits(v)), nil, 4)
}

// Struct passes a copy of the size bytes at p, which hold no pointers, such as a struct.
func (k *Kernel) Struct(p unsafe.Pointer, size uintptr) *Kernel {
	i := k.next
	k.next++
	if k.err != nil || i >= maxArgs {
		return k
	}
	k.known[i] = false
	k.err = k.api.status(SetKernelArg, k.kernel, uintptr(i), size, uintptr(p))
	return k
}

// Run enqueues the kernel on a grid of groups of a size. A grid without groups does nothing.
func (k *Kernel) Run(groups, size [3]int) error {
	if k.err != nil {
		k.known = [maxArgs]bool{}
		return fmt.Errorf("kernel %s: %w", k.name, k.err)
	}
	for i := range groups {
		if groups[i] == 0 {
			return nil
		}
		k.global[i], k.local[i] = uintptr(groups[i]*size[i]), uintptr(size[i])
	}
	err := k.api.status(EnqueueNDRangeKernel, k.queue, k.kernel, 3, 0, uintptr(unsafe.Pointer(&k.global)),
		uintptr(unsafe.Pointer(&k.local)), 0, 0, 0)
	if err != nil {
		return fmt.Errorf("kernel %s in %v groups of %v: %w", k.name, groups, size, err)
	}
	return nil
}

// Release gives the kernel up.
func (k *Kernel) Release() { k.api.call(ReleaseKernel, k.kernel) }
