//go:build !(amd64 || arm64) || purego

package parallel

import "runtime"

// pause lets another goroutine run: without a pause instruction spinning has nothing better to do.
func pause() { runtime.Gosched() }
