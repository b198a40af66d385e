// Package host computes the operations of package backend over memory that the host can map, with kernels of package asm.
// It is for those who write a backend: a new device embeds Base, and its Run computes some operations better.
//
// Base has all operations. It computes an operation that a device does not by mapping the tensors. Fused
// adds the fused ones for backends with tensors in host memory; the CPU is a Fused with the processor's kernels and a pool of threads.
// Reference is Base with portable kernels and no threads, which other backends are compared with.
//
// Results do not depend on the kernels nor on the threads: see package asm.
package host
