//go:build !purego

package asm

// panelsAVX2 sets the products with panels of weights.
func panelsAVX2(k *Kernels) {}

// panelsAVX512 sets the products with panels of weights.
func panelsAVX512(k *Kernels) {}

// panelsVNNI sets the products with panels of weights.
func panelsVNNI(k *Kernels) {}
