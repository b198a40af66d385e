// Package host computes the operations of package backend over memory that the host can map, with kernels of package asm.
// It is for those who write a backend: a new device embeds Base and overrides the operations that it computes better.
//
// Base has all operations. An operation that a device does not override is computed by mapping its tensors. Fused
// adds the fused ones for backends with tensors in host memory; the CPU is a Fused with the processor's kernels and a pool of threads.
// Reference is Base with portable kernels and no threads, which other backends are compared with.
//
// Results do not depend on the kernels nor on the threads: see package asm.
package host
