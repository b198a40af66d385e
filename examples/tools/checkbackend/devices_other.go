//go:build !opencl || !(amd64 || arm64)

package main

import "io"

// devices prints what -device can choose among: nothing in this build.
func devices(io.Writer, string) {}
