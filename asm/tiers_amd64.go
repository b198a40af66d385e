//go:build !purego

package asm

import (
	"github.com/klauspost/cpuid/v2"

	"github.com/antigravity-go/antigravity/asm/internal/attention"
	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/asm/internal/limits"
	"github.com/antigravity-go/antigravity/asm/internal/panels/amd64"
	"github.com/antigravity-go/antigravity/asm/internal/recurrent"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
)

// The instructions of the tiers.
var (
	featuresAVX2       = []cpuid.FeatureID{cpuid.AVX2, cpuid.FMA3, cpuid.F16C}
	featuresAVXVNNI    = append([]cpuid.FeatureID{cpuid.AVXVNNI}, featuresAVX2...)
	featuresAVX512     = []cpuid.FeatureID{cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512DQ}
	featuresAVX512VNNI = append([]cpuid.FeatureID{cpuid.AVX512VNNI}, featuresAVX512...)
)

// processorTiers are the amd64 tiers, the lowest first.
var processorTiers = append([]tier{
	{"avx2", featuresAVX2, improveAVX2, nil},
	{"avxvnni", featuresAVXVNNI, improveAVXVNNI, nil},
	{"avx512", featuresAVX512, improveAVX512, nil},
	{"avx512vnni", featuresAVX512VNNI, improveAVX512VNNI, nil},
	{"avx512near", featuresAVX512VNNI, improveNear, readsNear},
}, amxTiers()...)

// readsNear reports whether the processor reads memory best if its first-level cache is asked for it. Zen 5 and Sapphire Rapids do. Zen 3 and 4
// have not tried it: their kernels were measured with requests to the second level.
func readsNear() bool {
	const zen5 = 0x1a // family
	return cpuid.CPU.VendorID != cpuid.AMD || cpuid.CPU.Family >= zen5
}

// improveAVX2 replaces the kernels that AVX2, FMA and F16C do better.
func improveAVX2(k *Kernels) {
	k.useVectors(&vectors.AVX2, convert.AVX2)
	k.recur = recurrent.AVX2.Recur
	k.replacePanels(amd64.AVX2(), &attention.AVX2)
	k.integers, k.floats = limits.IntegersAVX2, limits.FloatsAVX2
}

// improveAVXVNNI replaces the products that VPDPBUSD does better, in the registers of AVX2.
func improveAVXVNNI(k *Kernels) {
	k.replacePanels(amd64.AVXVNNI(), &attention.AVXVNNI)
	k.integers = limits.IntegersAVXVNNI
}

// improveAVX512 replaces the kernels that AVX-512 F, BW, VL and DQ do better.
func improveAVX512(k *Kernels) {
	k.useVectors(&vectors.AVX512, convert.AVX512)
	k.recur = recurrent.AVX512.Recur
	k.replacePanels(amd64.AVX512(), &attention.AVX512)
	k.integers, k.floats = limits.IntegersAVX512, limits.FloatsAVX512
}

// improveAVX512VNNI replaces the products that VPDPBUSD does better.
func improveAVX512VNNI(k *Kernels) {
	k.replacePanels(amd64.AVX512VNNI(), &attention.AVX512VNNI)
	k.integers = limits.IntegersAVX512VNNI
}

// improveNear replaces the products with single rows of activations.
func improveNear(k *Kernels) { k.replacePanels(amd64.Near(), &attention.AVX512VNNI) }

// useVectors replaces the kernels over vectors.
func (k *Kernels) useVectors(v *vectors.Unit, c convert.Unit) {
	k.vectors, k.quantize, k.dequantize = v.Kernels(), c.Quantize, c.Dequantize
}
