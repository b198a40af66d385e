//go:build !(amd64 || arm64) || purego

package asm

// processorTiers has no tier: this build has no assembly.
var processorTiers []tier
