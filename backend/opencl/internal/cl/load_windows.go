//go:build opencl && (amd64 || arm64)

package cl

import "syscall"

// load opens a DLL.
func load(name string) (uintptr, error) {
	handle, err := syscall.LoadLibrary(name)
	return uintptr(handle), err
}

// symbol finds a function in it.
func symbol(handle uintptr, name string) (uintptr, error) {
	return syscall.GetProcAddress(syscall.Handle(handle), name)
}
