//go:build !(amd64 || arm64) || purego

package asm

// processorTiers returns no tier: this build has no assembly.
func processorTiers() []*Kernels { return nil }
