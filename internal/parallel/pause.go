//go:build (amd64 || arm64) && !purego

package parallel

// pause tells the processor that a spin loop is waiting, which saves power and frees the core's other thread.
//
//go:noescape
func pause()
