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

// choose returns the tier of a name, or the highest that this processor has if it has no tier of that name.
func choose(name string) *Kernels {
	tiers := Tiers()
	for _, k := range tiers {
		if strings.EqualFold(k.tier, name) {
			return k
		}
	}
	return tiers[len(tiers)-1]
}

// Best returns the kernels in use: the highest tier that this processor has, or the one that the environment variable ANTIGRAVITY_CPU names.
func Best() *Kernels { return best }

// Tier returns the name of the tier in use, for reports.
func Tier() string { return best.tier }

// tier is a set of instructions that some processors have.
type tier struct {
	name     string
	features []cpuid.FeatureID
	improve  func(k *Kernels) // replaces what these instructions do better
}

// Tiers returns the tiers that this processor can run, the portable one first and the highest last. Each starts as a copy of
// the one below: not all processors have all tiers below their highest.
func Tiers() []*Kernels {
	tiers := []*Kernels{&portable}
	for _, t := range processorTiers {
		if !cpuid.CPU.Supports(t.features...) {
			continue
		}
		k := *tiers[len(tiers)-1]
		k.tier = t.name
		t.improve(&k)
		tiers = append(tiers, &k)
	}
	return tiers
}
