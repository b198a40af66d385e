//go:build opencl && (amd64 || arm64)

package cl

import (
	"fmt"
	"runtime"
	"unsafe"
)

// maxBinary bounds the size of a program's binary that is asked for.
const maxBinary = 256 << 20

// Program is a set of kernels, compiled for the context's device.
type Program struct {
	api     *API
	device  *Device
	program uintptr
}

// Build compiles a source; an error carries the compiler's log.
func (c *Context) Build(source, options string) (*Program, error) {
	text := append([]byte(source), 0)
	pointer, length := unsafe.Pointer(&text[0]), uintptr(len(source))
	var code int32
	handle := c.api.call(CreateProgramWithSource, c.context, 1, uintptr(unsafe.Pointer(&pointer)),
		uintptr(unsafe.Pointer(&length)), uintptr(unsafe.Pointer(&code)))
	runtime.KeepAlive(text)
	program, err := made(CreateProgramWithSource, handle, code)
	if err != nil {
		return nil, err
	}
	return c.build(program, options)
}

// Load makes a program of what Binary returned for the same device, driver and source.
func (c *Context) Load(binary []byte, options string) (*Program, error) {
	if len(binary) == 0 {
		return nil, &Error{CreateProgramWithBinary, InvalidBinary}
	}
	pointer, length := unsafe.Pointer(&binary[0]), uintptr(len(binary))
	var status, code int32
	handle := c.api.call(CreateProgramWithBinary, c.context, 1, uintptr(unsafe.Pointer(&c.device.id)),
		uintptr(unsafe.Pointer(&length)), uintptr(unsafe.Pointer(&pointer)), uintptr(unsafe.Pointer(&status)),
		uintptr(unsafe.Pointer(&code)))
	runtime.KeepAlive(binary)
	program, err := made(CreateProgramWithBinary, handle, code)
	if err != nil {
		return nil, err
	}
	if err := check(CreateProgramWithBinary, status); err != nil {
		c.api.call(ReleaseProgram, program)
		return nil, err
	}
	return c.build(program, options)
}

// build compiles or links a program for the device and releases it if that fails.
func (c *Context) build(program uintptr, options string) (*Program, error) {
	flags := append([]byte(options), 0)
	p := &Program{c.api, c.device, program}
	err := c.api.status(BuildProgram, program, 1, uintptr(unsafe.Pointer(&c.device.id)), uintptr(unsafe.Pointer(&flags[0])), 0, 0)
	if err == nil {
		return p, nil
	}
	if log := p.log(); log != "" {
		err = fmt.Errorf("%w: the compiler says:\n%s", err, log)
	}
	p.Release()
	return nil, err
}

// log returns the compiler's words, or "".
func (p *Program) log() string {
	const buildLog = 0x1183
	var size uintptr
	if p.api.status(GetProgramBuildInfo, p.program, p.device.id, buildLog, 0, 0, uintptr(unsafe.Pointer(&size))) != nil {
		return ""
	}
	text, err := p.api.readText(min(size, maxInfo), func(buffer []byte) error {
		return p.api.status(GetProgramBuildInfo, p.program, p.device.id, buildLog, uintptr(len(buffer)),
			uintptr(unsafe.Pointer(&buffer[0])), 0)
	})
	if err != nil {
		return ""
	}
	return text
}

// Binary returns the compiled program for Load.
func (p *Program) Binary() ([]byte, error) {
	const binarySizes, binaries = 0x1165, 0x1166
	var size uintptr
	if err := p.api.status(GetProgramInfo, p.program, binarySizes, unsafe.Sizeof(size), uintptr(unsafe.Pointer(&size)), 0); err != nil {
		return nil, err
	}
	if size == 0 || size > maxBinary {
		return nil, &Error{GetProgramInfo, InvalidBinary}
	}
	binary := make([]byte, size)
	pointer := unsafe.Pointer(&binary[0])
	err := p.api.status(GetProgramInfo, p.program, binaries, unsafe.Sizeof(pointer), uintptr(unsafe.Pointer(&pointer)), 0)
	runtime.KeepAlive(binary)
	return binary, err
}

// Release gives the program up; its kernels live on.
func (p *Program) Release() { p.api.call(ReleaseProgram, p.program) }
