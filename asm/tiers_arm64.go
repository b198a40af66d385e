//go:build !purego

package asm

import (
	"github.com/klauspost/cpuid/v2"

	"github.com/antigravity-go/antigravity/asm/internal/attention"
	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/asm/internal/limits"
	"github.com/antigravity-go/antigravity/asm/internal/panels/arm64"
	"github.com/antigravity-go/antigravity/asm/internal/recurrent"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
)

// processorTiers are the arm64 tiers, the lowest first.
var processorTiers = []tier{
	{"neon", []cpuid.FeatureID{cpuid.ASIMD}, improveNEON, nil},
	{"sdot", []cpuid.FeatureID{cpuid.ASIMDDP}, improveSDOT, nil},
	{"i8mm", []cpuid.FeatureID{cpuid.I8MM}, improveI8MM, nil},
}

// improveNEON replaces the kernels that Advanced SIMD does better.
func improveNEON(k *Kernels) {
	k.vectors, k.quantize, k.dequantize = vectors.NEON.Kernels(), convert.NEON.Quantize, convert.NEON.Dequantize
	k.recur = recurrent.NEON.Recur
	k.replacePanels(arm64.NEON(), &attention.NEON)
	k.integers, k.floats = limits.IntegersNEON, limits.FloatsNEON
}

// improveSDOT replaces the kernels of integers.
func improveSDOT(k *Kernels) {
	k.replacePanels(arm64.SDOT(), &attention.SDOT)
	k.integers = limits.IntegersSDOT
}

// improveI8MM replaces the products that matrix instructions do better.
func improveI8MM(k *Kernels) {
	k.replacePanels(arm64.I8MM(), &attention.SDOT)
	k.integers = limits.IntegersI8MM
}
