//go:build !(linux || darwin || freebsd || netbsd || openbsd || windows)

package asmtest

import "testing"

// mapFence returns size bytes; this system has no portable way to protect the page behind them.
func mapFence(_ testing.TB, size, _ int) []byte { return make([]byte, size) }

// unmapFence leaves them to the garbage collector.
func unmapFence([]byte) {}
