//go:build !(linux || darwin || freebsd || netbsd || openbsd || windows)

package asmtest

import "testing"

// Fenced returns n bytes; this system has no portable way to protect the page behind them.
func Fenced(_ testing.TB, n int) []byte { return make([]byte, n) }
