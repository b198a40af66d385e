//go:build !purego

package asm

import "github.com/klauspost/cpuid/v2"

// processorTiers returns the arm64 tiers that this processor has, the lowest first. A tier starts as a copy of the one below
// and replaces what it does better.
func processorTiers() []*Kernels {
	var tiers []*Kernels
	below := generic
	for _, tier := range []struct {
		name    string
		feature cpuid.FeatureID
		improve func(k *Kernels)
	}{
		{"neon", cpuid.ASIMD, improveNEON},
		{"sdot", cpuid.ASIMDDP, panelsSDOT},
	} {
		if !cpuid.CPU.Supports(tier.feature) {
			break
		}
		k := below
		k.Tier = tier.name
		tier.improve(&k)
		tiers, below = append(tiers, &k), k
	}
	return tiers
}

// improveNEON replaces the kernels that Advanced SIMD does better.
func improveNEON(k *Kernels) {
	vectorNEON(k)
	convertNEON(k)
	attendNEON(k)
	panelsNEON(k)
}
