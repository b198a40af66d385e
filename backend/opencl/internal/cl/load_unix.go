//go:build opencl && (amd64 || arm64) && !windows

package cl

import "github.com/ebitengine/purego"

// load opens a shared library.
func load(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// symbol finds a function in it.
func symbol(handle uintptr, name string) (uintptr, error) { return purego.Dlsym(handle, name) }
