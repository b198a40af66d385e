//go:build !purego

package asm

import (
	"github.com/klauspost/cpuid/v2"

	"github.com/antigravity-go/antigravity/asm/internal/attention"
	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/asm/internal/panels/arm64"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
)

// processorTiers are the arm64 tiers, the lowest first.
var processorTiers = []tier{
	{"neon", []cpuid.FeatureID{cpuid.ASIMD}, improveNEON},
	{"sdot", []cpuid.FeatureID{cpuid.ASIMDDP}, func(k *Kernels) { k.replacePanels(arm64.SDOT(), &attention.NEON) }},
	{"i8mm", []cpuid.FeatureID{cpuid.I8MM}, func(k *Kernels) { k.replacePanels(arm64.I8MM(), &attention.NEON) }},
}

// improveNEON replaces the kernels that Advanced SIMD does better.
func improveNEON(k *Kernels) {
	k.vectors, k.quantize, k.dequantize = vectors.NEON.Kernels(), convert.NEON.Quantize, convert.NEON.Dequantize
	k.replacePanels(arm64.NEON(), &attention.NEON)
}
