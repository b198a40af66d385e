package asm

import (
	"os"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// tierVariable is the environment variable that forces a lower tier, by name, for tests and bug reports.
const tierVariable = "ANTIGRAVITY_CPU"

// best is chosen once, when the program starts.
var best = choose(os.Getenv(tierVariable))

// choose returns the tier of a name, or the highest that suits this processor if it has no tier of that name.
func choose(name string) *Kernels {
	tiers, highest := buildTiers()
	for _, k := range tiers {
		if strings.EqualFold(k.tier, name) {
			return k
		}
	}
	return highest
}

// Best returns the kernels in use: the highest tier that suits this processor, or the one that the environment variable ANTIGRAVITY_CPU names.
func Best() *Kernels { return best }

// Tier returns the name of the tier in use, for reports.
func Tier() string { return best.tier }

// tier is a set of instructions that some processors have.
type tier struct {
	name     string
	features []cpuid.FeatureID
	improve  func(k *Kernels) // replaces what these instructions do better
	suits    func() bool      // reports whether they are better on this processor; nil: on all that have them
}

// Tiers returns the tiers that this processor can run, the portable one first and the highest last. Each starts as a copy of
// the one below that suits the processor: not all processors have all tiers below their highest.
func Tiers() []*Kernels {
	tiers, _ := buildTiers()
	return tiers
}

// buildTiers returns the tiers that this processor can run, and the highest that suits it.
func buildTiers() (tiers []*Kernels, highest *Kernels) {
	highest = &portable
	tiers = append(tiers, highest)
	for _, t := range processorTiers {
		if !cpuid.CPU.Supports(t.features...) {
			continue
		}
		k := *highest
		k.tier = t.name
		t.improve(&k)
		tiers = append(tiers, &k)
		if t.suits == nil || t.suits() {
			highest = &k
		}
	}
	return tiers, highest
}
