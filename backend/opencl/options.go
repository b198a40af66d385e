//go:build opencl && (amd64 || arm64)

package opencl

import "errors"

// ErrClosed is wrapped by the errors of a backend that has been closed.
var ErrClosed = errors.New("the backend is closed")

// Options configure a backend; the zero value is good.
type Options struct {
	// Device is the number of a device as Devices lists them, or a part of its name or its platform's name. "": what the
	// environment says, or else the first, which is a GPU if there is one.
	Device string
	// Kernels is a folder with .cl files that replace the embedded ones; "": the environment's folder, if any.
	Kernels string
	// Cache is the folder for compiled kernels; "": the environment's, or else a folder of the user's, but no folder for pocl, which keeps
	// a cache itself; "off": no cache.
	Cache string

	memory      int64 // pretends that the device has no more memory; 0: as it says
	maxAlloc    int64 // pretends that the device has no larger buffers; 0: as it says
	chainGroups int   // groups of chains, whatever the device is; 0: as many as it has units, if it is known to run these at once; -1: no chains
}
