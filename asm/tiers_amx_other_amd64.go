//go:build !linux && !purego

package asm

// amxTiers returns no tier: on these systems it is not known how to ask for the tile registers.
func amxTiers() []tier { return nil }
