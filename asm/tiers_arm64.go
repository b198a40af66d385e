//go:build !purego

package asm

import "github.com/klauspost/cpuid/v2"

// processorTiers are the arm64 tiers, the lowest first.
var processorTiers = []tier{
	{"neon", []cpuid.FeatureID{cpuid.ASIMD}, improveNEON},
	{"sdot", []cpuid.FeatureID{cpuid.ASIMDDP}, improveSDOT},
	{"i8mm", []cpuid.FeatureID{cpuid.I8MM}, panelsI8MM},
}

// improveNEON replaces the kernels that Advanced SIMD does better.
func improveNEON(k *Kernels) {
	vectorNEON(k)
	convertNEON(k)
	attendNEON(k)
	panelsNEON(k)
}

// improveSDOT replaces the kernels of integers.
func improveSDOT(k *Kernels) {
	panelsSDOT(k)
	attendSDOT(k)
}
