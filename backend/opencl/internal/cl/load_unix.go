//go:build opencl && (amd64 || arm64) && !windows

package cl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// load opens a shared library. The system keeps the reason of a failure for the thread that it happened on, and purego asks for it in a
// second call, so the goroutine must not change threads in between.
func load(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// symbol finds a function in it, with the reason of a failure as load has it.
func symbol(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, name)
}
