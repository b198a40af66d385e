//go:build !purego

package asm

import "github.com/klauspost/cpuid/v2"

// The instructions of the tiers.
var (
	featuresAVX2    = []cpuid.FeatureID{cpuid.AVX2, cpuid.FMA3, cpuid.F16C}
	featuresAVXVNNI = append([]cpuid.FeatureID{cpuid.AVXVNNI}, featuresAVX2...)
	featuresAVX512  = []cpuid.FeatureID{cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512DQ}
	featuresVNNI    = append([]cpuid.FeatureID{cpuid.AVX512VNNI}, featuresAVX512...)
)

// processorTiers are the amd64 tiers, the lowest first.
var processorTiers = append([]tier{
	{"avx2", featuresAVX2, improveAVX2},
	{"avxvnni", featuresAVXVNNI, panelsAVXVNNI},
	{"avx512", featuresAVX512, improveAVX512},
	{"avx512vnni", featuresVNNI, panelsVNNI},
}, amxTiers()...)

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
