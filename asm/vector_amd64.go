//go:build !purego

package asm

// vectorAVX2 sets the kernels over vectors of floats, and attention.
func vectorAVX2(k *Kernels) {}

// vectorAVX512 sets the kernels over vectors of floats, and attention.
func vectorAVX512(k *Kernels) {}
