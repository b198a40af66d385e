//go:build (amd64 || arm64) && !purego

package parallel

// pause is the processor's hint for a waiting spin loop. It saves power and frees the core's other thread.
//
//go:noescape
func pause()
