//go:build !purego

package asm

import (
	"syscall"

	"github.com/klauspost/cpuid/v2"

	"github.com/antigravity-go/antigravity/asm/internal/attention"
	"github.com/antigravity-go/antigravity/asm/internal/limits"
	"github.com/antigravity-go/antigravity/asm/internal/panels/amd64"
)

// amxTiers returns the tier of AMX, if the processor has it and the system lets the program use it: Linux asks that a program
// wants the tile registers, 8 KB more for each of its threads that comes to use them. All processors with AMX have GFNI, which
// unpacks for it.
func amxTiers() []tier {
	const requestPermission, tileData = 0x1023, 18 // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
	features := append([]cpuid.FeatureID{cpuid.AMXTILE, cpuid.AMXINT8, cpuid.GFNI}, featuresAVX512VNNI...)
	if !cpuid.CPU.Supports(features...) {
		return nil
	}
	if _, _, refused := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0); refused != 0 {
		return nil
	}
	return []tier{{"amx", features, improveAMX, nil}}
}

// improveAMX replaces the products that tiles do better.
func improveAMX(k *Kernels) {
	k.replacePanels(amd64.AMX(), &attention.AMX)
	k.integers = limits.IntegersAMX
}
