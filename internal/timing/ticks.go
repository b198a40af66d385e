//go:build (amd64 || arm64) && !purego

package timing

// Now reads a counter that the processor keeps at a constant rate, the same one on every core: it takes a fraction of what reading the time
// takes. What a tick is worth is found by comparing it with the time now and then.
//
//go:noescape
func Now() Ticks
