//go:build (amd64 || arm64) && !purego

package parallel

// pause marks a waiting spin loop for the processor, which saves power and frees the core's other thread.
//
//go:noescape
func pause()
