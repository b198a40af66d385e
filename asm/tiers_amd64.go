//go:build !purego

package asm

import "github.com/klauspost/cpuid/v2"

// processorTiers are the amd64 tiers, the lowest first.
var processorTiers = []tier{
	{"avx2", []cpuid.FeatureID{cpuid.AVX2, cpuid.FMA3, cpuid.F16C}, improveAVX2},
	{"avx512", []cpuid.FeatureID{cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512DQ}, improveAVX512},
	{"avx512vnni", []cpuid.FeatureID{cpuid.AVX512VNNI}, panelsVNNI},
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
