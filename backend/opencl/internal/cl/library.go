//go:build opencl && (amd64 || arm64)

package cl

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/ebitengine/purego"
)

// LibraryVariable is the environment variable that names the OpenCL library to use instead of the usual ones.
const LibraryVariable = "ANTIGRAVITY_OPENCL_LIB"

// ErrNoLibrary is wrapped by Open's error if no OpenCL library can be loaded.
var ErrNoLibrary = errors.New("no OpenCL library")

// candidates lists the places of OpenCL in an operating system, the loader of several vendors' drivers first.
func candidates() []string {
	if name := os.Getenv(LibraryVariable); name != "" {
		return []string{name}
	}
	switch runtime.GOOS {
	case "windows":
		return []string{"OpenCL.dll"}
	case "darwin":
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	case "android":
		return []string{"libOpenCL.so", "/vendor/lib64/libOpenCL.so", "/system/vendor/lib64/libOpenCL.so",
			"/vendor/lib64/egl/libGLES_mali.so", "/system/vendor/lib64/egl/libGLES_mali.so"}
	}
	return []string{"libOpenCL.so.1", "libOpenCL.so", "/vendor/lib64/libOpenCL.so", "libGLES_mali.so", "libmali.so"}
}

// library is a Driver in a shared library.
type library struct{ entries [functions]uintptr }

// Open loads the system's OpenCL library. It stays loaded: drivers have threads that would not survive its unloading.
func Open() (Driver, error) {
	var failures []error
	for _, name := range candidates() {
		handle, err := load(name)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		l := new(library)
		if err := l.bind(handle); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", name, err))
			continue
		}
		return l, nil
	}
	return nil, fmt.Errorf("%w: install the device's driver and its loader, or name the library in %s: %w",
		ErrNoLibrary, LibraryVariable, errors.Join(failures...))
}

// bind finds the entry points.
func (l *library) bind(handle uintptr) error {
	for f := range functions {
		entry, err := symbol(handle, f.String())
		if err != nil || entry == 0 {
			return fmt.Errorf("%v is missing: it must offer OpenCL 1.2", f)
		}
		l.entries[f] = entry
	}
	return nil
}

// Call calls an entry point.
func (l *library) Call(f Function, args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(l.entries[f], args...)
	return result
}
