//go:build !purego

package asm

import "github.com/klauspost/cpuid/v2"

// processorTiers returns the amd64 tiers that this processor has, the lowest first. A tier starts as a copy of the one below
// and replaces what it does better.
func processorTiers() []*Kernels {
	var tiers []*Kernels
	below := generic
	for _, tier := range []struct {
		name     string
		features []cpuid.FeatureID
		improve  func(k *Kernels)
	}{
		{"avx2", []cpuid.FeatureID{cpuid.AVX2, cpuid.FMA3, cpuid.F16C}, improveAVX2},
		{"avx512", []cpuid.FeatureID{cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512DQ}, improveAVX512},
		{"avx512vnni", []cpuid.FeatureID{cpuid.AVX512VNNI}, improveVNNI},
	} {
		if !cpuid.CPU.Supports(tier.features...) {
			break
		}
		k := below
		k.Tier = tier.name
		tier.improve(&k)
		tiers, below = append(tiers, &k), k
	}
	return tiers
}

// improveAVX2 replaces the kernels that AVX2, FMA and F16C do better.
func improveAVX2(k *Kernels) {
	vectorAVX2(k)
	panelsAVX2(k)
}

// improveAVX512 replaces the kernels that AVX-512 F, BW, VL and DQ do better.
func improveAVX512(k *Kernels) {
	vectorAVX512(k)
	panelsAVX512(k)
}

// improveVNNI replaces the products that the dot-product instructions of AVX-512 VNNI do better.
func improveVNNI(k *Kernels) {
	panelsVNNI(k)
}
