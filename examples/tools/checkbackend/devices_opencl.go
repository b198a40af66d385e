//go:build opencl && (amd64 || arm64)

package main

import (
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/backend/opencl"
)

// devices prints what -device can choose among, for the backends that know several.
func devices(w io.Writer, name string) {
	if name != "opencl" {
		return
	}
	list, err := opencl.Devices()
	if err != nil {
		return // opening the backend has said why
	}
	for i, d := range list {
		shared := ""
		if d.SharedMemory {
			shared = ", shared with the host"
		}
		fmt.Fprintf(w, "  -device %-2d %s (%s, %s): %d units, %.1f GB in buffers of at most %.1f GB%s, %d KB local\n", i, d.Name, d.Kind, d.Platform,
			d.Units, float64(d.GlobalBytes)/1e9, float64(d.MaxAlloc)/1e9, shared, d.LocalBytes>>10)
		fmt.Fprintf(w, "             %s, driver %s\n", d.Version, d.Driver)
	}
}
